"""Handles of a caller: values that functions keep between calls, under an id that the caller passes on."""

import base64
import json
import secrets as random_source
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

from signpost.calling.handles import (
    CREATE,
    DELETE,
    HANDLE_ID,
    HANDLE_KIND,
    LARGEST_VALUE,
    LIST,
    LONGEST_SECONDS,
    READ,
    SHORTEST_SECONDS,
    WRITE,
    ListedHandle,
)
from signpost.model import Json, JsonObject, as_object
from signpost.records import dataclass
from signpost.schema.limits import DEEPEST_VALUE, is_too_deep
from signpost.toolkit.answers import HandleChanged, HandleMissing, ToolError
from signpost.toolkit.json_text import NotJson, json_of, json_text
from signpost.toolkit.operations import Perform, make_token, perform_repeatedly
from signpost.toolkit.secrets import Secrets

if TYPE_CHECKING:
    from signpost.toolkit.context import Context

DEFAULT_SECONDS = 86_400.0
LONGEST_SHOWN_ID = 80


@dataclass(frozen=True, slots=True)
class HandleKind:
    """A kind of handles, which a toolkit declares once."""

    name: str
    """The beginning of the ids: small letters, digits and `-`."""
    expires_in: float = DEFAULT_SECONDS
    """The seconds for which a handle is kept."""
    sliding: bool = False
    """Whether each use begins this time anew."""
    schema: int = 1
    """The version of the form of the values, which the author counts."""
    made_by: str = ""
    """The tool that makes handles of this kind, for the sentence about a missing one."""
    upgrade: "Callable[[Json, int], object] | None" = None
    """Makes the value of this version out of one of an earlier version."""
    rebuild: "Callable[[str, Context], object] | None" = None
    """Called for an id without a handle. It returns a value to keep under the same id, another handle, or None."""


@dataclass(frozen=True, slots=True)
class Handle:
    """A handle as its functions see it."""

    id: str
    version: int
    """Counts the writes. A write names the version that it replaces."""
    value: Any
    """JSON, as the last write has made it."""
    expires_at: float
    """Seconds since the epoch."""
    kind: HandleKind


class HandleStore:
    """The handles of the caller of one call."""

    def __init__(self, perform: Perform, secrets: Secrets, context: "Context") -> None:
        self._perform = perform
        self._secrets = secrets
        self._context = context

    def create(self, kind: HandleKind | str, value: object, *, expires_in: float | None = None) -> Handle:
        """Keep a value under a new id. Raises ToolError for a value that is too large."""
        declared = _kind_of(kind)
        seconds = declared.expires_in if expires_in is None else expires_in
        return self._add(declared, _make_id(declared), value, seconds, is_rebuilt=False)

    def get(self, handle_id: str, kind: HandleKind | str) -> Handle:
        """Read a handle of the caller. Raises HandleMissing if there is none of this id and kind."""
        declared = _kind_of(kind)
        if not _is_id_of(declared, handle_id):
            raise _build_missing(declared, handle_id)
        found = self._send(READ, {"id": handle_id})
        if found.get("state") != "found":
            return self._rebuild(declared, handle_id)
        return _read_handle(declared, found)

    def put(self, handle: Handle, value: object, *, version: int | None = None) -> Handle:
        """Replace the value of a handle that still has the version that was read, or the given one. Raises
        HandleChanged, or HandleMissing."""
        expected = handle.version if version is None else version
        fields = {"id": handle.id, "version": expected, "schema": handle.kind.schema}
        found = self._send(WRITE, {**fields, "text": self._encode(handle.kind, value), "write": make_token()})
        match found.get("state"):
            case "found":
                return _read_handle(handle.kind, found)
            case "changed":
                message = (
                    f"The {handle.kind.name} {handle.id} was changed meanwhile: it has version {found.get('version')}, "
                    f"not {expected}. Read it again, and repeat the change."
                )
                raise HandleChanged(message, "transient_error", counts=False)
            case _:
                raise _build_missing(handle.kind, handle.id)

    def delete(self, handle: Handle | str) -> None:
        """Delete a handle of the caller, if there is one."""
        handle_id = handle.id if isinstance(handle, Handle) else handle
        if HANDLE_ID.fullmatch(handle_id):
            self._send(DELETE, {"id": handle_id})

    def list(self, kind: HandleKind | str) -> Sequence[ListedHandle]:
        """List the handles of a kind that the caller has, without their values; a hundred at most."""
        found = self._send(LIST, {"kind": _kind_of(kind).name}).get("handles", [])
        return [_read_entry(as_object(entry)) for entry in cast("Sequence[Json]", found)]

    def _rebuild(self, kind: HandleKind, handle_id: str) -> Handle:
        """Let the author rebuild or replace a missing handle. Raises HandleMissing, or what the author raises."""
        made = None if kind.rebuild is None else kind.rebuild(handle_id, self._context)
        if made is None:
            raise _build_missing(kind, handle_id)
        if isinstance(made, Handle):
            return made
        return self._add(kind, handle_id, made, kind.expires_in, is_rebuilt=True)

    def _add(self, kind: HandleKind, handle_id: str, value: object, seconds: float, *, is_rebuilt: bool) -> Handle:
        if not SHORTEST_SECONDS <= seconds <= LONGEST_SECONDS:
            raise ValueError(f"A handle is kept for {SHORTEST_SECONDS:.0f} to {LONGEST_SECONDS:.0f} seconds.")
        fields: JsonObject = {
            "id": handle_id,
            "text": self._encode(kind, value),
            "schema": kind.schema,
            "seconds": seconds,
            "sliding": kind.sliding,
            "rebuilt": is_rebuilt,
            "write": make_token(),
        }
        return _read_handle(kind, self._send(CREATE, fields))

    def _send(self, action: str, fields: JsonObject) -> JsonObject:
        return perform_repeatedly(self._perform, action, fields)

    def _encode(self, kind: HandleKind, value: object) -> str:
        try:
            text = json_text(value)
        except NotJson as fault:
            raise TypeError(f"The value of a {kind.name} is not JSON: {fault}") from fault
        if len(text) > LARGEST_VALUE:
            raise ToolError(
                f"The {kind.name} is too large to be kept: its JSON has {len(text)} characters, and {LARGEST_VALUE} "
                "are possible."
            )
        if is_too_deep(json.loads(text)):
            raise ToolError(f"The {kind.name} is nested too deeply to be kept: {DEEPEST_VALUE} levels are possible.")
        return self._secrets.mask_json(text) if self._secrets.has_read_any else text


