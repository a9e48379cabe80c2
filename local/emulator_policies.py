"""The IAM evaluator of the emulator, extended by `dynamodb:LeadingKeys` and by a record of its decisions.

`local/emulator_app.py` loads this module in the emulator's own interpreter.
"""

import contextvars
import importlib
import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

LEADING_KEYS = "dynamodb:LeadingKeys"
_NAMED_KEYS = "signpost:named-keys"
"""The context key under which `dynamodb_service_context` hands `enforce` the keys of a request; no policy sees it."""

_TRANSACTION_ACTIONS = {
    "ConditionCheck": "dynamodb:ConditionCheckItem",
    "Put": "dynamodb:PutItem",
    "Update": "dynamodb:UpdateItem",
    "Delete": "dynamodb:DeleteItem",
    "Get": "dynamodb:GetItem",
}
_EQUALITY = re.compile(r"(#?[\w.]+)\s*=\s*(:\w+)")

type Decide = Callable[[], Any]
type PartitionKey = Callable[[str, str | None], str | None]
"""A function from a table, or one of its indexes, to the name of its partition key; None for an unknown table."""


class NamedKeys:
    """The partition keys in one request, by table, or for a transaction by item in the order of the items."""

    def __init__(self, request: Mapping[str, Any], partition_key: PartitionKey) -> None:
        self._request = request
        self._partition_key = partition_key
        self._items = iter(list(self._transaction_items()))

    def of_table(self, resource: str) -> Sequence[str]:
        """Return the keys of one table or index, each once; none for a request without keys, such as a scan."""
        table = _table_of(resource)
        keys = [value for name, value in self._keys() if name == table]
        return list(dict.fromkeys(keys))

    def of_next_item(self, action: str, resource: str) -> Sequence[str]:
        """Return the key of the item of the transaction that the emulator judges next."""
        expected, table, keys = next(self._items, ("nothing", "no table", tuple[str, ...]()))
        if (expected, table) != (action, _table_of(resource)):
            raise RuntimeError(f"The emulator evaluates {action} on {resource}; expected was {expected} on {table}.")
        return keys

    def _keys(self) -> Iterator[tuple[str, str]]:
        """Yield each partition key in the request, with its table."""
        if table := _table_of(str(self._request.get("TableName", ""))):
            rows = [self._request.get(member) for member in ("Key", "Item")]
            yield from ((table, value) for row in rows for value in self._of_row(table, row))
            yield from ((table, value) for value in self._of_query(table))
        for name, batch in as_mapping(self._request.get("RequestItems")).items():
            for row in _rows_of(batch):
                yield from ((_table_of(name), value) for value in self._of_row(_table_of(name), row))

    def _of_row(self, table: str, row: Any) -> Iterator[str]:
        attribute = self._partition_key(table, None)
        if attribute in as_mapping(row):
            yield _text(row[attribute])

    def _of_query(self, table: str) -> Iterator[str]:
        attribute = self._partition_key(table, self._request.get("IndexName"))
        names = as_mapping(self._request.get("ExpressionAttributeNames"))
        values = as_mapping(self._request.get("ExpressionAttributeValues"))
        for name, value in _EQUALITY.findall(str(self._request.get("KeyConditionExpression", ""))):
            if names.get(name, name) == attribute and value in values:
                yield _text(values[value])
        legacy = as_mapping(as_mapping(self._request.get("KeyConditions")).get(attribute or ""))
        yield from map(_text, _list(legacy.get("AttributeValueList")))

    def _transaction_items(self) -> Iterator[tuple[str, str, Sequence[str]]]:
        """Yield action, table and key of each item of a transaction, in the order in which the emulator judges them."""
        for item in _list(self._request.get("TransactItems")):
            for member, action in _TRANSACTION_ACTIONS.items():
                detail = as_mapping(as_mapping(item).get(member))
                if table := _table_of(str(detail.get("TableName", ""))):
                    row = detail.get("Item" if member == "Put" else "Key")
                    yield action, table, list(self._of_row(table, row))


def _rows_of(batch: Any) -> Iterator[Any]:
    """Yield the rows of one table that a batch reads or writes."""
    yield from _list(as_mapping(batch).get("Keys"))
    for write in _list(batch):
        yield as_mapping(as_mapping(write).get("PutRequest")).get("Item")
        yield as_mapping(as_mapping(write).get("DeleteRequest")).get("Key")


def as_mapping(value: Any) -> Mapping[str, Any]:
    """Return the value if it is an object, else an empty one: a client may send any JSON."""
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}


def _list(value: Any) -> Sequence[Any]:
    """Return the value if it is a list, else an empty one."""
    return cast("Sequence[Any]", value) if isinstance(value, list) else ()


def _table_of(name: str) -> str:
    """Return the table name in a name, in the ARN of a table, or in the ARN of an index."""
    return name.partition(":table/")[2].split("/")[0] if name.startswith("arn:") else name


def _text(value: Any) -> str:
    """Return a key in the form in which a policy compares it."""
    return str(next(iter(as_mapping(value).values()), value))


