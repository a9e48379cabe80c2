"""Lists in pages, by cursors that only their holder can use, and only for the list they came from."""

from collections.abc import Callable, Iterable, Sequence

from signpost.errors import INVALID_PARAMS, Rejection
from signpost.model import Json, JsonObject
from signpost.protocol.exchange import Exchange
from signpost.protocol.results import Listing

PAGE = 1000
LONGEST_PAGE = 900_000
"""Characters."""

_FOREIGN = Rejection(INVALID_PARAMS, "This cursor is not one of yours for this list. Begin again without one.")


def page[Entry](
    exchange: Exchange,
    name: str,
    entries: Sequence[Entry],
    key: Callable[[Entry], str],
    to_text: Callable[[Entry], str],
    of: str = "",
) -> Listing | Rejection:
    """The page after the one that the cursor of the request closed. `of` tells lists of one method apart."""
    purpose = f"cursor:{exchange.surface.name}:{exchange.method}{of and f':{of}'}"
    start = _start(exchange, purpose, [key(entry) for entry in entries] if "cursor" in exchange.params else [])
    if isinstance(start, Rejection):
        return start
    texts = _that_fit(map(to_text, entries[start : start + PAGE]))
    end = start + len(texts)
    beside: dict[str, Json] = {}
    if end < len(entries):
        payload: JsonObject = {"after": key(entries[end - 1]), "position": end}
        beside["nextCursor"] = exchange.services.sealer.seal(purpose, payload, exchange.call.principal)
    return Listing(name, texts, beside)


def _that_fit(texts: Iterable[str]) -> Sequence[str]:
    """At least one, so that every page leads on. What does not fit is not even made."""
    fitting: list[str] = []
    room = LONGEST_PAGE
    for text in texts:
        room -= len(text)
        if fitting and room < 0:
            break
        fitting.append(text)
    return fitting


def _start(exchange: Exchange, purpose: str, keys: Sequence[str]) -> int | Rejection:
    """After the entry the last page ended with; where it stood, if it is gone by now."""
    cursor = exchange.params.get("cursor")
    if cursor is None:
        return 0
    opened = exchange.services.sealer.open(purpose, str(cursor), exchange.call.principal)
    match opened:
        case {"after": str(after), "position": int(position)} if isinstance(cursor, str):
            stands = 0 < position <= len(keys) and keys[position - 1] == after
            return position if stands or after not in keys else keys.index(after) + 1
        case _:
            return _FOREIGN
