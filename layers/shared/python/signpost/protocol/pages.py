"""Lists in pages, by cursors that only their holder can use, and only for the list they came from."""

from collections.abc import Callable, Sequence

from signpost.errors import INVALID_PARAMS, Rejection
from signpost.model import Json, JsonObject
from signpost.protocol.exchange import Exchange
from signpost.protocol.results import Listing

PAGE = 1000

_FOREIGN = Rejection(INVALID_PARAMS, "This cursor is not one of yours for this list. Begin again without one.")


def page[Entry](
    exchange: Exchange,
    name: str,
    entries: Sequence[Entry],
    key: Callable[[Entry], str],
    to_text: Callable[[Entry], str],
) -> Listing | Rejection:
    """The page after the one that the cursor of the request closed."""
    start = _start(exchange, [key(entry) for entry in entries] if "cursor" in exchange.params else [])
    if isinstance(start, Rejection):
        return start
    shown = entries[start : start + PAGE]
    beside: dict[str, Json] = {}
    if start + PAGE < len(entries):
        payload: JsonObject = {"after": key(shown[-1]), "position": start + PAGE}
        beside["nextCursor"] = exchange.services.sealer.seal(_purpose(exchange), payload, exchange.call.principal)
    return Listing(name, [to_text(entry) for entry in shown], beside)


def _start(exchange: Exchange, keys: Sequence[str]) -> int | Rejection:
    """After the entry the last page ended with; where it stood, if it is gone by now."""
    cursor = exchange.params.get("cursor")
    if cursor is None:
        return 0
    opened = exchange.services.sealer.open(_purpose(exchange), str(cursor), exchange.call.principal)
    match opened:
        case {"after": str(after), "position": int(position)} if isinstance(cursor, str):
            return keys.index(after) + 1 if after in keys else position
        case _:
            return _FOREIGN


def _purpose(exchange: Exchange) -> str:
    return f"cursor:{exchange.surface.name}:{exchange.method}"
