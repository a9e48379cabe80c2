"""The published literal rule: scores each field by the terms of the query that occur in it.

A term gives a field its whole weight where it occurs. Elsewhere it gives half of the share of trigrams that it has in
common with the field's most similar word.

The published rule has a step between these, 70 % for a term with which a word of the field begins. Such a word contains
the term, so the step is never reached and is not implemented.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from signpost.search.documents import SearchDocument
from signpost.search.trigrams import trigrams, words_by_trigram
from signpost.search.words import drop_stop_words, split_words

WEIGHTS = (6, 5, 3, 3, 2, 1)
"""The weights of title, id, tags, aliases, description and text."""
SHORTEST_SIMILAR = 4
"""Bytes that a term needs to be compared with similar words."""

FULL_SCORE = 1_000_000
"""The score of a full match. Scores are integers in millionths, so that equal sums are equal in any order of
addition."""


class LiteralIndex:
    """An index of words by slot, one field of one document. A term is searched among all different words, not in each
    slot."""

    def __init__(self, documents: Sequence[SearchDocument]) -> None:
        self._size = len(documents)
        self._slots = _slots_by_word(documents)
        self._vocabulary = "\n".join(("", *self._slots, ""))
        self._trigrams: Mapping[str, set[bytes]] = {word: trigrams(word.encode()) for word in self._slots}
        self._words_by_trigram = words_by_trigram(self._trigrams)

    def scores(self, query: str) -> Sequence[int]:
        """Scores the documents in millionths."""
        size, totals = self._size, [0] * self._size
        for term, times in Counter(drop_stop_words(split_words(query))).items():
            for slots, share in self._find_slots(term):
                gains = [times * round(weight * share) for weight in WEIGHTS]
                for slot in slots:
                    totals[slot % size] += gains[slot // size]
        return totals

    def _find_slots(self, term: str) -> Iterator[tuple[set[int], float]]:
        matched = set(chain.from_iterable(self._slots[word] for word in self._find_words_with(term)))
        yield matched, FULL_SCORE
        if len(term.encode()) >= SHORTEST_SIMILAR:
            for similarity, word in self._find_similar(term):
                new = set(self._slots[word]) - matched
                yield new, similarity * FULL_SCORE / 2
                matched |= new

    def _find_words_with(self, term: str) -> Iterator[str]:
        vocabulary = self._vocabulary
        at = vocabulary.find(term)
        while at >= 0:
            end = vocabulary.index("\n", at)
            yield vocabulary[vocabulary.rindex("\n", 0, at) + 1 : end]
            at = vocabulary.find(term, end)

    def _find_similar(self, term: str) -> Sequence[tuple[float, str]]:
        """Finds the words that share more than three tenths of all trigrams with the term, most similar first."""
        term_trigrams = trigrams(term.encode())
        shared = Counter(chain.from_iterable(self._words_by_trigram.get(trigram, ()) for trigram in term_trigrams))
        similar: list[tuple[float, str]] = []
        for word, common in shared.items():
            union = len(term_trigrams) + len(self._trigrams[word]) - common
            if 10 * common > 3 * union:
                similar.append((common / union, word))
        return sorted(similar, reverse=True)


def _slots_by_word(documents: Sequence[SearchDocument]) -> Mapping[str, list[int]]:
    slots: defaultdict[str, list[int]] = defaultdict(list)
    for slot, text in enumerate(chain.from_iterable(zip(*map(SearchDocument.fields, documents), strict=True))):
        for word in set(split_words(text)):
            slots[word].append(slot)
    return slots
