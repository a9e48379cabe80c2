"""Splits text into words, runs of letters and digits, and drops the stop words of English."""

import re
from collections.abc import Sequence

WORD = re.compile(r"[^\W_]+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")

ARTICLES = "a an the this that these those such same other another any some each every either neither no all both"
PRONOUNS = (
    "i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself she her hers "
    "herself it its itself they them their theirs themselves who whom whose which what"
)
AUXILIARIES = (
    "am is are was were be been being do does did doing done have has had having can could may might must shall should "
    "will would cannot"
)
CONTRACTIONS = "s t d m ll re ve don doesn didn isn aren wasn weren hasn haven hadn won wouldn couldn shouldn mustn ain"
PREPOSITIONS = (
    "about above after against among around as at before below between by down during for from in into of off on onto "
    "out over through to toward towards under until up upon with within without"
)
CONJUNCTIONS = "and but or nor so if then than because while although though when where why how whether"
ADVERBS = "not only too very just also again ever here there now more most few own once further"

STOP_WORDS = frozenset(
    f"{ARTICLES} {PRONOUNS} {AUXILIARIES} {CONTRACTIONS} {PREPOSITIONS} {CONJUNCTIONS} {ADVERBS}".split()
)


def split_words(text: str) -> list[str]:
    return WORD.findall(text.lower())


def drop_stop_words(terms: Sequence[str]) -> Sequence[str]:
    """Drops stop words, unless all terms are stop words."""
    return [term for term in terms if term not in STOP_WORDS] or terms


def split_identifier(word: str) -> Sequence[str]:
    """Splits an identifier into its words, and adds the identifier itself, since a query may spell `GitHub` as one
    word."""
    if word[1:].islower() or word.isdecimal():
        return [word.lower()]
    parts = [part.lower() for part in _HUMP.split(word)]
    return parts if len(parts) == 1 else [*parts, word.lower()]


_ENDINGS = (
    "ization", "isation", "ation", "ition", "ement", "ator", "ment", "ness", "ance", "ence", "able", "ible", "ional",
    "ing", "ion", "ity", "ive", "ize", "ise", "ful", "ed", "al", "ly", "er", "or", "est",
)  # fmt: skip
_SHORTEST = {"ing": 3, "ed": 3}
"""Letters that must remain of a word when an ending is removed; four for the other endings."""
_VOWEL = re.compile("[aeiouy]")


def stem(word: str) -> str:
    """Returns the common stem of words such as `deploys`, `deploying` and `deployment`. It is rough, which is enough,
    since stems are compared only with stems."""
    if len(word) < 4 or not word.isascii() or word.isdecimal():
        return word
    word = _strip_ending(_to_singular(word))
    if len(word) > 4 and word.endswith("e"):
        return word[:-1]
    return f"{word[:-1]}i" if len(word) > 3 and word.endswith("y") else word


def _to_singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    if word.endswith(("sses", "shes", "ches", "xes", "zes")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


def _strip_ending(word: str) -> str:
    if not word.endswith(_ENDINGS):
        return word
    for ending in _ENDINGS:
        rest = word.removesuffix(ending)
        if rest != word and len(rest) >= _SHORTEST.get(ending, 4) and _VOWEL.search(rest):
            doubled = len(rest) > 3 and rest[-1] == rest[-2] and rest[-1] not in "lsz"
            return rest[:-1] if doubled else rest
    return word
