"""Counts the stems of the words of a catalogue."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import chain

from signpost.records import dataclass
from signpost.search.documents import SearchDocument
from signpost.search.words import STOP_WORDS, WORD, split_identifier, stem

WEIGHTS = (2, 1, 2, 2, 1, 1)
"""The weight of a stem in title, id, tags, aliases, description and text."""

type Occurrences = Mapping[str, Mapping[int, int]]
"""The occurrences of each stem in each document, weighted by field."""


class StemsByWord(dict[str, tuple[str, ...]]):
    """The stems of each written word, computed once. An identifier may have several stems, a stop word has none."""

    def __missing__(self, word: str) -> tuple[str, ...]:
        stems = tuple(stem(part) for part in split_identifier(word) if part not in STOP_WORDS)
        self[word] = stems
        return stems

    def of(self, text: str) -> list[str]:
        return list(chain.from_iterable(self[word] for word in WORD.findall(text)))


@dataclass(frozen=True, slots=True)
class StemCounts:
    occurrences: Occurrences
    lengths: Sequence[int]
    """The number of stems in each document, without weights."""


def count_stems(documents: Sequence[SearchDocument]) -> StemCounts:
    """Counts the stems in one pass of nested loops: it is the longest part of the first query of a large catalogue."""
    stems_by_word, lengths = StemsByWord(), [0] * len(documents)
    occurrences: defaultdict[str, dict[int, int]] = defaultdict(dict)
    for number, document in enumerate(documents):
        for weight, text in zip(WEIGHTS, document.fields(), strict=True):
            for word in WORD.findall(text):
                word_stems = stems_by_word[word]
                lengths[number] += len(word_stems)
                for word_stem in word_stems:
                    counts = occurrences[word_stem]
                    counts[number] = counts.get(number, 0) + weight
    return StemCounts(occurrences, lengths)
