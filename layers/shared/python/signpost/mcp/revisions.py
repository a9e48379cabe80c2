"""The protocol revision that a request speaks.

There are no sessions, so every request names its revision: modern ones in `params._meta`, older ones in a header, the
oldest not at all. A new revision is a row here.
"""

from signpost.errors import INVALID_PARAMS, VERSION_UNSUPPORTED, Rejection
from signpost.mcp.messages import JsonRpcMessage
from signpost.model import JsonObject, as_object
from signpost.records import dataclass

MODERN_VERSIONS = ("2026-07-28",)
LEGACY_VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
NEWEST_LEGACY_VERSION = LEGACY_VERSIONS[0]
ASSUMED_VERSION = "2025-03-26"
"""The revision of a request that names none."""
BATCH_VERSIONS = ("2025-03-26", "2024-11-05")

PROTOCOL_VERSION = "io.modelcontextprotocol/protocolVersion"
CLIENT_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
CLIENT_INFO = "io.modelcontextprotocol/clientInfo"


@dataclass(frozen=True, slots=True)
class ProtocolRevision:
    version: str
    is_modern: bool

    def is_since(self, since: str) -> bool:
        """Whether this revision is `since` or later. Revisions are dates, so their names sort by time."""
        return self.version >= since


def parse_revision(message: JsonRpcMessage, header: str | None) -> ProtocolRevision | Rejection:
    """Returns the revision of the request, or a rejection if a modern request's envelope is not complete."""
    meta = as_object(message.params.get("_meta"))
    if PROTOCOL_VERSION not in meta and (header is None or header in LEGACY_VERSIONS):
        return ProtocolRevision(header or ASSUMED_VERSION, is_modern=False)
    claimed = meta.get(PROTOCOL_VERSION)
    if not isinstance(claimed, str):
        return Rejection(INVALID_PARAMS, f"params._meta must carry {PROTOCOL_VERSION}.")
    if not isinstance(meta.get(CLIENT_CAPABILITIES), dict):
        return Rejection(INVALID_PARAMS, f"params._meta must carry {CLIENT_CAPABILITIES}, an object.")
    return ProtocolRevision(claimed, is_modern=True)


def find_version_fault(revision: ProtocolRevision) -> Rejection | None:
    if not revision.is_modern or revision.version in MODERN_VERSIONS:
        return None
    data: JsonObject = {"supported": list(MODERN_VERSIONS), "requested": revision.version}
    return Rejection(VERSION_UNSUPPORTED, "This version of the protocol is not supported.", data)
