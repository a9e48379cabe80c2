"""A stronger ranking: by words, by spelling, and a little by the literal rule, each relative to its best.

By words a rare one counts for more than a common one, and a long description for no more than a short one. Spelling
finds what no stem has in common. The literal rule finds any part of a word, and whatever it finds is found here.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from signpost.search.documents import Document
from signpost.search.literal import WHOLE, LiteralIndex
from signpost.search.stems import Occurrences, Reading, Stems, read
from signpost.search.trigrams import bearers, trigrams

BY_WORDS, BY_SPELLING, BY_RULE = 0.45, 0.45, 0.1
SATURATION, LENGTH_PENALTY = 1.2, 0.75
"""BM25's k1 and b as textbooks have them."""
SIMILAR = 0.2
"""Cosine above which another spelling counts."""


class FusedIndex:
    def __init__(self, documents: Sequence[Document], literal: LiteralIndex) -> None:
        reading = read(documents)
        self._words = _Words(reading)
        self._spelling = _Spelling(reading.occurrences, len(documents))
        self._literal = literal

    def scores(self, query: str) -> Sequence[int]:
        """By document, in millionths of the best there could be."""
        stems = tuple(dict.fromkeys(Stems().of(query)))
        words, spelling, rule = self._words.scores(stems), self._spelling.scores(stems), self._literal.scores(query)
        a, b, c = _share(BY_WORDS, words), _share(BY_SPELLING, spelling), _share(BY_RULE, rule)
        # A word in common is a spelling in common, so where neither of the other two says anything nothing does.
        return [
            int(a * word + b * spelt + c * ruled + 0.5) if spelt or ruled else 0
            for word, spelt, ruled in zip(words, spelling, rule, strict=True)
        ]


def _share(weight: float, scores: Sequence[float]) -> float:
    return weight * WHOLE / (max(scores, default=0) or 1)


class _Words:
    """BM25 over stems."""

    def __init__(self, reading: Reading) -> None:
        lengths = reading.lengths
        average = sum(lengths) / (len(lengths) or 1) or 1
        self._occurrences = reading.occurrences
        self._brakes = [SATURATION * (1 - LENGTH_PENALTY + LENGTH_PENALTY * length / average) for length in lengths]

    def scores(self, stems: Iterable[str]) -> Sequence[float]:
        brakes = self._brakes
        totals = [0.0] * len(brakes)
        for stem in stems:
            found = self._occurrences.get(stem, {})
            rarity = math.log(1 + (len(brakes) - len(found) + 0.5) / (len(found) + 0.5))
            for document, count in found.items():
                totals[document] += rarity * count / (count + brakes[document])
        return totals


class _Spelling:
    """The cosine of trigrams, taken stem by stem, so that only stems that resemble the query's have to be looked at."""

    def __init__(self, occurrences: Occurrences, size: int) -> None:
        self._occurrences = occurrences
        self._trigrams = {stem: trigrams(_bounded(stem)) for stem in occurrences}
        self._bearers = bearers(self._trigrams)
        self._rarities = {
            trigram: math.log(1 + size / sum(len(occurrences[stem]) for stem in stems)) ** 2
            for trigram, stems in self._bearers.items()
        }
        self._unknown = math.log(1 + size) ** 2
        self._norms = {stem: self._norm(found) for stem, found in self._trigrams.items()}
        most = max(chain.from_iterable(found.values() for found in occurrences.values()), default=0)
        self._damped = [0.0, *(1 + math.log(count) for count in range(1, most + 1))]
        self._scales = self._document_scales(size)

    def scores(self, stems: Iterable[str]) -> Sequence[float]:
        scales, damped = self._scales, self._damped
        totals = [0.0] * len(scales)
        for likeness, other in chain.from_iterable(map(self._similar, stems)):
            for document, count in self._occurrences[other].items():
                totals[document] += likeness * damped[count] * scales[document]
        return totals

    def _similar(self, stem: str) -> Iterator[tuple[float, str]]:
        own = trigrams(_bounded(stem))
        shared: defaultdict[str, float] = defaultdict(float)
        # In one order, lest the same sum end on different digits.
        for trigram in sorted(own):
            for other in self._bearers.get(trigram, ()):
                shared[other] += self._rarities[trigram]
        norm = self._norm(own)
        for other, product in shared.items():
            if product > SIMILAR * norm * self._norms[other]:
                yield product / self._norms[other], other

    def _norm(self, found: Iterable[str]) -> float:
        return math.sqrt(sum(self._rarities.get(trigram, self._unknown) for trigram in sorted(found)))

    def _document_scales(self, size: int) -> Sequence[float]:
        squares = [0.0] * size
        for stem, found in self._occurrences.items():
            norm = self._norms[stem] ** 2
            for document, count in found.items():
                squares[document] += norm * self._damped[count] ** 2
        return [1 / (math.sqrt(square) or 1) for square in squares]


def _bounded(stem: str) -> str:
    """With its beginning and its end marked, so that they count as well."""
    return f"<{stem}>"