def _kind_of(kind: HandleKind | str) -> HandleKind:
    declared = HandleKind(kind) if isinstance(kind, str) else kind
    if not HANDLE_KIND.fullmatch(declared.name):
        raise ValueError(f"{declared.name!r} is no kind of handles; it must match {HANDLE_KIND.pattern}.")
    return declared


def _make_id(kind: HandleKind) -> str:
    random_text = base64.b32encode(random_source.token_bytes(16)).decode().rstrip("=").lower()
    return f"{kind.name}_{random_text}"


def _is_id_of(kind: HandleKind, handle_id: object) -> bool:
    match = HANDLE_ID.fullmatch(handle_id) if isinstance(handle_id, str) else None
    return match is not None and match[1] == kind.name


def _read_handle(kind: HandleKind, found: JsonObject) -> Handle:
    """Make a handle of an answer of the gateway. Raises HandleMissing if its value has a form that this release of the
    toolkit cannot read."""
    handle_id, schema = str(found["id"]), int(cast("float", found["schema"]))
    value: Json = json.loads(str(found["text"]))
    if schema != kind.schema:
        if schema > kind.schema or kind.upgrade is None:
            raise _build_missing(kind, handle_id)
        value = json_of(kind.upgrade(value, schema))
    return Handle(
        handle_id, int(cast("float", found["version"])), value, float(cast("float", found["expiresAt"])), kind
    )


def _read_entry(entry: JsonObject) -> ListedHandle:
    version, expires_at = cast("float", entry["version"]), cast("float", entry["expiresAt"])
    return ListedHandle(str(entry["id"]), int(version), float(expires_at))


def _build_missing(kind: HandleKind, handle_id: object) -> HandleMissing:
    """Build the error for a handle that does not exist. It is the same for one that has expired, belongs to another
    caller or has another kind."""
    shown = repr(handle_id)[:LONGEST_SHOWN_ID]
    way_out = f"Call `{kind.made_by}` to make a new one" if kind.made_by else f"Make a new {kind.name}"
    return HandleMissing(
        f"You have no {kind.name} {shown}: it does not exist, or it has expired. {way_out}, and use its id from now on."
    )
