"""Finds names that a reader takes for other names: letters of another script, and two names that look alike.

Names that differ in one letter, such as `list_issue` and `list_issues`, are common and no hazard."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from unicodedata import category

from signpost.hazards.characters import find_hidden_characters
from signpost.hazards.confusables import find_twin, script_of, shapes_of
from signpost.hazards.model import Hazard

_WORD = re.compile(r"[^\W_]+")
LONGEST_QUOTE = 80


def find_name_hazards(name: str) -> Iterator[Hazard]:
    """Find the hazards of one name: hidden characters and letters of several scripts."""
    yield from (Hazard(hazard.code, hazard.message) for hazard in find_hidden_characters(name))
    if not name.isascii() and (letter := _find_foreign_letter(name)):
        twin = find_twin(letter)
        message = f"U+{ord(letter):04X} of the script {script_of(letter).capitalize()} looks like {twin!r} of its other"
        yield Hazard("mixed_scripts", f"{message} letters. Write the name in one script.")


def find_look_alikes(
    names: Iterable[str], others: Iterable[str] = (), *, label: str = "another name"
) -> Iterator[tuple[str, Hazard]]:
    """Find the names that look like another one of them, or like one of the others. Of two names that look alike, the
    later one is found: it is the one that needs another spelling."""
    known = {shape: other for other in others for shape in shapes_of(other)}
    for name in dict.fromkeys(names):
        shapes = shapes_of(name)
        alike = [known[shape] for shape in sorted(shapes) if shape in known and known[shape] != name]
        if alike:
            yield name, Hazard("look_alike_name", f"looks like {label}, {quote_name(alike[0])}. Rename one of them.")
        known.update((shape, name) for shape in shapes if shape not in known)


def find_label_hazards(names: Sequence[str], label: str) -> Iterator[tuple[str, Hazard]]:
    """Find the hazards of names that stand beside each other: those of each, and of those that look alike."""
    for name in names:
        yield from ((name, hazard) for hazard in find_name_hazards(name))
    yield from find_look_alikes(names, label=label)


def quote_name(name: str) -> str:
    """Quote a name for a message: shortened, and with every character that is not of ASCII escaped, so that the
    difference shows."""
    return ascii(name if len(name) <= LONGEST_QUOTE else f"{name[:LONGEST_QUOTE]}…")


def _find_foreign_letter(name: str) -> str | None:
    """Find a letter that looks like one of another script that the name also has.

    In words of one script it counts only if all letters of its script in the name look like others: `open_сору` is
    found, and `отчёт_copy` is fine."""
    for word in _WORD.findall(name):
        if letter := _find_foreign_in(word):
            return letter
    letters = [letter for letter in name if category(letter)[0] == "L"]
    twins: Mapping[str, str] = {letter: twin for letter in letters if (twin := find_twin(letter))}
    has_plain = any(letter.isascii() for letter in letters)
    own_scripts = {script_of(letter) for letter in letters if not letter.isascii() and letter not in twins}
    return next((letter for letter in twins if has_plain and script_of(letter) not in own_scripts), None)


def _find_foreign_in(word: str) -> str | None:
    letters = [letter for letter in word if category(letter)[0] == "L"]
    scripts = {script_of(letter) for letter in letters}
    if len(scripts) < 2:
        return None
    return next((letter for letter in letters if not letter.isascii() and find_twin(letter)), None)
