"""Which revision of the protocol a request speaks.

There are no sessions: every request says it anew, the modern ones in `params._meta`, the older ones in a
header, and the oldest not at all. A new revision is a row here.
"""

from signpost.errors import INVALID_PARAMS, VERSION_UNSUPPORTED, Rejection
from signpost.model import JsonObject, as_object
from signpost.protocol.messages import Message
from signpost.records import dataclass

MODERN = ("2026-07-28",)
LEGACY = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
NEWEST_LEGACY = LEGACY[0]
ASSUMED = "2025-03-26"
"""The revision of a request that names none."""
WITH_BATCHES = ("2025-03-26", "2024-11-05")

PROTOCOL_VERSION = "io.modelcontextprotocol/protocolVersion"
CLIENT_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"


@dataclass(frozen=True, slots=True)
class Era:
    version: str
    modern: bool

    def has(self, since: str) -> bool:
        """Revisions are dates, so the order of their names is the order of their time."""
        return self.version >= since


def era_of(message: Message, header: str | None) -> Era | Rejection:
    """The era, or why a modern request's envelope is not complete."""
    meta = as_object(message.params.get("_meta"))
    if PROTOCOL_VERSION not in meta and (header is None or header in LEGACY):
        return Era(header or ASSUMED, modern=False)
    claimed = meta.get(PROTOCOL_VERSION)
    if not isinstance(claimed, str):
        return Rejection(INVALID_PARAMS, f"params._meta must carry {PROTOCOL_VERSION}.")
    if not isinstance(meta.get(CLIENT_CAPABILITIES), dict):
        return Rejection(INVALID_PARAMS, f"params._meta must carry {CLIENT_CAPABILITIES}, an object.")
    return Era(claimed, modern=True)


def unsupported(era: Era) -> Rejection | None:
    if not era.modern or era.version in MODERN:
        return None
    data: JsonObject = {"supported": list(MODERN), "requested": era.version}
    return Rejection(VERSION_UNSUPPORTED, "This version of the protocol is not supported.", data)
