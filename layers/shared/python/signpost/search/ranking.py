"""Finds the best matches of a query in a catalogue."""

import heapq
from collections.abc import Iterable, Sequence
from typing import Literal

from signpost.search.documents import SearchDocument
from signpost.search.fused import FusedIndex
from signpost.search.literal import FULL_SCORE, LiteralIndex
from signpost.search.occurrences import find_words
from signpost.search.words import split_words

type Ranking = Literal["literal", "fused"]
type SearchHit = tuple[float, str]
"""A score and an id."""

DEFAULT_LIMIT = 10


class CatalogueSearch:
    """The search index of one version of a catalogue. It is built at the first query, since most loads of a catalogue
    serve no search."""

    def __init__(self, documents: Iterable[SearchDocument]) -> None:
        # So that equal scores are ordered by place, and then by the bytes of the id.
        self._documents = sorted(documents, key=lambda document: (document.place, document.id))
        self._literal: LiteralIndex | None = None
        self._fused: FusedIndex | None = None

    def find(
        self, query: str, *, ranking: Ranking = "literal", kind: str | None = None, limit: int = DEFAULT_LIMIT
    ) -> Sequence[SearchHit]:
        """Finds the scores and ids of the best matches."""
        hits = self.hits(query, ranking=ranking, kind=kind, limit=limit)
        return [(score, document.id) for score, document in hits]

    def hits(
        self, query: str, *, ranking: Ranking = "literal", kind: str | None = None, limit: int = DEFAULT_LIMIT
    ) -> Sequence[tuple[float, SearchDocument]]:
        """Finds the best matches, best first, and equal ones by place and id.

        A query without words matches every document. A limit of 0 means the default.
        """
        scores = self._index(ranking).scores(query) if split_words(query) else [FULL_SCORE] * len(self._documents)
        matches = (
            number
            for number, document in enumerate(self._documents)
            if scores[number] and (kind is None or document.kind == kind)
        )
        best = heapq.nlargest(limit or DEFAULT_LIMIT, matches, key=scores.__getitem__)
        return [(scores[number] / FULL_SCORE, self._documents[number]) for number in best]

    def _index(self, ranking: Ranking) -> LiteralIndex | FusedIndex:
        index = self._literal if ranking == "literal" else self._fused
        return index or self._build_index(ranking)

    def _build_index(self, ranking: Ranking) -> LiteralIndex | FusedIndex:
        words = find_words(self._documents)
        self._literal = literal = self._literal or LiteralIndex(words)
        if ranking == "literal":
            return literal
        self._fused = FusedIndex(words, literal)
        return self._fused
