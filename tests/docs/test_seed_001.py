"""docs/seed-001.md has each name of Anubis' server, and what it links to exists."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from signpost.records import dataclass
from tests.docs.scenario_counts import read_known_scenarios

PROJECT = Path(__file__).resolve().parents[2]
PAGE = (PROJECT / "docs/seed-001.md").read_text()
LIST = json.loads((PROJECT / "tests/data/anubis-server-names.json").read_text())
DECISIONS = 16
"""The number of decisions of the product."""


@dataclass(frozen=True, slots=True)
class Row:
    name: str
    here: str
    described: str
    test: str

    @property
    def reasons(self) -> list[int]:
        return [int(number) for number in re.findall(r"decision (\d+)", self.here)]


def read_rows(heading: str) -> Iterator[Row]:
    """Read the table of a section."""
    section = re.split(rf"^## {heading}$", PAGE, flags=re.MULTILINE)[1].partition("\n## ")[0]
    for line in section.splitlines():
        if line.startswith("| `"):
            name, here, described, test = (cell.strip() for cell in line.strip("|").split("|"))
            yield Row(name.strip("`"), here, described, test)


HEADINGS = re.findall(r"^## (.+)$", PAGE, flags=re.MULTILINE)
ROWS = [row for heading in HEADINGS for row in read_rows(heading)]


def test_the_page_has_exactly_the_names_of_the_list() -> None:
    listed = {kind.lower(): names for kind, names in LIST["names"].items()}
    assert {heading.lower(): [row.name for row in read_rows(heading)] for heading in HEADINGS} == listed


def test_the_list_of_names_says_where_it_comes_from() -> None:
    assert "anubis_mcp 1.6.1" in LIST["source"]
    assert "LGPL-3.0" in LIST["licence"]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_name_has_a_form_that_a_page_describes_or_a_reason(row: Row) -> None:
    assert row.here
    assert row.described or row.reasons or "streaming leg" in row.here
    assert not row.here.startswith("no form") or row.reasons
    assert all(1 <= number <= DECISIONS for number in row.reasons)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_the_section_that_describes_a_name_exists(row: Row) -> None:
    for page, anchor in re.findall(r"\]\(([\w-]+\.md)(?:#([\w-]+))?\)", row.described):
        headings = re.findall(r"^#+ (.+)$", (PROJECT / "docs" / page).read_text(), flags=re.MULTILINE)
        assert not anchor or anchor in map(slug_of, headings), f"{page}#{anchor}"


def slug_of(heading: str) -> str:
    """Return the anchor that a heading gets."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def test_every_test_of_the_page_exists() -> None:
    tests = read_known_scenarios().tests
    named = {name for row in ROWS for name in re.findall(r"`(test_\w+)`", row.test)}
    assert all(re.search(r"`test_\w+`", row.test) for row in ROWS)
    assert named - tests == set()
