"""The parts of the contract on the wire that concern the client of a call: the client itself, and notices for it."""

from collections.abc import Mapping, Sequence

from signpost.calling.wire_fields import (
    MalformedMessage,
    number_in,
    object_in,
    objects_in,
    optional_object_in,
    optional_text_in,
    text_in,
)
from signpost.contract import CallClient
from signpost.model import LOG_LEVELS, Json, JsonObject, LogNotice, Notice, ProgressNotice, as_object
from signpost.schema.limits import is_too_deep


def client_object(client: CallClient) -> JsonObject:
    """Build the member `client` of a call. Members with their default are left out."""
    members: Mapping[str, Json] = {
        "capabilities": client.capabilities or None,
        "info": client.info or None,
        "canAnswer": client.can_answer or None,
        "wantsProgress": client.wants_progress or None,
        "logLevel": client.log_level,
        "thread": client.thread or None,
    }
    return {name: value for name, value in members.items() if value is not None}


def client_of(fields: JsonObject | None) -> CallClient | None:
    """Read the client of a call; None if the call has none. Raises MalformedMessage."""
    if fields is None:
        return None
    return CallClient(
        capabilities=optional_object_in(fields, "capabilities") or {},
        info=optional_object_in(fields, "info") or {},
        can_answer=fields.get("canAnswer") is True,
        wants_progress=fields.get("wantsProgress") is True,
        log_level=optional_text_in(fields, "logLevel"),
        thread=optional_text_in(fields, "thread") or "",
    )


def notice_objects(notices: Sequence[Notice]) -> Sequence[JsonObject]:
    return [_notice_object(notice) for notice in notices]


def _notice_object(notice: Notice) -> JsonObject:
    match notice:
        case ProgressNotice(done, total, message):
            members: Mapping[str, Json] = {"done": done, "total": total, "message": message or None}
            return {"progress": {name: value for name, value in members.items() if value is not None}}
        case LogNotice(level, data):
            return {"log": {"level": level, "data": data}}


def notices_in(message: JsonObject) -> Sequence[Notice]:
    """Read the notices of a reply. Raises MalformedMessage."""
    return tuple(_notice_of(fields) for fields in objects_in(message, "notices"))


def _notice_of(fields: JsonObject) -> Notice:
    if "progress" in fields:
        progress = object_in(fields, "progress")
        total = number_in(progress, "total") if progress.get("total") is not None else None
        return ProgressNotice(number_in(progress, "done"), total, optional_text_in(progress, "message") or "")
    log = as_object(fields.get("log"))
    level = text_in(log, "level")
    if level not in LOG_LEVELS:
        raise MalformedMessage("a notice has an unknown level")
    if is_too_deep(log):
        raise MalformedMessage("a notice is nested too deeply")
    return LogNotice(level, log.get("data"))
