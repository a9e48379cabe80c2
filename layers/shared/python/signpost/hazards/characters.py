"""Finds characters that a reader of a text does not see, although a model reads them or a screen obeys them.

A character that a writing system or an emoji needs at its place is none of them: joiners in Persian and Hindi, the
selector after a heart, the tags of the flag of Scotland."""

import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from html.entities import html5
from itertools import islice
from unicodedata import category, name

from signpost.errors import WarningCode
from signpost.hazards.model import Hazard
from signpost.records import dataclass

_SUSPECT = re.compile(
    "[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U00013430-\U0001343f\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_MEANINGS: dict[WarningCode, str] = {
    "invisible_character": "invisible characters, which clients read and people do not see",
    "bidirectional_control": "controls of the text direction, which show it in another order than clients read it",
    "tag_character": "invisible tag characters, which can spell a hidden text",
    "control_character": "control characters, which no document needs",
}
_ADVICE = "Remove them."
MOST_CHARACTERS = 1_000
"""Hidden characters after which the rest of a text is not searched."""
NEAR = 300
"""Characters of a line on each side of a direction mark among which a right-to-left letter needs it."""
_ENTITY = re.compile(
    r"&(?:#(?P<decimal>[0-9]{1,7});|#[xX](?P<hexadecimal>[0-9a-fA-F]{1,6});|(?P<name>[A-Za-z]\w{0,31};))"
)
_FLAG = "\U0001f3f4"
_FLAG_TAGS = re.compile("\U000e0067\U000e0062(?:\U000e0065\U000e006e\U000e0067|\U000e0073\U000e0063\U000e0074|"
                        "\U000e0077\U000e006c\U000e0073)\U000e007f")  # fmt: skip
_KEYCAP = re.compile("[0-9#*]\ufe0f\u20e3")
_JOINING_SCRIPTS = (
    "ARABIC", "SYRIAC", "MONGOLIAN", "NKO", "MANDAIC", "PHAGS-PA", "HANIFI", "ADLAM", "DEVANAGARI", "BENGALI",
    "GURMUKHI", "GUJARATI", "ORIYA", "TAMIL", "TELUGU", "KANNADA", "MALAYALAM", "SINHALA", "KHMER", "MYANMAR",
    "TIBETAN", "JAVANESE", "BALINESE", "MEETEI", "CHAKMA", "GRANTHA", "NEWA", "TIRHUTA", "BRAHMI", "EXTENDED ARABIC",
)  # fmt: skip
_UNSPACED_SCRIPTS = ("THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN", "TAI", "NEW TAI", "CJK", "HIRAGANA", "KATAKANA")
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]")


@dataclass(frozen=True, slots=True)
class _Place:
    """A suspect character and the text around it."""

    text: str
    at: int

    @property
    def character(self) -> str:
        return self.text[self.at]

    @property
    def before(self) -> str:
        return self.text[self.at - 1] if self.at else ""

    @property
    def after(self) -> str:
        return self.text[self.at + 1] if self.at + 1 < len(self.text) else ""

    @property
    def near_text(self) -> str:
        """The text of the line on both sides of the character."""
        before, after = self.text[max(0, self.at - NEAR) : self.at], self.text[self.at : self.at + NEAR]
        return before.rpartition("\n")[2] + after.partition("\n")[0]


def find_hidden_characters(text: str) -> Iterator[Hazard]:
    """Yield one hazard for each line and kind of hidden characters."""
    found: dict[tuple[int, WarningCode], list[str]] = {}
    line, counted_to = 1, 0
    for place in islice(_find_hidden(text), MOST_CHARACTERS):
        line, counted_to = line + text.count("\n", counted_to, place.at), place.at
        found.setdefault((line, _code_of(place.character)), []).append(place.character)
    for (number, code), characters in found.items():
        yield Hazard(code, f"{len(characters)} {_MEANINGS[code]} ({_list_characters(characters)}). {_ADVICE}", number)


def find_encoded_characters(text: str) -> Iterator[tuple[int, Hazard]]:
    """Yield the places of entities of HTML, such as `&#8203;`, that stand for a hidden character."""
    pieces: list[str] = []
    places: dict[int, int] = {}
    length, at = 0, 0
    for entity in _ENTITY.finditer(text):
        character = _decode(entity)
        if _SUSPECT.fullmatch(character):
            length += entity.start() - at
            places[length] = entity.start()
            pieces += (text[at : entity.start()], character)
            length, at = length + 1, entity.end()
    decoded = "".join([*pieces, text[at:]])
    for place in islice(_find_hidden(decoded) if places else (), MOST_CHARACTERS):
        if place.at in places:
            code = _code_of(place.character)
            message = f"encoded {_MEANINGS[code]} ({_list_characters([place.character])}). {_ADVICE}"
            yield places[place.at], Hazard(code, message)


def _decode(entity: re.Match[str]) -> str:
    if entity["name"]:
        return html5.get(entity["name"], "")
    number = int(entity["decimal"] or entity["hexadecimal"], 10 if entity["decimal"] else 16)
    return chr(number) if number <= sys.maxunicode else ""


