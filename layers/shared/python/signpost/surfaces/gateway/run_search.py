"""Lists runs and approval requests for gateway.search, and describes one of them for gateway.describe."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from signpost.model import RUN_ID_PREFIX, Call, CallToolResult, JsonObject, Principal
from signpost.search.ranking import DEFAULT_LIMIT
from signpost.signing.ciphers import TextCipher
from signpost.surfaces.gateway.item_answers import list_links
from signpost.surfaces.gateway.run_items import build_request_item, build_run_item
from signpost.surfaces.gateway.tool_specs import (
    PAGE,
    RUN,
    RUN_FILTERS,
    RUN_KINDS,
    SEARCH,
    build_error,
    build_result,
    link,
)
from signpost.workflow.engine.permissions import is_starter
from signpost.workflow.run_filter import RunFilter, split_query
from signpost.workflow.run_summary import WaitingFor
from signpost.workflow.running.run_finder import FoundPage, FoundRun, PageRequest, RunFinder

if TYPE_CHECKING:
    from signpost.ports import TimeFormat

CURSOR = "gateway.search#"
"""The purpose of cursors, followed by the kind: the positions of runs and of requests differ."""
INVALID_CURSOR = "This cursor is not valid for you and this kind. Search again without a cursor."
ONLY_FOR_RUNS = ("waiting", "fault", "mine")


class RunSearch:
    def __init__(self, finder: RunFinder, cipher: TextCipher, times: "TimeFormat") -> None:
        """`cipher` hides the positions in cursors: the last place that was looked at may be that of a hidden run."""
        self._finder = finder
        self._cipher = cipher
        self._times = times

    def search(self, arguments: JsonObject, call: Call) -> CallToolResult:
        """Return a page of the runs or approval requests that the arguments choose, newest first."""
        if (problem := _find_problem(arguments)) is not None:
            return build_error("INPUT_SCHEMA_VIOLATION", problem, list_links(RUN_KINDS))
        after = self._position(arguments, call.principal)
        if after is None:
            return build_error("INPUT_SCHEMA_VIOLATION", INVALID_CURSOR, list_links(RUN_KINDS))
        asked = PageRequest(call.principal, _filter_of(arguments), after, _limit_of(arguments))
        if arguments["kind"] == RUN:
            page = self._finder.list_runs(asked, mine=arguments.get("mine") is True)
        else:
            page = self._finder.list_requests(asked)
        return build_result(self._answer(page, arguments, call.principal))

    def describe(self, name: str, principal: Principal) -> JsonObject | None:
        """Describe the run or the open approval request of this id; None if the principal may see none."""
        find = self._finder.find_run if name.startswith(RUN_ID_PREFIX) else self._finder.find_request
        found = find(name, principal)
        return None if found is None else self._item(found, principal)

    def list_own(self, principal: Principal, limit: int) -> Sequence[JsonObject]:
        """Return the newest runs that the principal has started, as a search shows them."""
        page = self._finder.list_runs(PageRequest(principal, RunFilter(), "", limit), mine=True)
        return [self._item(run, principal) for run in page.found]

    def _position(self, arguments: JsonObject, principal: Principal) -> str | None:
        """Return the position behind which the page begins; None if the cursor was made for another list."""
        cursor = arguments.get("cursor")
        if not isinstance(cursor, str):
            return ""
        return self._cipher.decrypt(f"{CURSOR}{arguments.get('kind')}", cursor, principal)

    def _answer(self, page: FoundPage, arguments: JsonObject, principal: Principal) -> JsonObject:
        answer: JsonObject = {
            "results": [{"score": run.score, "item": self._item(run, principal)} for run in page.found]
        }
        if page.next_after is None:
            return answer
        cursor = self._cipher.encrypt(f"{CURSOR}{arguments['kind']}", page.next_after, principal)
        return {
            **answer,
            "nextCursor": cursor,
            "links": [link("next", SEARCH, **{**arguments, "cursor": cursor})],
        }

    def _item(self, found: FoundRun, principal: Principal) -> JsonObject:
        if found.request is not None:
            return build_request_item(found.summary, found.request, self._times)
        return build_run_item(found.summary, self._times, is_mine=is_starter(found.summary, principal))


def _find_problem(arguments: JsonObject) -> str | None:
    """Return a sentence about an argument that the kind does not have; None if there is none."""
    kind = arguments.get("kind")
    stray = [name for name in RUN_FILTERS if name in arguments]
    if kind not in RUN_KINDS:
        kinds = RUN if stray[0] in ONLY_FOR_RUNS else " or ".join(RUN_KINDS)
        return f"`{stray[0]}` is for the kind {kinds}. Leave it out, or search for that kind."
    wrong = [name for name in stray if name in ONLY_FOR_RUNS and kind != RUN]
    return f"`{wrong[0]}` is for the kind {RUN}, not for {kind}. Leave it out." if wrong else None


def _filter_of(arguments: JsonObject) -> RunFilter:
    state, definition, fault = (arguments.get(name) for name in ("state", "definition", "fault"))
    return RunFilter(
        state=state if isinstance(state, str) else None,
        definition=definition if isinstance(definition, str) else None,
        waiting=cast("WaitingFor | None", arguments.get("waiting")),
        fault=fault if isinstance(fault, bool) else None,
        words=split_query(str(arguments.get("query", ""))),
    )


def _limit_of(arguments: JsonObject) -> int:
    limit = arguments.get("limit", 0)
    return min(int(limit), PAGE) or DEFAULT_LIMIT if isinstance(limit, int | float) else DEFAULT_LIMIT
