"""The directory of functions: a row for each function, and one for each executor with the ids of its functions.

A placement may not fit into one transaction. It takes these steps:

1. It takes all its ids at once, in the executor's row, under the condition that the scope's revision has not changed
   since it was read. So no two executors take the same id. The row also keeps the names that the executor's skills had.
2. It writes the rows of its functions and deletes those of removed functions, under the condition that the executor's
   row is as step 1 left it. So of two placements of one executor the later one wins.
3. It gives the ids of the removed functions back, and writes the events of its skills to the outbox.

If it is interrupted anywhere, everything served before is still served, and the next placement completes it. Step 2
increments the revision too, so a reader that read functions at one revision sees another once they have changed.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from signpost.adapters import keys
from signpost.adapters.dynamodb import rows
from signpost.adapters.dynamodb.placement_notices import NO_NAMES, names_attribute, names_in, outbox_puts
from signpost.adapters.dynamodb.rows import Attributes, Row
from signpost.contract import (
    Component,
    Executor,
    ExecutorVersion,
    HostedFunction,
    PlacedExecutor,
    Placement,
    is_declared_read_only,
)
from signpost.directory.load_notices import SkillNames, find_skill_names
from signpost.errors import Unavailable
from signpost.model import JsonObject, as_object

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

LONGEST_TRANSACTION = 100
LARGEST_TRANSACTION = 1_000_000
"""Bytes; far below a transaction's limit of four megabytes, since not every engine counts a letter's bytes alike."""
LISTING_MEMBERS = (
    "name", "title", "category", "output_schema", "annotations", "icons", "meta", "hidden", "idempotent", "doc",
    "component", "takes_client", "needs", "task", "visible_when",
)  # fmt: skip
"""The members of a function that lists show. They came with toolkits; a function has few of them, or none."""
READABLE_ATTRIBUTE = "readable_in_sections"
"""Gateways of an earlier release read `readable`, so rows have both."""
DEFAULT_HOSTED = HostedFunction("")


def placement_in(row: Row) -> Placement:
    return Placement(hosted_in(row), _executor_in(row))


def hosted_in(row: Row) -> HostedFunction:
    """Read a function's row. Rows of an earlier release lack the members that tools show."""
    listing = _listing_in(row)
    return HostedFunction(
        function=row["sk"]["S"],
        timeout_ms=rows.optional_integer(row, "timeout_ms"),
        permissions=rows.set_of_texts(row, "permissions"),
        readable=_is_readable(row, listing.get("annotations", {})),
        description=row["description"]["S"] if "description" in row else "",
        input_schema=json.loads(row["input_schema"]["S"]) if "input_schema" in row else None,
        exposed="exposed" in row,
        callees=rows.set_of_texts(row, "calls") if "calls" in row else frozenset(),
        **listing,
    )


def _is_readable(row: Row, annotations: JsonObject) -> bool:
    """Tell whether sections may run the function. A row of an earlier release has only `readable`, which is true also
    where its author declared nothing."""
    if READABLE_ATTRIBUTE in row:
        return row[READABLE_ATTRIBUTE]["BOOL"]
    return row["readable"]["BOOL"] and is_declared_read_only(annotations)


def _listing_in(row: Row) -> dict[str, Any]:
    """Read the listing members. A row of a later release may have more; those are left out."""
    listing: JsonObject = json.loads(row["listing"]["S"]) if "listing" in row else {}
    known: dict[str, Any] = {name: listing[name] for name in LISTING_MEMBERS if name in listing}
    sequences = {name: tuple(known.get(name, ())) for name in ("icons", "needs")}
    return {**known, **sequences, "component": _component_in(listing)}


def _component_in(listing: JsonObject) -> Component | None:
    if "component" not in listing:
        return None
    # Imported on first use: most functions are tools, and calls and lists of tools need no components.
    from signpost.calling.components import component_of  # noqa: PLC0415

    return component_of(as_object(listing["component"]))


def revision_in(row: Row | None) -> int:
    return int(row["revision"]["N"]) if row else 0


