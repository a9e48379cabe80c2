"""The context operations of `ctx.handles`.

Executors choose the ids of handles and the texts by which they recognise their writes, so that an operation can be sent
again after a lost answer. Owner and scope are those of the grant.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from signpost.calling.context_operations import ContextAction
from signpost.calling.failures import failure
from signpost.calling.handles import (
    CREATE,
    DELETE,
    HANDLE_ID,
    HANDLE_KIND,
    LARGEST_VALUE,
    LIST,
    LONGEST_SECONDS,
    MOST_LISTED,
    READ,
    SHORTEST_SECONDS,
    WRITE,
    HandleOwner,
    StoredHandle,
    find_extension,
    is_live,
    owner_of,
)
from signpost.calling.wire_fields import MalformedMessage, number_in, text_in
from signpost.contract import CallReply, Result
from signpost.model import JsonObject
from signpost.signing.capability_tokens import CapabilityGrant
from signpost.strict_json import is_encodable, is_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from signpost.calling.ports import Handles
    from signpost.ports import Clock

MISSING: JsonObject = {"state": "missing"}
LONGEST_WRITE = 64
LARGEST_SCHEMA = 1_000_000


class HandleActions:
    """Performs the context operations of `ctx.handles`."""

    def __init__(self, handles: "Handles", clock: "Clock") -> None:
        self._handles = handles
        self._clock = clock

    @property
    def actions(self) -> Mapping[str, ContextAction]:
        actions = {
            CREATE: self._create,
            READ: self._read,
            WRITE: self._write,
            DELETE: self._delete,
            LIST: self._list,
        }
        return {name: _refusing(action) for name, action in actions.items()}

    def _create(self, owner: HandleOwner, fields: JsonObject) -> JsonObject:
        """Add a handle. One that is rebuilt under its former id gets a version that the former one never had, so that a
        writer that has read the former one is refused."""
        now, seconds = self._clock.now(), _seconds_in(fields)
        handle = StoredHandle(
            id=_id_in(fields),
            version=int(now * 1000) if fields.get("rebuilt") is True else 1,
            text=_value_in(fields),
            schema=_integer_in(fields, "schema", LARGEST_SCHEMA),
            seconds=seconds,
            is_sliding=fields.get("sliding") is True,
            expires_at=now + seconds,
            write=_write_in(fields),
        )
        return _describe(self._handles.add(owner, handle, now))

    def _read(self, owner: HandleOwner, fields: JsonObject) -> JsonObject:
        now, handle = self._clock.now(), self._handles.read(owner, _id_in(fields))
        if handle is None or not is_live(handle, now):
            return MISSING
        extended = find_extension(handle, now)
        if extended is None:
            return _describe(handle)
        written = self._handles.replace(owner, replace(handle, expires_at=extended), handle.version, now)
        return _describe(handle if written is None else written)

    def _write(self, owner: HandleOwner, fields: JsonObject) -> JsonObject:
        now, version, write = self._clock.now(), _integer_in(fields, "version"), _write_in(fields)
        text, schema = _value_in(fields), _integer_in(fields, "schema", LARGEST_SCHEMA)
        standing = self._handles.read(owner, _id_in(fields))
        if standing is not None and is_live(standing, now) and standing.version == version:
            expires_at = now + standing.seconds if standing.is_sliding else standing.expires_at
            following = replace(
                standing, version=version + 1, text=text, schema=schema, expires_at=expires_at, write=write
            )
            standing = self._handles.replace(owner, following, version, now)
        if standing is None or not is_live(standing, now):
            return MISSING
        return _describe(standing) if standing.write == write else {"state": "changed", "version": standing.version}

    def _delete(self, owner: HandleOwner, fields: JsonObject) -> JsonObject:
        self._handles.remove(owner, _id_in(fields))
        return {"state": "deleted"}

    def _list(self, owner: HandleOwner, fields: JsonObject) -> JsonObject:
        kind = text_in(fields, "kind")
        if not HANDLE_KIND.fullmatch(kind):
            raise MalformedMessage("kind is no kind of handles")
        listed = self._handles.list(owner, f"{kind}_", self._clock.now(), MOST_LISTED)
        return {"handles": [{"id": one.id, "version": one.version, "expiresAt": one.expires_at} for one in listed]}


def _refusing(action: "Callable[[HandleOwner, JsonObject], JsonObject]") -> ContextAction:
    """Make a context action, which answers fields that it does not accept with a failure."""

    def perform(grant: CapabilityGrant, fields: JsonObject) -> CallReply:
        try:
            return Result(action(owner_of(grant), fields))
        except MalformedMessage as fault:
            message = f"This operation of ctx.handles was refused: {fault}."
            return failure("not_understood", "the gateway", message=message)

    return perform


def _describe(handle: StoredHandle) -> JsonObject:
    return {
        "state": "found",
        "id": handle.id,
        "version": handle.version,
        "text": handle.text,
        "schema": handle.schema,
        "expiresAt": handle.expires_at,
    }


def _id_in(fields: JsonObject) -> str:
    handle_id = text_in(fields, "id")
    if not HANDLE_ID.fullmatch(handle_id):
        raise MalformedMessage("id is no id of a handle")
    return handle_id


def _value_in(fields: JsonObject) -> str:
    text = text_in(fields, "text")
    if len(text) > LARGEST_VALUE:
        raise MalformedMessage(f"text has more than {LARGEST_VALUE} characters")
    if not is_encodable(text) or not is_json(text):
        raise MalformedMessage("text is no JSON")
    return text


def _write_in(fields: JsonObject) -> str:
    write = text_in(fields, "write")
    if not 0 < len(write) <= LONGEST_WRITE or not is_encodable(write):
        raise MalformedMessage(f"write must be a text of 1 to {LONGEST_WRITE} characters")
    return write


def _seconds_in(fields: JsonObject) -> float:
    seconds = number_in(fields, "seconds")
    if not SHORTEST_SECONDS <= seconds <= LONGEST_SECONDS:
        raise MalformedMessage(f"seconds must be {SHORTEST_SECONDS:.0f} to {LONGEST_SECONDS:.0f}")
    return seconds


def _integer_in(fields: JsonObject, name: str, largest: int = 10**15) -> int:
    number = number_in(fields, name)
    if number != int(number) or not 0 <= number <= largest:
        raise MalformedMessage(f"{name} must be a whole number of 0 to {largest}")
    return int(number)
