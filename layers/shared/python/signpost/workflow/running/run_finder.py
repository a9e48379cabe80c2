"""Finds the runs that a principal may see, and the approval requests that wait for it or that it has asked for."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from signpost.model import Principal
from signpost.records import dataclass
from signpost.workflow.engine.permissions import is_starter
from signpost.workflow.instance import ApprovalRequest
from signpost.workflow.ports import ListedRequest, ListedRun, ListPage
from signpost.workflow.run_filter import RunFilter
from signpost.workflow.run_summary import RunSummary, starter_key
from signpost.workflow.running.service import WorkflowRefusal, Workflows
from signpost.workflow.running.summaries import build_summary, has_asked, may_decide, may_see

if TYPE_CHECKING:
    from signpost.ports import Clock
    from signpost.workflow.ports import DefinitionSource, RunLists

_REQUEST_ID = re.compile(r"hr_[A-Za-z0-9]{1,64}")
FEWEST_ROWS, MOST_ROWS = 100, 500
"""Rows that the query of a page reads: few if every row is asked for, many if a filter drops most of them."""


@dataclass(frozen=True, slots=True)
class PageRequest:
    """The page of a list that a principal asks for."""

    principal: Principal
    chosen: RunFilter
    after: str
    """The position behind which the page begins; empty for the first page."""
    limit: int

    @property
    def rows(self) -> int:
        return max(self.limit + 1, FEWEST_ROWS) if self.chosen.chooses_all else MOST_ROWS


@dataclass(frozen=True, slots=True)
class FoundRun:
    score: float
    summary: RunSummary
    request: ApprovalRequest | None = None
    """The open approval request, in a list of requests."""


@dataclass(frozen=True, slots=True)
class FoundPage:
    found: Sequence[FoundRun]
    next_after: str | None
    """The position behind which the next page begins; None if there is no other page."""


class RunFinder:
    def __init__(
        self, *, lists: "RunLists", workflows: Workflows, definitions: "DefinitionSource", clock: "Clock"
    ) -> None:
        self._lists = lists
        self._workflows = workflows
        self._definitions = definitions
        self._clock = clock

    def list_runs(self, asked: PageRequest, *, mine: bool) -> FoundPage:
        """Return a page of the runs that the principal may see, or of those among them that it has started."""
        principal = asked.principal
        starter = starter_key(principal.issuer, principal.subject) if mine else None
        page = self._lists.list_runs(principal.tenant, starter, after=asked.after, most=asked.rows)

        def find(entry: ListedRun) -> FoundRun | None:
            is_found = may_see(entry.summary, principal) and self._may_find(entry.summary, principal)
            return _choose(asked.chosen, FoundRun(1.0, entry.summary)) if is_found else None

        return take_page(page, asked.limit, lambda entry: entry.position, find)

    def list_requests(self, asked: PageRequest) -> FoundPage:
        """Return a page of the open approval requests that the principal may answer, or has asked for."""
        principal = asked.principal
        page = self._lists.list_requests(principal.tenant, after=asked.after, most=asked.rows)

        def find(entry: ListedRequest) -> FoundRun | None:
            found = self._find_listed(entry, principal)
            if found is None or not _concerns(found.summary, entry.approval.request, principal):
                return None
            return _choose(asked.chosen, found)

        return take_page(page, asked.limit, lambda entry: entry.position, find)

    def find_run(self, workflow_id: str, principal: Principal) -> FoundRun | None:
        loaded = self._workflows.load_visible(workflow_id, principal)
        if isinstance(loaded, WorkflowRefusal):
            return None
        summary = build_summary(loaded.definition, loaded.instance, self._clock.now())
        return FoundRun(1.0, summary) if self._may_find(summary, principal) else None

    def find_request(self, request_id: str, principal: Principal) -> FoundRun | None:
        """Find an open approval request of a run that the principal may see."""
        is_an_id = _REQUEST_ID.fullmatch(request_id) is not None  # no other text can be the key of a row
        entry = self._lists.find_request(principal.tenant, request_id) if is_an_id else None
        return None if entry is None else self._find_listed(entry, principal)

    def _find_listed(self, entry: ListedRequest, principal: Principal) -> FoundRun | None:
        """Find the run of a request. If an earlier release wrote the row, the run itself is read."""
        if entry.summary is None:
            run = self.find_run(entry.approval.workflow_id, principal)
            return None if run is None else replace(run, request=entry.approval.request)
        is_found = may_see(entry.summary, principal) and self._may_find(entry.summary, principal)
        return FoundRun(1.0, entry.summary, entry.approval.request) if is_found else None

    def _may_find(self, summary: RunSummary, principal: Principal) -> bool:
        """Return whether policy lets the principal find the run.

        Rules restrict starts. So the starter finds the run even if a later rule denies the workflow, and a person who
        may answer its request needs no right to start it."""
        is_concerned = is_starter(summary, principal) or may_decide(summary, principal)
        return is_concerned or self._definitions.may_find(principal, summary)


def _concerns(summary: RunSummary, request: ApprovalRequest, principal: Principal) -> bool:
    return may_decide(summary, principal) or has_asked(summary, request, principal)


def _choose(chosen: RunFilter, found: FoundRun) -> FoundRun | None:
    request = found.request
    score = chosen.score(found.summary, *(() if request is None else (request.id, request.queue)))
    return replace(found, score=score) if score else None


def take_page[Entry](
    page: ListPage[Entry],
    limit: int,
    position_of: Callable[[Entry], str],
    find: Callable[[Entry], FoundRun | None],
) -> FoundPage:
    """Take the first entries that are found. The next page begins behind the last entry that was looked at."""
    found: list[FoundRun] = []
    after = ""
    for entry in page.entries:
        if len(found) == limit:
            return FoundPage(found, after)
        after = position_of(entry)
        if (chosen := find(entry)) is not None:
            found.append(chosen)
    return FoundPage(found, None if page.is_last else after or None)
