"""Counts the stems of the words of a catalogue."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import chain

from signpost.records import dataclass
from signpost.search.documents import COUNTED_TWICE
from signpost.search.occurrences import WordOccurrences
from signpost.search.words import STOP_WORDS, WORD, split_identifier, stem

type Occurrences = Mapping[str, Mapping[int, int]]
"""The occurrences of each stem in each document, weighted by field."""


class StemsByWord(dict[str, tuple[str, ...]]):
    """The stems of each written word, computed once. An identifier may have several stems, a stop word has none."""

    def __missing__(self, word: str) -> tuple[str, ...]:
        parts = split_identifier(word)
        self[word] = stems = tuple([stem(part) for part in parts if part not in STOP_WORDS])
        return stems

    def of(self, text: str) -> list[str]:
        return list(chain.from_iterable(self[word] for word in WORD.findall(text)))


@dataclass(frozen=True, slots=True)
class StemCounts:
    occurrences: Occurrences
    lengths: Mapping[int, int]
    """The number of stems in each document, without weights; documents without stems are missing."""


def count_stems(words: WordOccurrences) -> StemCounts:
    """Counts the stems of a whole field at once: it is the longest part of the first query of a large catalogue."""
    stems_by_word, lengths = StemsByWord(), Counter[int]()
    documents: defaultdict[str, list[int]] = defaultdict(list)
    for field, places in enumerate(words.fields):
        field_stems: list[int] = []
        for word, numbers in places.items():
            for word_stem in stems_by_word[word]:
                field_stems += numbers
                documents[word_stem] += [*numbers, *numbers] if field < COUNTED_TWICE else numbers
        lengths.update(field_stems)
    return StemCounts({word_stem: _count(numbers) for word_stem, numbers in documents.items()}, lengths)


def _count(numbers: Sequence[int]) -> Mapping[int, int]:
    """Count the numbers. Most stems are in one document, and a Counter takes a while to make."""
    return {numbers[0]: 1} if len(numbers) == 1 else Counter(numbers)
