"""A stronger ranking, fused from words, spelling and a little of the literal rule, each relative to its best score.

By words, a rare word counts for more than a common one, and a long description for no more than a short one. Spelling
finds documents that share no stem with the query. The literal rule finds any part of a word, and each of its hits is
found here too.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from signpost.search.literal import FULL_SCORE, LiteralIndex
from signpost.search.occurrences import WordOccurrences
from signpost.search.stems import Occurrences, StemCounts, StemsByWord, count_stems
from signpost.search.trigrams import trigrams, words_by_trigram

BY_WORDS, BY_SPELLING, BY_RULE = 0.45, 0.45, 0.1
SATURATION, LENGTH_PENALTY = 1.2, 0.75
"""BM25's k1 and b with their textbook values."""
SIMILARITY_THRESHOLD = 0.2
"""The cosine above which another spelling counts as similar."""


class FusedIndex:
    def __init__(self, words: WordOccurrences, literal: LiteralIndex) -> None:
        counts = count_stems(words)
        self._words = _StemIndex(counts, words.size)
        self._spelling = _TrigramIndex(counts.occurrences, words.size)
        self._literal = literal

    def scores(self, query: str) -> Sequence[int]:
        """Scores the documents in millionths of the best possible score."""
        stems = tuple(dict.fromkeys(StemsByWord().of(query)))
        words, spelling, rule = self._words.scores(stems), self._spelling.scores(stems), self._literal.scores(query)
        by_word, by_spelling = _scale_of(BY_WORDS, words), _scale_of(BY_SPELLING, spelling)
        by_rule = _scale_of(BY_RULE, rule)
        # A shared word is also a shared spelling, so a document without spelling and literal scores has no score.
        return [
            int(by_word * word + by_spelling * spelled + by_rule * literal + 0.5) if spelled or literal else 0
            for word, spelled, literal in zip(words, spelling, rule, strict=True)
        ]


def _scale_of(weight: float, scores: Sequence[float]) -> float:
    return weight * FULL_SCORE / (max(scores, default=0) or 1)


class _StemIndex:
    """Scores documents by BM25 over stems."""

    def __init__(self, counts: StemCounts, size: int) -> None:
        lengths = counts.lengths
        average = sum(lengths.values()) / (size or 1) or 1
        self._occurrences = counts.occurrences
        self._length_factors = [
            SATURATION * (1 - LENGTH_PENALTY + LENGTH_PENALTY * lengths.get(document, 0) / average)
            for document in range(size)
        ]

    def scores(self, stems: Iterable[str]) -> Sequence[float]:
        length_factors = self._length_factors
        totals = [0.0] * len(length_factors)
        for stem in stems:
            counts = self._occurrences.get(stem, {})
            rarity = math.log(1 + (len(length_factors) - len(counts) + 0.5) / (len(counts) + 0.5))
            for document, count in counts.items():
                totals[document] += rarity * count / (count + length_factors[document])
        return totals


class _TrigramIndex:
    """Scores documents by the cosine of trigrams, stem by stem, so that only stems that resemble the query's are
    visited. Numbers are left out: one that is written like another does not mean the same."""

    def __init__(self, occurrences: Occurrences, size: int) -> None:
        self._occurrences = occurrences
        self._trigrams = {stem: trigrams(_mark_ends(stem)) for stem in occurrences if not stem.isdecimal()}
        self._stems_by_trigram = words_by_trigram(self._trigrams)
        self._rarities = {
            trigram: math.log(1 + size / sum(len(occurrences[stem]) for stem in stems)) ** 2
            for trigram, stems in self._stems_by_trigram.items()
        }
        self._unknown = math.log(1 + size) ** 2
        rarity_of = self._rarities.__getitem__
        self._norms = {stem: math.sqrt(math.fsum(map(rarity_of, own))) for stem, own in self._trigrams.items()}
        self._damped = _DampedCounts()
        self._scales = self._document_scales(size)

    def scores(self, stems: Iterable[str]) -> Sequence[float]:
        scales, damped = self._scales, self._damped
        totals = [0.0] * len(scales)
        for similarity, other in chain.from_iterable(map(self._find_similar, stems)):
            for document, count in self._occurrences[other].items():
                totals[document] += similarity * damped[count] * scales[document]
        return totals

    def _find_similar(self, stem: str) -> Iterator[tuple[float, str]]:
        if stem.isdecimal():
            return
        stem_trigrams = trigrams(_mark_ends(stem))
        shared: defaultdict[str, float] = defaultdict(float)
        # Sorted, so that the rounding of the floating-point sum is always the same.
        for trigram in sorted(stem_trigrams):
            for other in self._stems_by_trigram.get(trigram, ()):
                shared[other] += self._rarities[trigram]
        norm = self._norm(stem_trigrams)
        for other, product in shared.items():
            if product > SIMILARITY_THRESHOLD * norm * self._norms[other]:
                yield product / self._norms[other], other

    def _norm(self, stem_trigrams: Iterable[str]) -> float:
        # The exact sum, which does not depend on the order of a set.
        return math.sqrt(math.fsum(self._rarities.get(trigram, self._unknown) for trigram in stem_trigrams))

    def _document_scales(self, size: int) -> Sequence[float]:
        squares, damped = [0.0] * size, self._damped
        for stem, norm in self._norms.items():
            for document, count in self._occurrences[stem].items():
                length = norm * damped[count]
                squares[document] += length * length
        return [1 / (math.sqrt(square) or 1) for square in squares]


class _DampedCounts(dict[int, float]):
    """Counts of a stem as the cosine weighs them, each computed once: the tenth occurrence says less than the first."""

    def __missing__(self, count: int) -> float:
        self[count] = damped = 1 + math.log(count)
        return damped


def _mark_ends(stem: str) -> str:
    """Marks the start and the end of a stem, so that they form trigrams too."""
    return f"<{stem}>"
