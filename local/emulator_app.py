"""The emulator (ministack) with what its IAM evaluator lacks: `dynamodb:LeadingKeys`, and a record of its decisions.

`local/emulator.py` starts this file by the emulator's own interpreter. Sandboxes share what is unpacked for them
(`local/emulator_unpacking.py`); nothing else of the project is loaded here.
"""

import contextvars
import importlib
import inspect
import json
import os
import re
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

RECORD = "SIGNPOST_IAM_RECORD"
"""Names the file of the record. The functions do not inherit it: it is dropped before any of them starts."""

STARTED_BY = "SIGNPOST_STARTED_BY"
"""Names the process with which the emulator ends, if any. Dropped likewise."""

LEADING_KEYS = "dynamodb:LeadingKeys"
_NAMED = "signpost:named-keys"
"""Carries the keys of a request from `dynamodb_service_context` to `enforce`; no policy sees it."""

_TRANSACTED = {
    "ConditionCheck": "dynamodb:ConditionCheckItem",
    "Put": "dynamodb:PutItem",
    "Update": "dynamodb:UpdateItem",
    "Delete": "dynamodb:DeleteItem",
    "Get": "dynamodb:GetItem",
}
_LOOK_AGAIN_AFTER = 1.0
_EQUALITY = re.compile(r"(#?[\w.]+)\s*=\s*(:\w+)")

type Decide = Callable[[], Any]
type PartitionKey = Callable[[str, str | None], str | None]
"""The name of the partition key of a table, or of one of its indexes; None if there is no such table."""


class NamedKeys:
    """The partition keys that one request names: by table, or in a transaction by item, in the order of the items."""

    def __init__(self, request: Mapping[str, Any], partition_key: PartitionKey) -> None:
        self._request = request
        self._partition_key = partition_key
        self._items = iter(list(self._enclosed()))

    def of_table(self, resource: str) -> Sequence[str]:
        """The keys of one table or index, each once. Empty for a request that names none, such as a scan."""
        table = _table_of(resource)
        found = [value for name, value in self._keys() if name == table]
        return list(dict.fromkeys(found))

    def of_next_item(self, action: str, resource: str) -> Sequence[str]:
        """The key of the item of a transaction that is judged next."""
        expected, table, keys = next(self._items, ("nothing", "no table", tuple[str, ...]()))
        if (expected, table) != (action, _table_of(resource)):
            raise RuntimeError(f"The emulator judges {action} on {resource} where {expected} on {table} is next.")
        return keys

    def _keys(self) -> Iterator[tuple[str, str]]:
        """Table and partition key, as often as the request names one."""
        if table := _table_of(str(self._request.get("TableName", ""))):
            rows = [self._request.get(member) for member in ("Key", "Item")]
            yield from ((table, value) for row in rows for value in self._of_row(table, row))
            yield from ((table, value) for value in self._of_query(table))
        for name, batch in _mapping(self._request.get("RequestItems")).items():
            for row in _rows_of(batch):
                yield from ((_table_of(name), value) for value in self._of_row(_table_of(name), row))

    def _of_row(self, table: str, row: Any) -> Iterator[str]:
        attribute = self._partition_key(table, None)
        if attribute in _mapping(row):
            yield _text(row[attribute])

    def _of_query(self, table: str) -> Iterator[str]:
        attribute = self._partition_key(table, self._request.get("IndexName"))
        names = _mapping(self._request.get("ExpressionAttributeNames"))
        values = _mapping(self._request.get("ExpressionAttributeValues"))
        for name, value in _EQUALITY.findall(str(self._request.get("KeyConditionExpression", ""))):
            if names.get(name, name) == attribute and value in values:
                yield _text(values[value])
        legacy = _mapping(_mapping(self._request.get("KeyConditions")).get(attribute or ""))
        yield from map(_text, _list(legacy.get("AttributeValueList")))

    def _enclosed(self) -> Iterator[tuple[str, str, Sequence[str]]]:
        """Action, table and key of each item of a transaction, in the order in which the emulator judges them."""
        for item in _list(self._request.get("TransactItems")):
            for member, action in _TRANSACTED.items():
                detail = _mapping(_mapping(item).get(member))
                if table := _table_of(str(detail.get("TableName", ""))):
                    row = detail.get("Item" if member == "Put" else "Key")
                    yield action, table, list(self._of_row(table, row))


