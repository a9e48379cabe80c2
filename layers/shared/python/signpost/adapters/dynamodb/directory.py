"""Which executor hosts which functions: a row for each function, and one for each executor with the ids it holds.

A placement is longer than a transaction may be. It first takes all its ids at once, in the row of its executor; then it
writes the rows of the functions, deletes those that are gone, and last gives the ids of these back. Who takes ids
conditions on the scope's revision, so nobody takes one that somebody else took since they looked; whoever writes
functions conditions on the executor's row being as they left it, so of two placements of one executor the later stands.
Interrupted anywhere, everything served before is still served, and placing again completes it. What writes functions
moves the revision too, so whoever read them after a revision finds another one as soon as they are no longer so.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from signpost.adapters import keys
from signpost.adapters.dynamodb import rows
from signpost.adapters.dynamodb.rows import Attributes, Row
from signpost.contract import Component, Executor, Hosted, Placed, Placement, Terms
from signpost.errors import Unavailable
from signpost.model import JsonObject, as_object

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

LONGEST_TRANSACTION = 100
LARGEST_TRANSACTION = 1_000_000
"""Far from the four megabytes of a transaction: not every engine counts the bytes of a letter alike."""
LISTING = (
    "name", "title", "category", "output_schema", "annotations", "icons", "meta", "hidden", "idempotent", "doc",
    "component",
)  # fmt: skip
"""Members that came with toolkits; a function has few of them, or none."""
SILENT = Hosted("")


def placement_in(row: Row) -> Placement:
    return Placement(hosted_in(row), _executor(row))


def hosted_in(row: Row) -> Hosted:
    """Rows of an earlier release say nothing of what tools show."""
    return Hosted(
        function=row["sk"]["S"],
        timeout_ms=rows.optional_integer(row, "timeout_ms"),
        permissions=rows.set_of_texts(row, "permissions"),
        readable=row["readable"]["BOOL"],
        description=row["description"]["S"] if "description" in row else "",
        input_schema=json.loads(row["input_schema"]["S"]) if "input_schema" in row else None,
        exposed="exposed" in row,
        **_listing(row),
    )


def _listing(row: Row) -> dict[str, Any]:
    """A later release may say more than is known here."""
    said: JsonObject = json.loads(row["listing"]["S"]) if "listing" in row else {}
    known: dict[str, Any] = {name: said[name] for name in LISTING if name in said}
    return {**known, "icons": tuple(known.get("icons", ())), "component": _component_in(said)}


def _component_in(said: JsonObject) -> Component | None:
    if "component" not in said:
        return None
    # Most functions are tools, and who lists or calls those need not wait for it.
    from signpost.execution.components import component_of  # noqa: PLC0415

    return component_of(as_object(said["component"]))


def revision_in(row: Row | None) -> int:
    return int(row["revision"]["N"]) if row else 0


class DynamoDirectory:
    def __init__(self, client: "DynamoDBClient", table: str) -> None:
        self._client = client
        self._table = table

    def placed(self) -> Sequence[Placed]:
        return [placed_in(row) for row in rows.query(self._client, self._table, keys.EXECUTORS)]

    def place(
        self, tenant: str | None, executor: Executor, hosted: Sequence[Hosted], terms: Terms | None = None
    ) -> Sequence[str]:
        wanted = {one.function: one for one in hosted}
        for attempt in range(rows.ATTEMPTS):
            revision, held = self._look(tenant)
            own = held.pop(executor.arn, frozenset())
            foreign = frozenset[str]().union(*held.values())
            if taken := [function for function in wanted if function in foreign]:
                return taken
            if self._take(tenant, executor, own.union(wanted), revision):
                gone = own.difference(wanted)
                self._fill(tenant, executor, wanted.values(), gone, terms, revision=revision + 1)
                return []
            rows.pause(attempt)
        raise Unavailable("Others are placing functions all the time.")

    def remove(self, tenant: str | None, executor_arn: str) -> bool:
        row = rows.get(self._client, self._table, keys.executor(tenant, executor_arn))
        return row is not None and not self.place(tenant, _executor(row), ())

    def _look(self, tenant: str | None) -> tuple[int, dict[str, frozenset[str]]]:
        """The scope's revision, and the ids that each executor holds. The revision first: if it is still the same
        when ids are taken, then so is what was read after it."""
        row = rows.get(self._client, self._table, keys.placements(tenant))
        beginning = keys.executors_of(tenant)
        found = rows.query(self._client, self._table, keys.EXECUTORS, sk_begins=beginning)
        held = {row["executor"]["S"]: rows.set_of_texts(row, "functions") for row in found}
        return revision_in(row), held

    def _take(self, tenant: str | None, executor: Executor, functions: frozenset[str], revision: int) -> bool:
        """False if somebody else took something in this scope since we looked."""
        holder = holder_row(tenant, executor, functions, revision + 1)
        scope = self._put(scope_row(tenant, revision + 1), scope_is(revision))
        return rows.transact(self._client, [scope, self._put(holder)])

    def _fill(
        self,
        tenant: str | None,
        executor: Executor,
        hosted: Iterable[Hosted],
        gone: frozenset[str],
        terms: Terms | None,
        *,
        revision: int,
    ) -> None:
        """Gives way to whoever placed or removed this executor meanwhile: they know what we took, and what we left."""
        key = keys.executor(tenant, executor.arn)
        still_ours = _revision_is(revision)
        new = [{**keys.placed_function(tenant, one.function), **attributes_of(executor, one)} for one in hosted]
        old = [keys.placed_function(tenant, function) for function in sorted(gone)]
        check = {"ConditionCheck": {"TableName": self._table, "Key": key, **still_ours}}
        moved = self._moved(tenant)
        for batch in _batches((*map(self._put, new), *map(self._delete, old)), LONGEST_TRANSACTION - 2):
            if not rows.transact(self._client, [check, moved, *batch]):
                return
        functions = frozenset(row["sk"]["S"] for row in new)
        holder = holder_row(tenant, executor, functions, revision, terms)
        last = self._put(holder, still_ours) if functions else self._delete(key, still_ours)
        rows.transact(self._client, [last])

    def _moved(self, tenant: str | None) -> Any:
        """The revision by one more, whatever it is: somebody else may be placing another executor."""
        moving = {"UpdateExpression": "ADD revision :one", "ExpressionAttributeValues": {":one": rows.number(1)}}
        return {"Update": {"TableName": self._table, "Key": keys.placements(tenant), **moving}}

    def _put(self, row: Attributes, condition: Attributes | None = None) -> Any:
        return {"Put": {"TableName": self._table, "Item": row, **(condition or {})}}

    def _delete(self, key: keys.Key, condition: Attributes | None = None) -> Any:
        return {"Delete": {"TableName": self._table, "Key": key, **(condition or {})}}


def scope_row(tenant: str | None, revision: int) -> Attributes:
    return {**keys.placements(tenant), "revision": rows.number(revision), **rows.schema()}


def scope_is(revision: int) -> Attributes:
    """The condition that nobody has placed anything since."""
    return _revision_is(revision) if revision else {"ConditionExpression": "attribute_not_exists(pk)"}


def holder_row(
    tenant: str | None, executor: Executor, functions: Iterable[str], revision: int, terms: Terms | None = None
) -> Attributes:
    """Without terms where not all of the functions are written yet."""
    return {
        **keys.executor(tenant, executor.arn),
        **_executor_attributes(executor),
        "functions": rows.text_set(frozenset(functions)),
        "revision": rows.number(revision),
        **({"contract": {"S": terms.digest}} if terms is not None else {}),
        **({"version": {"S": terms.version}} if terms is not None and terms.version is not None else {}),
        **rows.schema(),
    }


def _revision_is(revision: int) -> Attributes:
    return {
        "ConditionExpression": "revision = :revision",
        "ExpressionAttributeValues": {":revision": rows.number(revision)},
    }


def placed_in(row: Row) -> Placed:
    tenant = row["sk"]["S"].partition("#")[0] or None
    return Placed(tenant, _executor(row), sorted(rows.set_of_texts(row, "functions")), _terms_in(row))


def _terms_in(row: Row) -> Terms | None:
    if "contract" not in row:
        return None
    return Terms(row["version"]["S"] if "version" in row else None, row["contract"]["S"])


def _executor(row: Row) -> Executor:
    return Executor(row["executor"]["S"], row["key_secret"]["S"], int(row["executor_timeout_ms"]["N"]))


def _executor_attributes(executor: Executor) -> Attributes:
    return {
        "executor": {"S": executor.arn},
        "key_secret": {"S": executor.key_secret_arn},
        "executor_timeout_ms": rows.number(executor.timeout_ms),
    }


def attributes_of(executor: Executor, hosted: Hosted) -> Attributes:
    return {
        **_executor_attributes(executor),
        **rows.numbers({"timeout_ms": hosted.timeout_ms}),
        "permissions": rows.text_set(hosted.permissions),
        "readable": {"BOOL": hosted.readable},
        "description": {"S": hosted.description},
        **({"input_schema": {"S": rows.text(hosted.input_schema)}} if hosted.input_schema is not None else {}),
        **({"exposed": {"BOOL": True}} if hosted.exposed else {}),
        **_listing_attribute(hosted),
        **rows.schema(),
    }


def _listing_attribute(hosted: Hosted) -> Attributes:
    """As one text: these are read together, and nothing is looked up by them."""
    said = {name: value for name in LISTING if (value := getattr(hosted, name)) != getattr(SILENT, name)}
    if hosted.component is not None:
        from signpost.execution.components import component_object  # noqa: PLC0415 - as in _component_in

        said["component"] = component_object(hosted.component)
    return {"listing": {"S": rows.text(said)}} if said else {}


def _batches(writes: Iterable[Any], most: int) -> Iterator[Sequence[Any]]:
    """What goes into a transaction together; a schema makes some rows long."""
    batch: list[Any] = []
    size = 0
    for write in writes:
        length = _size(write)
        if batch and (len(batch) == most or size + length > LARGEST_TRANSACTION):
            yield batch
            batch, size = [], 0
        batch.append(write)
        size += length
    if batch:
        yield batch


def _size(write: Any) -> int:
    """About as many bytes as the row has."""
    return len(json.dumps(write, ensure_ascii=False).encode())
