"""A catalogue by the stems of its words."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import chain

from signpost.records import dataclass
from signpost.search.documents import Document
from signpost.search.words import STOP_WORDS, WORD, parts, stem

WEIGHTS = (2, 1, 2, 2, 1, 1)
"""Of a stem in title, id, tags, aliases, description and text."""

type Occurrences = Mapping[str, Mapping[int, int]]
"""By stem and document, how often, weighted by field."""


class Stems(dict[str, tuple[str, ...]]):
    """Of a word as it is written, worked out once: an identifier may have several, a stop word has none."""

    def __missing__(self, word: str) -> tuple[str, ...]:
        found = tuple(stem(part) for part in parts(word) if part not in STOP_WORDS)
        self[word] = found
        return found

    def of(self, text: str) -> list[str]:
        return list(chain.from_iterable(self[word] for word in WORD.findall(text)))


@dataclass(frozen=True, slots=True)
class Reading:
    occurrences: Occurrences
    lengths: Sequence[int]
    """Stems in each document, weighing alike."""


def read(documents: Sequence[Document]) -> Reading:
    """Without a detour: it is the longest part of the first query of a large catalogue."""
    stems, lengths = Stems(), [0] * len(documents)
    occurrences: defaultdict[str, dict[int, int]] = defaultdict(dict)
    for number, document in enumerate(documents):
        for weight, text in zip(WEIGHTS, document.fields(), strict=True):
            for word in WORD.findall(text):
                found = stems[word]
                lengths[number] += len(found)
                for each in found:
                    counts = occurrences[each]
                    counts[number] = counts.get(number, 0) + weight
    return Reading(occurrences, lengths)
