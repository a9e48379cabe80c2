"""Cuts lists into pages. A cursor is sealed for its principal and its list; no other caller and no other list accepts
it."""

from collections.abc import Callable, Iterable, Sequence

from signpost.errors import INVALID_PARAMS, Rejection
from signpost.mcp.request import McpRequest
from signpost.mcp.results import Listing
from signpost.model import Json, JsonObject

PAGE_SIZE = 1000
LONGEST_PAGE = 900_000
"""Characters of a page."""

_INVALID_CURSOR = Rejection(
    INVALID_PARAMS, "This cursor is not valid for this caller and list. Request the list again without a cursor."
)


def build_page[Entry](
    request: McpRequest,
    name: str,
    entries: Sequence[Entry],
    key: Callable[[Entry], str],
    to_text: Callable[[Entry], str],
    of: str = "",
) -> Listing | Rejection:
    """Builds the page that follows the request's cursor, or the first page.

    `of` tells apart the lists of one method, such as the directories of `resources/directory/read`.
    """
    purpose = f"cursor:{request.surface.name}:{request.method}{of and f':{of}'}"
    start = _find_start(request, purpose, [key(entry) for entry in entries] if "cursor" in request.params else [])
    if isinstance(start, Rejection):
        return start
    texts = take_fitting(map(to_text, entries[start : start + PAGE_SIZE]))
    end = start + len(texts)
    other_fields: dict[str, Json] = {}
    if end < len(entries):
        payload: JsonObject = {"after": key(entries[end - 1]), "position": end}
        other_fields["nextCursor"] = request.services.sealer.seal(purpose, payload, request.call.principal)
    return Listing(name, texts, other_fields)


def take_fitting(texts: Iterable[str]) -> Sequence[str]:
    """Takes entries until the page is full, at least one, so that every page leads on. Later entries are not
    encoded."""
    fitting: list[str] = []
    room = LONGEST_PAGE
    for text in texts:
        room -= len(text)
        if fitting and room < 0:
            break
        fitting.append(text)
    return fitting


def _find_start(request: McpRequest, purpose: str, keys: Sequence[str]) -> int | Rejection:
    """The index after the last entry of the previous page, or that entry's former index if it has been removed."""
    cursor = request.params.get("cursor")
    if cursor is None:
        return 0
    opened = request.services.sealer.open(purpose, str(cursor), request.call.principal)
    match opened:
        case {"after": str(after), "position": int(position)} if isinstance(cursor, str):
            return find_position(keys, after, position)
        case _:
            return _INVALID_CURSOR


def find_position(keys: Sequence[str], after: str, position: int) -> int:
    """Returns the index after the last entry of the previous page, or that entry's former index if it is gone."""
    is_in_place = 0 < position <= len(keys) and keys[position - 1] == after
    return position if is_in_place or after not in keys else keys.index(after) + 1
