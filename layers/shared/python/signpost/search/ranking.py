"""The best of a catalogue for a query."""

import heapq
from collections.abc import Iterable, Sequence
from typing import Literal

from signpost.search.documents import Document
from signpost.search.fused import FusedIndex
from signpost.search.literal import WHOLE, LiteralIndex
from signpost.search.words import words

type Ranking = Literal["literal", "fused"]
type Hit = tuple[float, str]
"""Score and id."""

DEFAULT_LIMIT = 10


class Search:
    """One version of a catalogue. It is read at the first query, since most who load a catalogue do not search it."""

    def __init__(self, documents: Iterable[Document]) -> None:
        # In the order of ids, which for characters is that of their bytes, so that of equals the first come first.
        self._documents = sorted(documents, key=lambda document: document.id)
        self._literal: LiteralIndex | None = None
        self._fused: FusedIndex | None = None

    def find(
        self, query: str, *, ranking: Ranking = "literal", kind: str | None = None, limit: int = DEFAULT_LIMIT
    ) -> Sequence[Hit]:
        """Scores and ids."""
        hits = self.hits(query, ranking=ranking, kind=kind, limit=limit)
        return [(score, document.id) for score, document in hits]

    def hits(
        self, query: str, *, ranking: Ranking = "literal", kind: str | None = None, limit: int = DEFAULT_LIMIT
    ) -> Sequence[tuple[float, Document]]:
        """The best first, equals by id. A query without words finds everything, a limit of 0 is the default."""
        scores = self._index(ranking).scores(query) if words(query) else [WHOLE] * len(self._documents)
        found = (
            number
            for number, document in enumerate(self._documents)
            if scores[number] and (kind is None or document.kind == kind)
        )
        best = heapq.nlargest(limit or DEFAULT_LIMIT, found, key=scores.__getitem__)
        return [(scores[number] / WHOLE, self._documents[number]) for number in best]

    def _index(self, ranking: Ranking) -> LiteralIndex | FusedIndex:
        self._literal = literal = self._literal or LiteralIndex(self._documents)
        if ranking == "literal":
            return literal
        self._fused = fused = self._fused or FusedIndex(self._documents, literal)
        return fused