def _rows_of(batch: Any) -> Iterator[Any]:
    """The rows of one table that a batch reads, or that it writes."""
    yield from _list(_mapping(batch).get("Keys"))
    for write in _list(batch):
        yield _mapping(_mapping(write).get("PutRequest")).get("Item")
        yield _mapping(_mapping(write).get("DeleteRequest")).get("Key")


def _mapping(value: Any) -> Mapping[str, Any]:
    """The value if it is an object; what a client sends may be anything."""
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}


def _list(value: Any) -> Sequence[Any]:
    """The value if it is a list."""
    return cast("Sequence[Any]", value) if isinstance(value, list) else ()


def _table_of(name: str) -> str:
    """The name of a table, of its ARN, or of the ARN of one of its indexes."""
    return name.partition(":table/")[2].split("/")[0] if name.startswith("arn:") else name


def _text(value: Any) -> str:
    """A key as a policy compares it."""
    return str(next(iter(_mapping(value).values()), value))


class Record:
    """A file of decisions, one JSON object a line: each distinct one that allows, and every one that denies."""

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


def _with_keys(service_context: Callable[[bytes], Any], partition_key: PartitionKey) -> Callable[[bytes], Any]:
    """`dynamodb_service_context`, with the keys that the request names."""

    def context(body: bytes) -> dict[str, Any]:
        found = service_context(body)
        try:
            request = _mapping(json.loads(body or b"{}"))
        except ValueError:
            return found
        return {**found, _NAMED: NamedKeys(request, partition_key)}

    return context


def _judging_keys(enforce: Callable[..., Any], judged: Callable[[Decide], Any]) -> Callable[..., Any]:
    """`enforce`, with `dynamodb:LeadingKeys` among the condition keys of a DynamoDB request that names any."""

    def enforced(
        access_key_id: str,
        iam_action: str,
        service: str,
        region: str,
        resource_arn: str = "*",
        service_context: Mapping[str, Any] | None = None,
    ) -> Any:
        context = dict(service_context or {})
        named = context.pop(_NAMED, None)
        if named is not None:
            is_item = "dynamodb:EnclosingOperation" in context
            keys = named.of_next_item(iam_action, resource_arn) if is_item else named.of_table(resource_arn)
            context.update({LEADING_KEYS: keys} if keys else {})
        return judged(lambda: enforce(access_key_id, iam_action, service, region, resource_arn, context))

    return enforced


def _recording(evaluator: Any, record: Record) -> Callable[[Decide], Any]:
    """Runs a decision of `enforce` and records it, with the request that it was about.

    Requests of the account's owner are not evaluated, so they are not recorded.
    """
    evaluate, seen = evaluator.evaluate, contextvars.ContextVar[list[Any]]("seen")

    def evaluated(ctx: Any, policies: Any, *limits: Any) -> Any:
        requests = seen.get([])
        if not requests:  # the policies of the resource are evaluated after those of the caller
            requests.append(_describe(evaluator, ctx, policies))
        return evaluate(ctx, policies, *limits)

    def judged(decide: Decide) -> Any:
        requests: list[Any] = []
        token = seen.set(requests)
        try:
            denied = decide()
        finally:
            seen.reset(token)
        for request in requests:
            record.add({**request, "decision": denied.decision if denied else "Allow"})
        return denied

    evaluator.evaluate = evaluated
    return judged


def _describe(evaluator: Any, ctx: Any, policies: Any) -> Mapping[str, Any]:
    """The request, with each condition key that it has and that a policy of its caller names."""
    blocks = [block for statements in policies for one in statements for block in one.conditions.values()]
    names = {LEADING_KEYS.lower(), *(key.lower() for block in blocks for key in block)}
    found = {name: evaluator._resolve_condition_key(name, ctx) for name in names}  # noqa: SLF001 - it has no other name
    return {
        "caller": ctx.principal_arn,
        "action": ctx.action,
        "resource": ctx.resource_arn,
        "context": {name: _list(value) or [str(value)] for name, value in found.items() if value is not None},
    }


