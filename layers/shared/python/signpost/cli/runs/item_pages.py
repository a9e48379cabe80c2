"""Reads lists of runs and of approval requests: through the endpoint of a gateway, as the person at the terminal, or
from the table of a stack, as its operator."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from signpost.adapters.clock import UtcTimeFormat
from signpost.cli import terminal
from signpost.cli.failure import CommandFailed
from signpost.model import Json, JsonObject, as_object
from signpost.records import dataclass
from signpost.surfaces.gateway.run_items import build_run_item
from signpost.workflow.running.run_finder import MOST_ROWS, FoundRun, take_page

if TYPE_CHECKING:
    from signpost.cli.mcp import RemoteTools
    from signpost.workflow.ports import ListedRun, RunLists
    from signpost.workflow.run_filter import RunFilter

LARGEST_PAGE = 200
"""Items that a gateway returns at most in one answer."""


@dataclass(frozen=True, slots=True)
class ItemPage:
    items: Sequence[JsonObject]
    cursor: str | None
    """Where the list goes on; None at its end."""


def fetch_items(tools: "RemoteTools", arguments: JsonObject, most: int | None, cursor: str | None) -> ItemPage:
    """Fetch at most `most` items, or all, with as many calls of `gateway.search` as that takes."""
    items: list[JsonObject] = []
    while most is None or len(items) < most:
        limit = LARGEST_PAGE if most is None else min(LARGEST_PAGE, most - len(items))
        page = _fetch_page(tools, {**arguments, "limit": limit, **({} if cursor is None else {"cursor": cursor})})
        items += page.items
        cursor = page.cursor
        if cursor is None:
            break
    return ItemPage(items, cursor)


def _fetch_page(tools: "RemoteTools", arguments: JsonObject) -> ItemPage:
    answer = tools.call("gateway.search", arguments)
    if error := as_object(answer.get("error")):
        raise CommandFailed(terminal.make_printable(str(error.get("message"))))
    results, cursor = answer.get("results"), answer.get("nextCursor")
    found: Sequence[Json] = results if isinstance(results, list) else ()
    return ItemPage(
        [as_object(as_object(result).get("item")) for result in found], cursor if isinstance(cursor, str) else None
    )


def read_runs(lists: "RunLists", tenant: str, chosen: "RunFilter", most: int, cursor: str | None) -> ItemPage:
    """Read runs of a tenant from the table, also those that `readers` hide. The cursor is the position of a run."""
    items: list[JsonObject] = []
    after: str | None = cursor or ""
    while after is not None and len(items) < most:
        page = lists.list_runs(tenant, None, after=after, most=MOST_ROWS)
        found = take_page(page, most - len(items), lambda run: run.position, lambda run: _choose(chosen, run))
        items += [build_run_item(run.summary, UtcTimeFormat(), is_mine=False) for run in found.found]
        after = found.next_after
    return ItemPage(items, after)


def _choose(chosen: "RunFilter", run: "ListedRun") -> FoundRun | None:
    score = chosen.score(run.summary)
    return FoundRun(score, run.summary) if score else None
