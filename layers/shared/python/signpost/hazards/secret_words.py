"""Finds the words that name a secret: a password, a token, a key, a code of a card.

It reads names such as `userPassword` and sentences alike. A word counts as a whole, so `passport`, `tokenizer` and
`secretary` name nothing. Only words of English are known, and a text may ask for a secret without naming one."""

import re
from collections.abc import Iterator, Sequence
from unicodedata import category, normalize

from signpost.hazards.confusables import find_twin

_STEMS = re.compile(
    "(?:passw(?:or)?d(?!less)|passphrase|passcode|credential|(?:api|access|private|secret)key|clientsecret"
    "|(?:access|api|auth|bearer|refresh|session)token)"
)
"""Parts of words that no harmless word has."""
_WORDS = frozenset(["cvc", "cvc2", "cvv", "cvv2", "jwt", "otp", "pin", "pwd", "secret", "secrets", "token", "totp"])
_PHRASES = re.compile(
    r"\b(?:(?:access|account|api|encryption|gpg|master|pgp|private|recovery|secret|signing|ssh) keys?"
    r"|(?:access|api|auth|authentication|bearer|refresh|session) tokens"
    r"|(?:2fa|authentication|backup|mfa|one time|recovery|security|sms|verification) codes?"
    r"|(?:recovery|secret|seed) (?:phrase|words)|pass (?:code|phrase|word)s?|(?:credit|debit) card|card number"
    r"|connection string|session cookie)\b"
)
_ATTRIBUTES = frozenset((
    "arn", "budget", "count", "counts", "expiration", "expiry", "id", "ids", "label", "length", "lifetime", "limit",
    "limits", "name", "names", "policy", "reset", "rotation", "ttl", "type", "usage",
))  # fmt: skip
"""Words after the name of a secret that make it the name of something else: `api_key_name`, `token limit`."""
_COUNTED = frozenset(["continuation", "cursor", "design", "max", "min", "next", "page", "pad", "stop", "sync"])
"""Words before `token` that make it a token of text or of a list."""
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_WORD = re.compile(r"[a-z0-9]+")
_DIGITS_AS_LETTERS = str.maketrans("013457@$", "oleastas")


def find_secret_words(text: str) -> str | None:
    """Return the first words of the text that name a secret; None if there are none."""
    plain = _spell_plainly(text)
    spellings = (_HUMP.sub(" ", plain), plain, plain.translate(_DIGITS_AS_LETTERS))
    return next((found for spelling in dict.fromkeys(spellings) for found in _find_in(spelling.casefold())), None)


def _spell_plainly(text: str) -> str:
    """Replace letters by the plain ones that they look like, and drop invisible characters."""
    if text.isascii():
        return text
    visible = (letter for letter in normalize("NFKC", text) if category(letter) != "Cf")
    return "".join(find_twin(letter) or letter for letter in visible)


def _find_in(text: str) -> Iterator[str]:
    words = _WORD.findall(text)
    for at, word in enumerate(words):
        is_token_of_text = word == "token" and at > 0 and words[at - 1] in _COUNTED
        if (word in _WORDS or _has_stem(word)) and not is_token_of_text and not _has_attribute(words, at + 1):
            yield word
    joined = " ".join(words)
    for phrase in _PHRASES.finditer(joined):
        if not _has_attribute(joined[phrase.end() :].split(maxsplit=1), 0):
            yield phrase[0]


def _has_stem(word: str) -> bool:
    stem = _STEMS.search(word)
    return stem is not None and word[stem.end() :] not in _ATTRIBUTES


def _has_attribute(words: Sequence[str], at: int) -> bool:
    return at < len(words) and words[at] in _ATTRIBUTES
