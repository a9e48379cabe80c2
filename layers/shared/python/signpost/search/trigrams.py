"""Trigrams of words."""

from collections import defaultdict
from collections.abc import Mapping

LENGTH = 3


def trigrams[Spelling: (str, bytes)](spelling: Spelling) -> set[Spelling]:
    """The set of all sequences of three letters in a spelling."""
    return {spelling[at : at + LENGTH] for at in range(len(spelling) - LENGTH + 1)}


def words_by_trigram[Spelling: (str, bytes)](words: Mapping[str, set[Spelling]]) -> Mapping[Spelling, list[str]]:
    """The words that contain each trigram."""
    words_of: defaultdict[Spelling, list[str]] = defaultdict(list)
    for word, word_trigrams in words.items():
        for trigram in word_trigrams:
            words_of[trigram].append(word)
    return words_of