class DynamoDirectory:
    def __init__(self, client: "DynamoDBClient", table: str) -> None:
        self._client = client
        self._table = table

    def list_placed(self) -> Sequence[PlacedExecutor]:
        return [placed_in(row) for row in rows.query(self._client, self._table, keys.EXECUTORS)]

    def place(
        self,
        tenant: str | None,
        executor: Executor,
        hosted: Sequence[HostedFunction],
        terms: ExecutorVersion | None = None,
    ) -> Sequence[str]:
        by_id = {function.function: function for function in hosted}
        for attempt in range(rows.ATTEMPTS):
            revision, holders = self._read_holders(tenant)
            holder = holders.pop(executor.arn, None)
            own = _ids_in(holder)
            foreign = frozenset[str]().union(*map(_ids_in, holders.values()))
            if taken := [function for function in by_id if function in foreign]:
                return taken
            names = names_in(holder, self._read_names(tenant, own, hosted))
            if self._take_ids(tenant, executor, own.union(by_id), revision, names):
                removed = own.difference(by_id)
                self._write_functions(tenant, executor, by_id.values(), removed, terms, names, revision=revision + 1)
                return []
            rows.pause(attempt)
        raise Unavailable("Other requests kept placing functions at the same time.")

    def remove(self, tenant: str | None, executor_arn: str) -> bool:
        row = rows.get(self._client, self._table, keys.executor(tenant, executor_arn))
        return row is not None and not self.place(tenant, _executor_in(row), ())

    def _read_holders(self, tenant: str | None) -> tuple[int, dict[str, Row]]:
        """Read the scope's revision, and the row of each executor with the ids that it holds.

        The revision is read first: if it is still the same when ids are taken, then so is everything read after it.
        """
        row = rows.get(self._client, self._table, keys.placements(tenant))
        prefix = keys.executors_of(tenant)
        holders = rows.query(self._client, self._table, keys.EXECUTORS, sk_begins=prefix)
        return revision_in(row), {row["executor"]["S"]: row for row in holders}

    def _read_names(self, tenant: str | None, own: frozenset[str], hosted: Sequence[HostedFunction]) -> SkillNames:
        """Read the names of the executor's skills before and after the placement. They hold if the scope still has its
        revision when ids are taken."""
        if tenant is None:
            return NO_NAMES
        scopes = (rows.query(self._client, self._table, keys.placed_functions_of(scope)) for scope in (tenant, None))
        own_functions, shipped = ([hosted_in(row) for row in found] for found in scopes)
        return find_skill_names(own, hosted, own_functions, shipped)

    def _take_ids(
        self, tenant: str | None, executor: Executor, functions: frozenset[str], revision: int, names: SkillNames
    ) -> bool:
        """Take the ids for the executor; False if another placement changed the scope since the revision was read."""
        holder = {**holder_row(tenant, executor, functions, revision + 1), **names_attribute(names)}
        scope = rows.build_put(self._table, scope_row(tenant, revision + 1), scope_condition(revision))
        return rows.transact(self._client, [scope, rows.build_put(self._table, holder)])

    def _write_functions(
        self,
        tenant: str | None,
        executor: Executor,
        hosted: Iterable[HostedFunction],
        removed: frozenset[str],
        terms: ExecutorVersion | None,
        names: SkillNames,
        *,
        revision: int,
    ) -> None:
        """Write the functions' rows, and last the executor's row with the events.

        Stops if another call placed or removed this executor meanwhile: that call has read the ids taken here, and
        completes the change.
        """
        key = keys.executor(tenant, executor.arn)
        unchanged = _revision_condition(revision)
        new = [{**keys.placed_function(tenant, each.function), **attributes_of(executor, each)} for each in hosted]
        old = [keys.placed_function(tenant, function) for function in sorted(removed)]
        check = {"ConditionCheck": {"TableName": self._table, "Key": key, **unchanged}}
        increment = self._revision_increment(tenant)
        writes = (
            *(rows.build_put(self._table, row) for row in new),
            *(rows.build_delete(self._table, row_key) for row_key in old),
        )
        for batch in _batches(writes, LONGEST_TRANSACTION - 2):
            if not rows.transact(self._client, [check, increment, *batch]):
                return
        functions = frozenset(row["sk"]["S"] for row in new)
        holder = holder_row(tenant, executor, functions, revision, terms)
        last = (
            rows.build_put(self._table, holder, unchanged)
            if functions
            else rows.build_delete(self._table, key, unchanged)
        )
        rows.transact(self._client, [last, *outbox_puts(self._table, tenant, revision, names)])

    def _revision_increment(self, tenant: str | None) -> Any:
        """Build the increment of the scope's revision, without a condition: another placement may be running."""
        addition = {"UpdateExpression": "ADD revision :one", "ExpressionAttributeValues": {":one": rows.number(1)}}
        return {"Update": {"TableName": self._table, "Key": keys.placements(tenant), **addition}}