def _find_hidden(text: str) -> Iterator[_Place]:
    for match in _SUSPECT.finditer(text):
        place = _Place(text, match.start())
        if not _is_needed(place):
            yield place


def _list_characters(characters: Sequence[str]) -> str:
    different = list(dict.fromkeys(f"U+{ord(character):04X}" for character in characters))
    return ", ".join(different[:3]) + (" …" if len(different) > 3 else "")


def _code_of(character: str) -> WarningCode:
    if "\U000e0000" <= character <= "\U000e007f":
        return "tag_character"
    if "\u202a" <= character <= "\u202e" or "\u2066" <= character <= "\u2069":
        return "bidirectional_control"
    return "control_character" if category(character) in ("Cc", "Zl", "Zp") else "invisible_character"


def _is_needed(place: _Place) -> bool:
    """Check whether the text needs the character at its place to be shown as it should be."""
    is_needed = _NEEDS.get(place.character)
    return is_needed is not None and is_needed(place)


def _follows_a_symbol(place: _Place) -> bool:
    """A selector of emoji or text style follows one symbol, or a digit of a keycap."""
    if place.before in "0123456789#*" and place.before:
        return _KEYCAP.match(place.text, place.at - 1) is not None
    before = place.before
    return not before.isascii() and (category(before) in ("So", "Sm", "Sk", "Po", "Pd") or before == "\u2139")


def _follows_a_variant_base(place: _Place) -> bool:
    """Other selectors follow an ideograph, a mathematical sign, or a letter of a script that has variants."""
    before = place.before
    return bool(before) and (category(before) in ("Lo", "Sm") or _is_in_script(before, _JOINING_SCRIPTS))


def _joins_letters(place: _Place) -> bool:
    is_last = not place.after.isalnum() and _SUSPECT.match(place.after) is None
    return _is_in_script(place.before, _JOINING_SCRIPTS) and (is_last or _is_in_script(place.after, _JOINING_SCRIPTS))


def _joins_emoji(place: _Place) -> bool:
    return _is_emoji_part(place.before) and bool(place.after) and category(place.after) in ("So", "Sm")


def _is_emoji_part(character: str) -> bool:
    return bool(character) and (character == "\ufe0f" or category(character) in ("So", "Sk"))


def _is_in_flag(place: _Place) -> bool:
    start = place.text.rfind(_FLAG, max(0, place.at - 6), place.at)
    match = _FLAG_TAGS.match(place.text, start + 1) if start >= 0 else None
    return match is not None and match.start() <= place.at < match.end()


def _separates_unspaced_words(place: _Place) -> bool:
    return _is_in_script(place.before, _UNSPACED_SCRIPTS) and _is_in_script(place.after, _UNSPACED_SCRIPTS)


def _marks_direction(place: _Place) -> bool:
    """A mark beside right-to-left text keeps punctuation and numbers in their place; repeated, it spells something."""
    is_repeated = place.character in (place.before, place.after)
    return not is_repeated and _RIGHT_TO_LEFT.search(place.near_text) is not None


def _is_in_script(character: str, scripts: tuple[str, ...]) -> bool:
    return bool(character) and category(character)[0] in "LM" and name(character, "").startswith(scripts)


def _is_in_braille(place: _Place) -> bool:
    return "\u2801" <= place.before <= "\u28ff" or "\u2801" <= place.after <= "\u28ff"


def _fills_a_syllable(place: _Place) -> bool:
    is_before_vowel = _is_in_script(place.after, ("HANGUL JUNG", "HANGUL JONG"))
    return is_before_vowel or _is_in_script(place.before, ("HANGUL CHOSEONG",))


def _characters(first: int, last: int) -> Sequence[str]:
    return [chr(code) for code in range(first, last + 1)]


_NEEDS: Mapping[str, Callable[[_Place], bool]] = {
    "\ufeff": lambda place: place.at == 0,
    **dict.fromkeys("\ufe0e\ufe0f", _follows_a_symbol),
    **dict.fromkeys((*_characters(0xFE00, 0xFE0D), *_characters(0xE0100, 0xE01EF)), _follows_a_variant_base),
    **dict.fromkeys(_characters(0x180B, 0x180F), lambda place: _is_in_script(place.before, ("MONGOLIAN",))),
    "\u200c": _joins_letters,
    "\u200d": lambda place: _joins_letters(place) or _joins_emoji(place),
    "\u200b": _separates_unspaced_words,
    **dict.fromkeys("\u200e\u200f\u061c", _marks_direction),
    **dict.fromkeys(_characters(0xE0020, 0xE007F), _is_in_flag),
    "\u2800": _is_in_braille,
    **dict.fromkeys("\u115f\u1160", _fills_a_syllable),
    **dict.fromkeys(_characters(0x13430, 0x1343F), lambda place: _is_in_script(place.before, ("EGYPTIAN",))),
}
"""The characters that a text may need, each with the check of its place."""
