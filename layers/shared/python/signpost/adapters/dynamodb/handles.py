"""The handles of principals: a partition of the registry table for each principal, a row for each handle.

`expires_at` is also the time to live of a row. The table deletes rows late, so every reader compares it with its clock.
"""

from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING

from signpost.adapters import keys
from signpost.adapters.aws import call
from signpost.adapters.dynamodb import rows
from signpost.adapters.dynamodb.rows import Attributes, Row
from signpost.calling.handles import HandleOwner, ListedHandle, StoredHandle

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


class DynamoHandles:
    def __init__(self, client: "DynamoDBClient", table: str) -> None:
        self._client = client
        self._table = table

    def add(self, owner: HandleOwner, handle: StoredHandle, now: float) -> StoredHandle:
        condition = "attribute_not_exists(pk) OR expires_at <= :now"
        standing = self._put(owner, handle, condition, {":now": rows.number(now)})
        return handle if standing is None else _handle_in(standing)

    def read(self, owner: HandleOwner, handle_id: str) -> StoredHandle | None:
        row = rows.get(self._client, self._table, _row_key(owner, handle_id))
        return _handle_in(row) if row else None

    def replace(self, owner: HandleOwner, handle: StoredHandle, version: int, now: float) -> StoredHandle | None:
        values = {":version": rows.number(version), ":now": rows.number(now)}
        standing = self._put(owner, handle, "version = :version AND expires_at > :now", values)
        return None if standing is None else _handle_in(standing)

    def remove(self, owner: HandleOwner, handle_id: str) -> None:
        call(self._client.delete_item, TableName=self._table, Key=_row_key(owner, handle_id))

    def list(self, owner: HandleOwner, prefix: str, now: float, most: int) -> Sequence[ListedHandle]:
        found = rows.query_live(
            self._client,
            self._table,
            keys.handles_of(owner.tenant, owner.principal),
            "sk, version, expires_at",
            sk_begins=f"{owner.scope}#{prefix}",
            now=now,
        )
        return [
            ListedHandle(_id_in(row), int(row["version"]["N"]), float(row["expires_at"]["N"]))
            for row in islice(found, most)
        ]

    def _put(self, owner: HandleOwner, handle: StoredHandle, condition: str, values: Attributes) -> Row | None:
        row = {**_row_key(owner, handle.id), **_attributes_of(handle)}
        return rows.put_if(self._client, self._table, row, condition, values)


def _row_key(owner: HandleOwner, handle_id: str) -> keys.RowKey:
    return keys.handle(owner.tenant, owner.principal, f"{owner.scope}#{handle_id}")


def _id_in(row: Row) -> str:
    return row["sk"]["S"].rpartition("#")[2]


def _attributes_of(handle: StoredHandle) -> Attributes:
    return {
        "text": {"S": handle.text},
        "form": rows.number(handle.schema),
        "sliding": {"BOOL": handle.is_sliding},
        "written_by": {"S": handle.write},
        **rows.numbers({"version": handle.version, "seconds": handle.seconds, "expires_at": handle.expires_at}),
        **rows.schema_attribute(),
    }


def _handle_in(row: Row) -> StoredHandle:
    return StoredHandle(
        id=_id_in(row),
        version=int(row["version"]["N"]),
        text=row["text"]["S"],
        schema=int(row["form"]["N"]),
        seconds=float(row["seconds"]["N"]),
        is_sliding=row["sliding"]["BOOL"],
        expires_at=float(row["expires_at"]["N"]),
        write=row["written_by"]["S"],
    )