def _ids_in(holder: Row | None) -> frozenset[str]:
    return rows.set_of_texts(holder, "functions") if holder is not None else frozenset()


def scope_row(tenant: str | None, revision: int) -> Attributes:
    return {**keys.placements(tenant), "revision": rows.number(revision), **rows.schema_attribute()}


def scope_condition(revision: int) -> Attributes:
    """Build the condition that the scope's placements are still at the revision; 0 is a scope without any."""
    return _revision_condition(revision) if revision else {"ConditionExpression": "attribute_not_exists(pk)"}


def holder_row(
    tenant: str | None,
    executor: Executor,
    functions: Iterable[str],
    revision: int,
    terms: ExecutorVersion | None = None,
) -> Attributes:
    """Build an executor's row. It has no terms before all rows of its functions are written."""
    return {
        **keys.executor(tenant, executor.arn),
        **_executor_attributes(executor),
        "functions": rows.text_set(frozenset(functions)),
        "revision": rows.number(revision),
        **({"contract": {"S": terms.digest}} if terms is not None else {}),
        **({"version": {"S": terms.version}} if terms is not None and terms.version is not None else {}),
        **rows.schema_attribute(),
    }


def _revision_condition(revision: int) -> Attributes:
    return {
        "ConditionExpression": "revision = :revision",
        "ExpressionAttributeValues": {":revision": rows.number(revision)},
    }


def placed_in(row: Row) -> PlacedExecutor:
    tenant = row["sk"]["S"].partition("#")[0] or None
    return PlacedExecutor(tenant, _executor_in(row), sorted(rows.set_of_texts(row, "functions")), _terms_in(row))


def _terms_in(row: Row) -> ExecutorVersion | None:
    if "contract" not in row:
        return None
    return ExecutorVersion(row["version"]["S"] if "version" in row else None, row["contract"]["S"])


def _executor_in(row: Row) -> Executor:
    return Executor(row["executor"]["S"], row["key_secret"]["S"], int(row["executor_timeout_ms"]["N"]))


def _executor_attributes(executor: Executor) -> Attributes:
    return {
        "executor": {"S": executor.arn},
        "key_secret": {"S": executor.key_secret_arn},
        "executor_timeout_ms": rows.number(executor.timeout_ms),
    }


def attributes_of(executor: Executor, hosted: HostedFunction) -> Attributes:
    return {
        **_executor_attributes(executor),
        **rows.numbers({"timeout_ms": hosted.timeout_ms}),
        "permissions": rows.text_set(hosted.permissions),
        "readable": {"BOOL": hosted.readable},
        READABLE_ATTRIBUTE: {"BOOL": hosted.readable},
        "description": {"S": hosted.description},
        **({"input_schema": {"S": rows.text(hosted.input_schema)}} if hosted.input_schema is not None else {}),
        **({"exposed": {"BOOL": True}} if hosted.exposed else {}),
        **({"calls": rows.text_set(hosted.callees)} if hosted.callees else {}),
        **_listing_attribute(hosted),
        **rows.schema_attribute(),
    }


def _listing_attribute(hosted: HostedFunction) -> Attributes:
    """Build one attribute of all listing members: they are read together, and no query uses them."""
    listing = {
        name: value for name in LISTING_MEMBERS if (value := getattr(hosted, name)) != getattr(DEFAULT_HOSTED, name)
    }
    if hosted.component is not None:
        from signpost.calling.components import component_object  # noqa: PLC0415 - as in _component_in

        listing["component"] = component_object(hosted.component)
    return {"listing": {"S": rows.text(listing)}} if listing else {}


def _batches(writes: Iterable[Any], most: int) -> Iterator[Sequence[Any]]:
    """Split the writes into transactions by number and size; a schema makes some rows long."""
    batch: list[Any] = []
    size = 0
    for write in writes:
        length = _size_of(write)
        if batch and (len(batch) == most or size + length > LARGEST_TRANSACTION):
            yield batch
            batch, size = [], 0
        batch.append(write)
        size += length
    if batch:
        yield batch


def _size_of(write: Any) -> int:
    """Estimate the bytes of the row."""
    return len(json.dumps(write, ensure_ascii=False).encode())
