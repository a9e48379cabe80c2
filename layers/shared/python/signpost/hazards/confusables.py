"""Letters that look like letters or digits of another script: the facts behind the comparison of names."""

from unicodedata import name, normalize

_TWINS = {
    # Cyrillic
    "а": "a", "с": "c", "ԁ": "d", "е": "e", "һ": "h", "і": "i", "ј": "j", "ӏ": "l", "о": "o", "р": "p", "ԛ": "q",
    "ѕ": "s", "ԝ": "w", "х": "x", "у": "y", "ү": "y", "ѵ": "v", "г": "r", "ь": "b", "ɡ": "g",
    "А": "A", "В": "B", "С": "C", "Е": "E", "Н": "H", "І": "I", "Ӏ": "I", "Ј": "J", "К": "K", "М": "M", "О": "O",
    "Р": "P", "Ѕ": "S", "Т": "T", "Х": "X", "У": "Y", "Ү": "Y", "Ѵ": "V", "Ԍ": "G", "Ԛ": "Q", "Ԝ": "W", "З": "3",
    # Greek
    "α": "a", "γ": "y", "ι": "i", "κ": "k", "ν": "v", "ο": "o", "ρ": "p", "τ": "t", "υ": "u", "χ": "x", "ϲ": "c",
    "ϳ": "j", "σ": "o", "Α": "A", "Β": "B", "Ε": "E", "Ζ": "Z", "Η": "H", "Ι": "I", "Κ": "K", "Μ": "M", "Ν": "N",
    "Ο": "O", "Ρ": "P", "Τ": "T", "Υ": "Y", "Χ": "X", "Ϲ": "C", "Ϳ": "J",
    # Armenian, Hebrew, Arabic digits, Cherokee, Lisu, Coptic and others
    "ա": "w", "հ": "h", "ո": "n", "ս": "u", "օ": "o", "զ": "q", "յ": "j", "ց": "g", "Տ": "S", "Օ": "O", "Ս": "U",
    "Լ": "L", "ו": "l", "ן": "l", "ס": "o", "ا": "l", "ه": "o", "٥": "o", "۵": "o",
    "Ꭰ": "D", "Ꭱ": "R", "Ꭲ": "T", "Ꭺ": "A", "Ꭻ": "J", "Ꭼ": "E", "Ꮃ": "W", "Ꮇ": "M", "Ꮋ": "H", "Ꮐ": "G",
    "Ꮓ": "Z", "Ꮖ": "I", "Ꮩ": "V", "Ꮪ": "S", "Ꮮ": "L", "Ꮯ": "C", "Ꮲ": "P", "Ꮶ": "K", "Ᏼ": "B",
    "ꓐ": "B", "ꓑ": "P", "ꓓ": "D", "ꓔ": "T", "ꓖ": "G", "ꓗ": "K", "ꓙ": "J", "ꓚ": "C", "ꓜ": "Z", "ꓝ": "F", "ꓟ": "M",
    "ꓠ": "N", "ꓡ": "L", "ꓢ": "S", "ꓣ": "R", "ꓦ": "V", "ꓧ": "H", "ꓪ": "W", "ꓫ": "X", "ꓬ": "Y", "ꓮ": "A", "ꓰ": "E",
    "ꓲ": "I", "ꓳ": "O", "ꓴ": "U", "ⲟ": "o", "Ⲟ": "O", "ⲣ": "p", "Ⲣ": "P", "ⲥ": "c", "Ⲥ": "C", "Ⲁ": "A",
    # Latin letters that look like the plain ones
    "ı": "i", "ȷ": "j", "ɑ": "a", "ɩ": "i", "ʟ": "L", "ɴ": "N", "ʀ": "R", "ꜱ": "s", "ᴀ": "a", "ᴄ": "c", "ᴅ": "d",
    "ᴇ": "e", "ᴊ": "j", "ᴋ": "k", "ᴍ": "m", "ᴏ": "o", "ᴘ": "p", "ᴛ": "t", "ᴜ": "u", "ᴠ": "v", "ᴡ": "w", "ᴢ": "z",
    "ǀ": "l", "ꟾ": "I", "ⅼ": "l",
}  # fmt: skip
_SAME_SHAPES = str.maketrans({"0": "o", "O": "o", "1": "l", "I": "l", "|": "l"})
"""Characters of ASCII that fonts draw alike."""
_SEPARATORS = str.maketrans(dict.fromkeys("-. \u2010\u2011\u2012\u2013\u2014\u2212", "_"))
_COMPATIBILITY_NAMES = ("FULLWIDTH", "MATHEMATICAL", "DOUBLE-STRUCK", "SCRIPT", "BLACK-LETTER", "CIRCLED", "SQUARED")


def find_twin(letter: str) -> str | None:
    """Return the plain letter or digit that the letter looks like; None for a letter that looks like itself only."""
    if letter.isascii():
        return None
    if letter in _TWINS:
        return _TWINS[letter]
    folded = normalize("NFKC", letter)
    is_variant = name(letter, "").startswith(_COMPATIBILITY_NAMES) and folded.isascii() and folded.isalnum()
    return folded if is_variant else None


def script_of(letter: str) -> str:
    """Return the script of a letter: the first word of its name in Unicode, which is exact enough to tell scripts
    apart."""
    return name(letter, "UNKNOWN").partition(" ")[0]


def shapes_of(text: str) -> frozenset[str]:
    """Return the forms of a name in which names that look alike coincide: without its case and its separators, and
    with each letter as the plain one that it looks like."""
    composed = normalize("NFC", text)
    spelled = "".join(find_twin(letter) or letter for letter in composed)
    plain = normalize("NFKC", spelled).translate(_SEPARATORS)
    return frozenset((plain.casefold(), plain.translate(_SAME_SHAPES).casefold().replace("rn", "m")))
