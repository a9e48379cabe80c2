"""The published rule. A term gives a field its whole weight where it occurs, and where it does not, half of what its
trigrams share with those of the field's most similar word.

The rule has a step between these, 70 % for a term with which a word of the field begins. Such a word contains the term,
so the step is never taken, and is not here.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from signpost.search.documents import Document
from signpost.search.trigrams import bearers, trigrams
from signpost.search.words import telling, words

WEIGHTS = (6, 5, 3, 3, 2, 1)
"""Of title, id, tags, aliases, description and text."""
SHORTEST_SIMILAR = 4
"""Bytes a term must have to be compared with what is merely similar."""

WHOLE = 1_000_000
"""Scores are counted in millionths, so that equal ones are equal in whatever order they were added up."""


class LiteralIndex:
    """A slot is one field of one document; a term is looked for among all different words, not in every slot."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self._size = len(documents)
        self._slots = _slots_by_word(documents)
        self._vocabulary = "\n".join(("", *self._slots, ""))
        self._trigrams: Mapping[str, set[bytes]] = {word: trigrams(word.encode()) for word in self._slots}
        self._bearers = bearers(self._trigrams)

    def scores(self, query: str) -> Sequence[int]:
        """By document, in millionths."""
        size, totals = self._size, [0] * self._size
        for term, times in Counter(telling(words(query))).items():
            for slots, share in self._found(term):
                gains = [times * round(weight * share) for weight in WEIGHTS]
                for slot in slots:
                    totals[slot % size] += gains[slot // size]
        return totals

    def _found(self, term: str) -> Iterator[tuple[set[int], float]]:
        seen = set(chain.from_iterable(self._slots[word] for word in self._holding(term)))
        yield seen, WHOLE
        if len(term.encode()) >= SHORTEST_SIMILAR:
            for similarity, word in self._similar(term):
                new = set(self._slots[word]) - seen
                yield new, similarity * WHOLE / 2
                seen |= new

    def _holding(self, term: str) -> Iterator[str]:
        vocabulary = self._vocabulary
        at = vocabulary.find(term)
        while at >= 0:
            end = vocabulary.index("\n", at)
            yield vocabulary[vocabulary.rindex("\n", 0, at) + 1 : end]
            at = vocabulary.find(term, end)

    def _similar(self, term: str) -> Sequence[tuple[float, str]]:
        """The most similar first, each with more than three tenths of all trigrams in common."""
        own = trigrams(term.encode())
        shared = Counter(chain.from_iterable(self._bearers.get(trigram, ()) for trigram in own))
        found: list[tuple[float, str]] = []
        for word, common in shared.items():
            union = len(own) + len(self._trigrams[word]) - common
            if 10 * common > 3 * union:
                found.append((common / union, word))
        return sorted(found, reverse=True)


def _slots_by_word(documents: Sequence[Document]) -> Mapping[str, list[int]]:
    found: defaultdict[str, list[int]] = defaultdict(list)
    for slot, text in enumerate(chain.from_iterable(zip(*map(Document.fields, documents), strict=True))):
        for word in set(words(text)):
            found[word].append(slot)
    return found