def _partition_key(table: str, index: str | None) -> str | None:
    """Of the tables that the emulator holds."""
    found = importlib.import_module("ministack.services.dynamodb")._tables.get(table)  # noqa: SLF001 - as above
    if found is None:
        return None
    indexes = [*found.get("GlobalSecondaryIndexes", ()), *found.get("LocalSecondaryIndexes", ())]
    schemas = [one["KeySchema"] for one in indexes if one.get("IndexName") == index] if index else [found["KeySchema"]]
    return next((key["AttributeName"] for schema in schemas for key in schema if key["KeyType"] == "HASH"), None)


_REPLACED = {
    "ministack.core.iam_evaluator": {
        "enforce": ["access_key_id", "iam_action", "service", "region", "resource_arn", "service_context"],
        "evaluate": ["ctx", "policies", "limits"],
        "_resolve_condition_key": ["key", "ctx"],
    },
    "ministack.core.lambda_runtime": {
        "Worker": ["func_name", "config", "code_zip"],
        "invalidate_worker": ["func_name", "qualifier", "account", "region"],
    },
    "ministack.services.cloudformation.provisioners": {"_lambda_delete": ["physical_id", "props"]},
    "ministack.core.iam_actions": {
        "dynamodb_service_context": ["body"],
        "dynamodb_transaction_checks": ["iam_action", "body", "region", "account_id"],
    },
}
"""What is replaced or called, with its parameters, as the pinned version has it."""


def _ensure_replaceable(app: Any) -> None:
    """End the process if the emulator is not the one that this file was written for."""
    for module, functions in _REPLACED.items():
        for name, parameters in functions.items():
            found = getattr(importlib.import_module(module), name, None)
            if found is None or list(inspect.signature(found).parameters) != parameters:
                sys.exit(f"{module} has no {name}({', '.join(parameters)}): local/emulator_app.py does not fit it.")
            if hasattr(app, name):
                sys.exit(f"ministack.app binds {name} when it is loaded: local/emulator_app.py cannot replace it.")
    if not hasattr(importlib.import_module("ministack.services.dynamodb"), "_tables"):
        sys.exit("ministack.services.dynamodb has no _tables: local/emulator_app.py does not fit it.")


def _unrecorded(decide: Decide) -> Any:
    return decide()


def main() -> None:
    """Run the emulator until it is stopped."""
    path, parent = os.environ.pop(RECORD, None), os.environ.pop(STARTED_BY, None)
    if parent:
        threading.Thread(target=_end_with, args=(int(parent),), daemon=True).start()
    app: Any = importlib.import_module("ministack.app")
    _ensure_replaceable(app)
    evaluator: Any = importlib.import_module("ministack.core.iam_evaluator")
    actions: Any = importlib.import_module("ministack.core.iam_actions")
    judged = _recording(evaluator, Record(Path(path))) if path else _unrecorded
    evaluator.enforce = _judging_keys(evaluator.enforce, judged)
    actions.dynamodb_service_context = _with_keys(actions.dynamodb_service_context, _partition_key)
    _share_archives(Path(tempfile.gettempdir()) / "unpacked")
    _end_sandboxes_with_their_function()
    app.main()


def _end_with(parent: int) -> None:
    """Stop this process as its owner would, once the parent is gone: another process adopts it then."""
    while os.getppid() == parent:
        time.sleep(_LOOK_AGAIN_AFTER)
    os.kill(os.getpid(), signal.SIGTERM)


def _end_sandboxes_with_their_function() -> None:
    """CloudFormation of the emulator deletes a function and leaves its sandboxes running."""
    handlers: Any = importlib.import_module("ministack.services.cloudformation.provisioners")
    runtime: Any = importlib.import_module("ministack.core.lambda_runtime")
    of_functions = handlers._RESOURCE_HANDLERS["AWS::Lambda::Function"]  # noqa: SLF001 - it has no other name
    delete = of_functions["delete"]

    def deleted(physical_id: str, properties: Any) -> None:
        delete(physical_id, properties)
        runtime.invalidate_worker(physical_id)

    of_functions["delete"] = deleted


def _share_archives(folder: Path) -> None:
    """Of the project only this module is loaded here, by its path."""
    sys.path.append(str(Path(__file__).parents[1]))
    importlib.import_module("local.emulator_unpacking").share_archives(
        importlib.import_module("ministack.core.lambda_runtime"), folder
    )
    sys.path.pop()


if __name__ == "__main__":
    main()
