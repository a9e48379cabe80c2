"""The examples of docs/interaction.md work as they stand there."""

import re
from pathlib import Path
from typing import Any

import pytest

PROJECT = Path(__file__).resolve().parents[2]
PAGE = (PROJECT / "docs/interaction.md").read_text()
HEADINGS = re.findall(r"^## (.+)$", PAGE, flags=re.MULTILINE)
SECTIONS = dict(zip(HEADINGS, re.split(r"^## .+$", PAGE, flags=re.MULTILINE)[1:], strict=True))


def find_example(heading: str) -> str:
    """Return the one example of a section."""
    (example,) = re.findall(r"^```python\n(.*?)^```$", SECTIONS[heading], flags=re.MULTILINE | re.DOTALL)
    return example


@pytest.mark.parametrize("heading", HEADINGS)
def test_the_example_of_a_section_passes_its_own_tests(heading: str) -> None:
    names: dict[str, Any] = {"__name__": "example"}
    exec(compile(find_example(heading), f"docs/interaction.md: {heading}", "exec"), names)  # noqa: S102 - of the page
    tests = [name for name in names if name.startswith("test_")]
    assert tests
    for name in tests:
        names[name]()


@pytest.mark.parametrize("heading", HEADINGS)
def test_an_example_needs_only_the_package(heading: str) -> None:
    imported = re.findall(r"^(?:from|import) (\w+)", find_example(heading), flags=re.MULTILINE)
    assert set(imported) == {"signpost"}