class Record:
    """A file of decisions, one JSON object a line: each distinct one that allows, and all that deny."""

    def __init__(self, path: Path) -> None:
        self._out = path.open("a")
        self._written: set[str] = set()
        self._lock = threading.Lock()

    def add(self, decision: Mapping[str, Any]) -> None:
        """Write a decision, unless it allows and is in the file already."""
        line = json.dumps(decision, sort_keys=True)
        with self._lock:
            if line in self._written:
                return
            if decision["decision"] == "Allow":
                self._written.add(line)
            self._out.write(f"{line}\n")
            self._out.flush()


def _add_keys(service_context: Callable[[bytes], Any], partition_key: PartitionKey) -> Callable[[bytes], Any]:
    """Return `dynamodb_service_context`, extended by the keys in the request."""

    def context_with_keys(body: bytes) -> dict[str, Any]:
        context = service_context(body)
        try:
            request = as_mapping(json.loads(body or b"{}"))
        except ValueError:
            return context
        return {**context, _NAMED_KEYS: NamedKeys(request, partition_key)}

    return context_with_keys


def _add_leading_keys(enforce: Callable[..., Any], run_decision: Callable[[Decide], Any]) -> Callable[..., Any]:
    """Return `enforce`, extended by `dynamodb:LeadingKeys` as a condition key of a DynamoDB request with keys."""

    def enforce_with_keys(
        access_key_id: str,
        iam_action: str,
        service: str,
        region: str,
        resource_arn: str = "*",
        service_context: Mapping[str, Any] | None = None,
    ) -> Any:
        context = dict(service_context or {})
        named_keys = context.pop(_NAMED_KEYS, None)
        if named_keys is not None:
            is_item = "dynamodb:EnclosingOperation" in context
            keys = named_keys.of_next_item(iam_action, resource_arn) if is_item else named_keys.of_table(resource_arn)
            context.update({LEADING_KEYS: keys} if keys else {})
        return run_decision(lambda: enforce(access_key_id, iam_action, service, region, resource_arn, context))

    return enforce_with_keys


def _record_decisions(evaluator: Any, record: Record) -> Callable[[Decide], Any]:
    """Return a function that runs a decision of `enforce` and records it with its request.

    It replaces `evaluate`, through which it learns the request. Requests of the account's owner are not evaluated, so
    they are not recorded.
    """
    evaluate, current_requests = evaluator.evaluate, contextvars.ContextVar[list[Any]]("current_requests")

    def evaluate_and_note(ctx: Any, policies: Any, *limits: Any) -> Any:
        requests = current_requests.get([])
        if not requests:  # the policies of the resource are evaluated after those of the caller
            requests.append(_describe(evaluator, ctx, policies))
        return evaluate(ctx, policies, *limits)

    def run_decision(decide: Decide) -> Any:
        requests: list[Any] = []
        token = current_requests.set(requests)
        try:
            denied = decide()
        finally:
            current_requests.reset(token)
        for request in requests:
            record.add({**request, "decision": denied.decision if denied else "Allow"})
        return denied

    evaluator.evaluate = evaluate_and_note
    return run_decision


def _describe(evaluator: Any, ctx: Any, policies: Any) -> Mapping[str, Any]:
    """Describe a request, with each condition key that it has and that a policy of its caller names."""
    blocks = [block for statements in policies for statement in statements for block in statement.conditions.values()]
    names = {LEADING_KEYS.lower(), *(key.lower() for block in blocks for key in block)}
    values = {name: evaluator._resolve_condition_key(name, ctx) for name in names}  # noqa: SLF001 - it has no other name
    return {
        "caller": ctx.principal_arn,
        "action": ctx.action,
        "resource": ctx.resource_arn,
        "context": {name: _list(value) or [str(value)] for name, value in values.items() if value is not None},
    }


def _partition_key(table: str, index: str | None) -> str | None:
    """Return the partition key of a table, or of an index, of the emulator."""
    description = importlib.import_module("ministack.services.dynamodb")._tables.get(table)  # noqa: SLF001 - as above
    if description is None:
        return None
    indexes = [*description.get("GlobalSecondaryIndexes", ()), *description.get("LocalSecondaryIndexes", ())]
    described = [entry for entry in indexes if entry.get("IndexName") == index] if index else [description]
    schemas = [entry["KeySchema"] for entry in described]
    return next((key["AttributeName"] for schema in schemas for key in schema if key["KeyType"] == "HASH"), None)


def _run_unrecorded(decide: Decide) -> Any:
    return decide()


def extend_evaluator(record: Path | None) -> None:
    """Replace the functions of the emulator that evaluate requests. With a path, decisions are recorded there."""
    evaluator: Any = importlib.import_module("ministack.core.iam_evaluator")
    actions: Any = importlib.import_module("ministack.core.iam_actions")
    run_decision = _record_decisions(evaluator, Record(record)) if record else _run_unrecorded
    evaluator.enforce = _add_leading_keys(evaluator.enforce, run_decision)
    actions.dynamodb_service_context = _add_keys(actions.dynamodb_service_context, _partition_key)
