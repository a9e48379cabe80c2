"""The emulator (ministack) with two additions to its IAM evaluator: `dynamodb:LeadingKeys` and a record of decisions.

`local/emulator.py` starts this file with the emulator's own interpreter. Besides it three modules of the project are
loaded. Through `local/emulator_unpacking.py` the sandboxes share their unpacked code. `local/emulator_starts.py` limits
how many of them start at once. If the emulator is started with a latency, changes take effect later through
`local/emulator_latency.py`.
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
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

RECORD = "SIGNPOST_IAM_RECORD"
"""The variable with the path of the record. It is removed before a function starts, so functions do not inherit it."""

STARTED_BY = "SIGNPOST_STARTED_BY"
"""The variable with the id of the process with which the emulator ends, if any. Functions do not inherit it either."""

LATENCY = "SIGNPOST_LATENCY"
"""The variable with the path of the file with the latency, if any. Functions do not inherit it either."""

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
_POLL_SECONDS = 1.0
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

    def _transaction_items(self) -> Iterator[tuple[str, str, Sequence[str]]]:
        """Yield action, table and key of each item of a transaction, in the order in which the emulator judges them."""
        for item in _list(self._request.get("TransactItems")):
            for member, action in _TRANSACTION_ACTIONS.items():
                detail = _mapping(_mapping(item).get(member))
                if table := _table_of(str(detail.get("TableName", ""))):
                    row = detail.get("Item" if member == "Put" else "Key")
                    yield action, table, list(self._of_row(table, row))


def _rows_of(batch: Any) -> Iterator[Any]:
    """Yield the rows of one table that a batch reads or writes."""
    yield from _list(_mapping(batch).get("Keys"))
    for write in _list(batch):
        yield _mapping(_mapping(write).get("PutRequest")).get("Item")
        yield _mapping(_mapping(write).get("DeleteRequest")).get("Key")


def _mapping(value: Any) -> Mapping[str, Any]:
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
    return str(next(iter(_mapping(value).values()), value))


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
            request = _mapping(json.loads(body or b"{}"))
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


_EXPECTED_PARAMETERS = {
    "ministack.core.iam_evaluator": {
        "enforce": ["access_key_id", "iam_action", "service", "region", "resource_arn", "service_context"],
        "evaluate": ["ctx", "policies", "limits"],
        "_resolve_condition_key": ["key", "ctx"],
        "_gather_role_policies": ["role_name", "account_id"],
    },
    "ministack.core.lambda_runtime": {
        "Worker": ["func_name", "config", "code_zip"],
        "acquire_worker": ["func_name", "config", "code_zip", "qualifier", "max_concurrency"],
        "release_worker": ["worker"],
        "_worker_key": ["func_name", "config", "qualifier"],
        "invalidate_worker": ["func_name", "qualifier", "account", "region"],
    },
    "ministack.services.lambda_svc": {
        "_sqs_esm_concurrency": ["esm", "func_rec", "config", "queue"],
        "_iter_all_esms": [],
        "_esm_response": ["esm"],
        "_get_func_record_for_ref": ["function_ref"],
    },
    "ministack.services.cloudwatch": {
        "_evaluate_alarm": ["alarm"],
        "_dims_key": ["dims"],
        "_dims_from_list": ["dimensions"],
    },
    "ministack.services.eventbridge": {"_dispatch_to_lambda": ["arn", "payload"]},
    "ministack.services.cloudformation.provisioners": {"_lambda_delete": ["physical_id", "props"]},
    "ministack.core.iam_actions": {
        "dynamodb_service_context": ["body"],
        "dynamodb_transaction_checks": ["iam_action", "body", "region", "account_id"],
    },
}
"""The functions of the pinned emulator that this file replaces or calls, with their parameters, by module."""
_EXPECTED_NAMES = (
    ("ministack.services.dynamodb", "_tables"),
    ("ministack.core.lambda_runtime", "_workers"),
    ("ministack.core.lambda_runtime", "_lock"),
    ("ministack.services.lambda_svc", "acquire_worker"),
    ("ministack.services.lambda_svc", "release_worker"),
)
"""The values of the pinned emulator that this file or its modules read, by module."""


def _ensure_replaceable(app: Any) -> None:
    """End the process if the emulator does not have the functions that this file replaces or calls."""
    for module, functions in _EXPECTED_PARAMETERS.items():
        for name, parameters in functions.items():
            function = getattr(importlib.import_module(module), name, None)
            if function is None or list(inspect.signature(function).parameters) != parameters:
                sys.exit(f"{module} has no {name}({', '.join(parameters)}): adapt local/emulator_app.py.")
            if hasattr(app, name):
                sys.exit(f"ministack.app binds {name} when it is loaded: adapt local/emulator_app.py.")
    for module, name in _EXPECTED_NAMES:
        if not hasattr(importlib.import_module(module), name):
            sys.exit(f"{module} has no {name}: adapt local/emulator_app.py.")


def _run_unrecorded(decide: Decide) -> Any:
    return decide()


def main() -> None:
    """Run the emulator until it is stopped."""
    path, parent, latency = (os.environ.pop(name, None) for name in (RECORD, STARTED_BY, LATENCY))
    if parent:
        threading.Thread(target=_end_with_parent, args=(int(parent),), daemon=True).start()
    app: Any = importlib.import_module("ministack.app")
    _ensure_replaceable(app)
    evaluator: Any = importlib.import_module("ministack.core.iam_evaluator")
    actions: Any = importlib.import_module("ministack.core.iam_actions")
    run_decision = _record_decisions(evaluator, Record(Path(path))) if path else _run_unrecorded
    evaluator.enforce = _add_leading_keys(evaluator.enforce, run_decision)
    actions.dynamodb_service_context = _add_keys(actions.dynamodb_service_context, _partition_key)
    runtime = importlib.import_module("ministack.core.lambda_runtime")
    service = importlib.import_module("ministack.services.lambda_svc")
    _load("local.emulator_unpacking").share_archives(runtime, Path(tempfile.gettempdir()) / "unpacked")
    _load("local.emulator_starts").limit_starts(runtime, service, os.cpu_count() or 1)
    if latency:
        _load("local.emulator_latency").delay_changes(_names_of, Path(latency))
    _end_sandboxes_with_their_function()
    _make_concurrency_a_number()
    _judge_alarms_by_their_dimensions()
    app.main()


def _end_with_parent(parent: int) -> None:
    """Stop this process by SIGTERM once its parent has ended, which shows as a new parent."""
    while os.getppid() == parent:
        time.sleep(_POLL_SECONDS)
    os.kill(os.getpid(), signal.SIGTERM)


def _end_sandboxes_with_their_function() -> None:
    """End the sandboxes of a function that a stack deletes; the emulator's CloudFormation would leave them running."""
    handlers: Any = importlib.import_module("ministack.services.cloudformation.provisioners")
    runtime: Any = importlib.import_module("ministack.core.lambda_runtime")
    function_handlers = handlers._RESOURCE_HANDLERS["AWS::Lambda::Function"]  # noqa: SLF001 - it has no other name
    delete = function_handlers["delete"]

    def delete_with_sandboxes(physical_id: str, properties: Any) -> None:
        delete(physical_id, properties)
        runtime.invalidate_worker(physical_id)

    function_handlers["delete"] = delete_with_sandboxes


