"""The published literal rule: scores each field by the terms of the query that occur in it.

A term gives a field its whole weight where it occurs. Elsewhere it gives half of the share of trigrams that it has in
common with the field's most similar word.

The published rule has a step between these, 70 % for a term with which a word of the field begins. Such a word contains
the term, so the step is never reached and is not implemented.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain

from signpost.search.occurrences import Places, WordOccurrences
from signpost.search.trigrams import trigrams, words_by_trigram
from signpost.search.words import drop_stop_words, split_words

WEIGHTS = (6, 3, 3, 5, 2, 1)
"""The weights of the fields in the order of `documents.FIELDS`."""
SHORTEST_SIMILAR = 4
"""Bytes that a term needs to be compared with similar words."""

FULL_SCORE = 1_000_000
"""The score of a full match. Scores are integers in millionths, so that equal sums are equal in any order of
addition."""


class LiteralIndex:
    """An index of the words of each field. A term is searched among all different words, not in each document."""

    def __init__(self, words: WordOccurrences) -> None:
        self._size = words.size
        self._fields = [_ignore_case(places) for places in words.fields]
        vocabulary = dict.fromkeys(chain.from_iterable(self._fields))
        self._vocabulary = "\n".join(("", *vocabulary, ""))
        by_word = {word: trigrams(word.encode()) for word in vocabulary}
        self._words_by_trigram = words_by_trigram(by_word)
        self._trigram_counts = {word: len(found) for word, found in by_word.items()}

    def scores(self, query: str) -> Sequence[int]:
        """Scores the documents in millionths."""
        totals = [0] * self._size
        for term, times in Counter(drop_stop_words(split_words(query))).items():
            matching = list(self._find_words_with(term))
            similar = self._find_similar(term) if len(term.encode()) >= SHORTEST_SIMILAR else ()
            for weight, places in zip(WEIGHTS, self._fields, strict=True):
                for numbers, share in _find_matches(places, matching, similar):
                    gain = times * round(weight * share)
                    for number in numbers:
                        totals[number] += gain
        return totals

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
            union = len(term_trigrams) + self._trigram_counts[word] - common
            if 10 * common > 3 * union:
                similar.append((common / union, word))
        return sorted(similar, reverse=True)


def _find_matches(
    places: Places, matching: Sequence[str], similar: Sequence[tuple[float, str]]
) -> Iterator[tuple[set[int], float]]:
    """Finds the documents that a term matches in one field, each once, with the share of the weight that it gets."""
    matched = set(chain.from_iterable(places[word] for word in matching if word in places))
    yield matched, FULL_SCORE
    for similarity, word in similar:
        if word in places:
            new = set(places[word]) - matched
            yield new, similarity * FULL_SCORE / 2
            matched |= new


def _ignore_case(places: Places) -> Places:
    """Return the places of words in lower case. In lower case a word may consist of several."""
    merged: dict[str, Sequence[int]] = {}
    for written, numbers in places.items():
        for word in (written,) if written.isascii() and written.islower() else split_words(written):
            merged[word] = [*merged[word], *numbers] if word in merged else numbers
    return merged
