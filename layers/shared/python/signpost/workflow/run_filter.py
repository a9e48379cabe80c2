"""Chooses the entries of lists of runs by their fields and by words."""

import re
from collections.abc import Sequence

from signpost.records import dataclass
from signpost.search.words import drop_stop_words
from signpost.workflow.run_summary import RunSummary, WaitingFor

_WORD = re.compile(r"\w(?:[\w.:-]*\w)?")
"""A word of a query. Ids and names of states are one word each."""


@dataclass(frozen=True, slots=True)
class RunFilter:
    """The runs that a caller asks for. A field that is None chooses nothing."""

    state: str | None = None
    definition: str | None = None
    """The id of a workflow, or of the capability that a run was started for."""
    waiting: WaitingFor | None = None
    fault: bool | None = None
    words: Sequence[str] = ()
    """Words in lower case, of which at least one has to occur."""

    @property
    def chooses_all(self) -> bool:
        return self == RunFilter()

    def score(self, summary: RunSummary, *more: str) -> float:
        """Return the share of the words that occur in the names of the run, or in `more`; 0 if it is not chosen."""
        if not self._has_fields_of(summary):
            return 0.0
        texts = (summary.workflow_id, summary.definition_id, summary.capability, summary.title, summary.state, *more)
        text = "\n".join(texts).lower()
        return sum(word in text for word in self.words) / len(self.words) if self.words else 1.0

    def _has_fields_of(self, summary: RunSummary) -> bool:
        return (
            self.state in (None, summary.state)
            and self.definition in (None, summary.definition_id, summary.capability or None)
            and self.waiting in (None, summary.waiting)
            and self.fault in (None, bool(summary.fault))
        )


def split_query(query: str) -> Sequence[str]:
    """Split a query into the words of a filter, without stop words."""
    return tuple(drop_stop_words(_WORD.findall(query.lower())))
