"""Finds where the words of a catalogue occur, once for both rankings."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter

from signpost.records import dataclass
from signpost.search.documents import FIELDS, SearchDocument
from signpost.search.words import WORD

type Places = Mapping[str, Sequence[int]]
"""The numbers of the documents in which each word occurs, one for each occurrence."""


@dataclass(frozen=True, slots=True)
class WordOccurrences:
    """The occurrences of the words of a catalogue, spelled as they are written."""

    size: int
    """The number of documents."""
    fields: Sequence[Places]
    """The occurrences in each of `documents.FIELDS`."""


def find_words(documents: Sequence[SearchDocument]) -> WordOccurrences:
    texts = [document.fields() for document in documents]
    fields = [_find_words_of_field(map(itemgetter(field), texts)) for field in range(len(FIELDS))]
    return WordOccurrences(len(documents), fields)


def _find_words_of_field(texts: Iterable[str]) -> Places:
    """Finds the words of the pieces between spaces, each different piece once: a catalogue has ten times as many pieces
    as different ones, and the first query waits for this."""
    pieces = _find_pieces(texts)
    words = {piece: numbers for piece, numbers in pieces.items() if piece.isalnum()}
    for piece, numbers in pieces.items():
        if not piece.isalnum():
            for word in WORD.findall(piece):
                words.setdefault(word, []).extend(numbers)
    return words


def _find_pieces(texts: Iterable[str]) -> Mapping[str, list[int]]:
    pieces: defaultdict[str, list[int]] = defaultdict(list)
    for number, text in enumerate(texts):
        for piece in text.split():
            pieces[piece].append(number)
    return pieces
