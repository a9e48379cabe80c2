"""docs/glossary.md: one row a word, and the code that each row names."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
PACKAGE = PROJECT / "layers/shared/python/signpost"


def read_rows() -> Iterator[tuple[str, str]]:
    """The term of each row, and the cell that names its code."""
    for line in (PROJECT / "docs/glossary.md").read_text().split("\n"):
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) == 6 and cells[1] != "term" and not cells[1].startswith("-"):
            yield cells[1], cells[3]


def find(name: str) -> object:
    """The module, class, function or member of this name below `signpost`. Raises AttributeError."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found: object = import_module(".".join(["signpost", *parts[:length]]))
        except ModuleNotFoundError:
            continue
        for part in parts[length:]:
            found = getattr(found, part)
        return found
    raise AttributeError(name)


def test_a_term_has_one_row() -> None:
    assert [term for term, times in Counter(term for term, _ in read_rows()).items() if times > 1] == []


@pytest.mark.parametrize("name", sorted({name for _, cell in read_rows() for name in re.findall(r"`([^`]+)`", cell)}))
def test_the_code_of_a_term_exists(name: str) -> None:
    find(name)


def test_a_class_name_is_unique_in_the_package() -> None:
    modules: dict[str, list[str]] = defaultdict(list)
    for path in PACKAGE.rglob("*.py"):
        for name in re.findall(r"^\s*class (\w+)", path.read_text(), re.MULTILINE):
            modules[name].append(str(path.relative_to(PACKAGE)))
    assert {name: found for name, found in modules.items() if len(found) > 1} == {}
