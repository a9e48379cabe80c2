"""An MCP request while it is answered: method, params, revision, caller and surface."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from signpost.errors import INVALID_PARAMS, Rejection
from signpost.mcp.revisions import CLIENT_CAPABILITIES, CLIENT_INFO, ProtocolRevision
from signpost.mcp.services import McpServices
from signpost.mcp.surface import TASKS, Surface
from signpost.model import LOG_LEVELS, Call, Client, JsonObject, as_object
from signpost.records import dataclass

if TYPE_CHECKING:
    from signpost.mcp.rounds import Rounds

LOG_LEVEL = "io.modelcontextprotocol/logLevel"
CLIENT_TOKEN = "signpost/clientToken"  # noqa: S105 - the name of a field, not a secret
LONGEST_TOKEN = 1000
LEGACY_LOG_LEVEL = "info"
"""The level for legacy clients. They set a level once per session, and the gateway keeps no sessions."""


@dataclass(frozen=True, slots=True)
class McpRequest:
    method: str
    params: JsonObject
    revision: ProtocolRevision
    call: Call
    surface: Surface
    services: McpServices
    headers: Mapping[str, str]
    rounds: "Rounds | None" = None
    """What was asked and answered before, if this is not the first attempt."""

    @property
    def server_info(self) -> JsonObject:
        """The server as results name it in their `_meta`."""
        return self.services.server.load_last(self.call.principal.tenant).info

    def with_arguments(self, arguments: JsonObject) -> "McpRequest":
        """Returns the request with its arguments as they are used, which is the form that sealed state is bound to."""
        return replace(self, params={**self.params, "arguments": arguments})

    def with_rounds(self, rounds: "Rounds") -> "McpRequest":
        """Returns the request with what was asked and answered in its rounds before."""
        call = replace(self.call, answers=rounds.answers, state=rounds.state, thread=rounds.thread)
        return replace(self, call=call, rounds=rounds)


def parse_client(params: JsonObject, revision: ProtocolRevision) -> Client | Rejection:
    """Parses the client's capabilities, log level and tokens from the fields that the revision uses for them."""
    meta = as_object(params.get("_meta"))
    progress_token = meta.get("progressToken")
    if progress_token is not None and (isinstance(progress_token, bool) or not isinstance(progress_token, str | int)):
        return Rejection(INVALID_PARAMS, "The progressToken must be a string or an integer.")
    client_token = meta.get(CLIENT_TOKEN)
    if client_token is not None and not (isinstance(client_token, str) and 0 < len(client_token) <= LONGEST_TOKEN):
        return Rejection(INVALID_PARAMS, f"{CLIENT_TOKEN} must be a text of 1 to {LONGEST_TOKEN} characters.")
    if not revision.is_modern:
        return Client(log_level=LEGACY_LOG_LEVEL, progress_token=progress_token, token=client_token)
    level = meta.get(LOG_LEVEL)
    if level is not None and level not in LOG_LEVELS:
        return Rejection(INVALID_PARAMS, f"{LOG_LEVEL} must be one of {', '.join(LOG_LEVELS)}.")
    capabilities = as_object(meta.get(CLIENT_CAPABILITIES))
    return Client(
        capabilities=capabilities,
        info=as_object(meta.get(CLIENT_INFO)),
        can_answer=True,
        follows_tasks=isinstance(as_object(capabilities.get("extensions")).get(TASKS), Mapping),
        log_level=level if isinstance(level, str) else None,
        progress_token=progress_token,
        token=client_token,
    )
