"""One request being answered: what was asked, in which era, by whom, of which surface."""

from collections.abc import Mapping
from dataclasses import replace

from signpost.errors import INVALID_PARAMS, Rejection
from signpost.model import LOG_LEVELS, Call, Client, Json, JsonObject, as_object
from signpost.protocol.eras import CLIENT_CAPABILITIES, Era
from signpost.protocol.services import Services
from signpost.protocol.surface import Surface
from signpost.records import dataclass

LOG_LEVEL = "io.modelcontextprotocol/logLevel"
CLIENT_TOKEN = "signpost/clientToken"  # noqa: S105 - it opens nothing
LONGEST_TOKEN = 1000
LEGACY_LOG_LEVEL = "info"
"""Older clients set a level once and for all, which nobody remembers here; they get what is worth reading."""


@dataclass(frozen=True, slots=True)
class Exchange:
    method: str
    params: JsonObject
    era: Era
    call: Call
    surface: Surface
    services: Services
    headers: Mapping[str, str]

    def resumed_with(self, answers: Mapping[str, Json], state: Json) -> "Exchange":
        return replace(self, call=replace(self.call, answers=answers, state=state))


def client_of(params: JsonObject, era: Era) -> Client | Rejection:
    """What this request says of its client, in the places of its era."""
    meta = as_object(params.get("_meta"))
    token = meta.get("progressToken")
    if token is not None and (isinstance(token, bool) or not isinstance(token, str | int)):
        return Rejection(INVALID_PARAMS, "The progressToken is a string or an integer.")
    own = meta.get(CLIENT_TOKEN)
    if own is not None and not (isinstance(own, str) and 0 < len(own) <= LONGEST_TOKEN):
        return Rejection(INVALID_PARAMS, f"{CLIENT_TOKEN} is a text of 1 to {LONGEST_TOKEN} characters.")
    if not era.modern:
        return Client(log_level=LEGACY_LOG_LEVEL, progress_token=token, token=own)
    level = meta.get(LOG_LEVEL)
    if level is not None and level not in LOG_LEVELS:
        return Rejection(INVALID_PARAMS, f"{LOG_LEVEL} is one of {', '.join(LOG_LEVELS)}.")
    return Client(
        capabilities=as_object(meta.get(CLIENT_CAPABILITIES)),
        log_level=level if isinstance(level, str) else None,
        progress_token=token,
        token=own,
    )
