"""Text as words: runs of letters and digits, without the words that hold English sentences together."""

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
CONTRACTED = "s t d m ll re ve don doesn didn isn aren wasn weren hasn haven hadn won wouldn couldn shouldn mustn ain"
PREPOSITIONS = (
    "about above after against among around as at before below between by down during for from in into of off on onto "
    "out over through to toward towards under until up upon with within without"
)
CONJUNCTIONS = "and but or nor so if then than because while although though when where why how whether"
ADVERBS = "not only too very just also again ever here there now more most few own once further"

STOP_WORDS = frozenset(
    f"{ARTICLES} {PRONOUNS} {AUXILIARIES} {CONTRACTED} {PREPOSITIONS} {CONJUNCTIONS} {ADVERBS}".split()
)


def words(text: str) -> list[str]:
    return WORD.findall(text.lower())


def telling(terms: Sequence[str]) -> Sequence[str]:
    """Without stop words, unless there is nothing else."""
    return [term for term in terms if term not in STOP_WORDS] or terms


def parts(word: str) -> Sequence[str]:
    """The words of which an identifier is made, and itself, since `GitHub` is one word to those who look for it."""
    found = [part.lower() for part in _HUMP.split(word)]
    return found if len(found) == 1 else [*found, word.lower()]


_ENDINGS = (
    "ization", "isation", "ation", "ition", "ement", "ator", "ment", "ness", "ance", "ence", "able", "ible", "ional",
    "ing", "ion", "ity", "ive", "ize", "ise", "ful", "ed", "al", "ly", "er", "or", "est",
)  # fmt: skip
_SHORTEST = {"ing": 3, "ed": 3}
"""What has to remain of a word when an ending goes; four letters for the others."""
_VOWEL = re.compile("[aeiouy]")


def stem(word: str) -> str:
    """What `deploys`, `deploying` and `deployment` have in common. Rough, for it only ever meets its own kind."""
    if len(word) < 4 or not word.isascii():
        return word
    word = _without_ending(_singular(word))
    if len(word) > 4 and word.endswith("e"):
        return word[:-1]
    return f"{word[:-1]}i" if len(word) > 3 and word.endswith("y") else word


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    if word.endswith(("sses", "shes", "ches", "xes", "zes")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


def _without_ending(word: str) -> str:
    for ending in _ENDINGS:
        rest = word.removesuffix(ending)
        if rest != word and len(rest) >= _SHORTEST.get(ending, 4) and _VOWEL.search(rest):
            doubled = len(rest) > 3 and rest[-1] == rest[-2] and rest[-1] not in "lsz"
            return rest[:-1] if doubled else rest
    return word
