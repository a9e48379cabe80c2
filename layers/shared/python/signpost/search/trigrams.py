"""Words by what they are spelt with."""

from collections import defaultdict
from collections.abc import Mapping

LENGTH = 3


def trigrams[Spelling: (str, bytes)](spelling: Spelling) -> set[Spelling]:
    """Every three letters in a row, once."""
    return {spelling[at : at + LENGTH] for at in range(len(spelling) - LENGTH + 1)}


def bearers[Spelling: (str, bytes)](words: Mapping[str, set[Spelling]]) -> Mapping[Spelling, list[str]]:
    """By trigram the words that have it."""
    found: defaultdict[Spelling, list[str]] = defaultdict(list)
    for word, spellings in words.items():
        for spelling in spellings:
            found[spelling].append(word)
    return found