def _make_concurrency_a_number() -> None:
    """Let a template give `MaximumConcurrency` by a parameter: CloudFormation in the emulator makes a text of it, and
    its comparison with a number would stop the reading of all queues."""
    service: Any = importlib.import_module("ministack.services.lambda_svc")
    compare = service._sqs_esm_concurrency  # noqa: SLF001 - it has no other name

    def compare_numbers(mapping: Mapping[str, Any], *rest: Any) -> Any:
        scaling = {name: int(value) for name, value in _mapping(mapping.get("ScalingConfig")).items()}
        return compare({**mapping, "ScalingConfig": scaling}, *rest)

    service._sqs_esm_concurrency = compare_numbers  # noqa: SLF001 - as above


def _judge_alarms_by_their_dimensions() -> None:
    """Let an alarm count the metrics with its dimensions alone. The emulator counts all metrics of its name, so
    that an alarm would ring for the functions of other stacks."""
    names = _names_of("services.cloudwatch")
    evaluate = names["_evaluate_alarm"]

    def evaluate_own_metrics(alarm: Mapping[str, Any]) -> None:
        dimensions = names["_dims_key"](names["_dims_from_list"](alarm.get("Dimensions") or []))
        own = {key: points for key, points in names["_metrics"].items() if key[2] == dimensions}
        types.FunctionType(evaluate.__code__, {**names, "_metrics": own})(alarm)

    names["_evaluate_alarm"] = evaluate_own_metrics


def _names_of(module: str) -> dict[str, Any]:
    """Return the names that a module of the emulator defines."""
    return vars(importlib.import_module(f"ministack.{module}"))


def _load(module: str) -> Any:
    """Load a module of the project by its path."""
    sys.path.append(str(Path(__file__).parents[1]))
    try:
        return importlib.import_module(module)
    finally:
        sys.path.pop()


if __name__ == "__main__":
    main()
