"""docs/testing.md names the folders and the commands that there are, and its example passes as pasted."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.laptop import MakeKey, Stack

PROJECT = Path(__file__).resolve().parents[2]
PAGE = (PROJECT / "docs/testing.md").read_text()
FIXTURES = {"data"}
"""Folders of files alone."""


def test_every_folder_of_tests_has_a_row() -> None:
    there = {path.name for path in (PROJECT / "tests").iterdir() if path.is_dir() and not path.name.startswith("__")}
    assert set(re.findall(r"^\| `tests/(\w+)` \|", PAGE, re.MULTILINE)) == there - FIXTURES


def test_every_variable_of_a_command_is_read_by_the_makefile() -> None:
    makefile = (PROJECT / "Makefile").read_text()
    named = set(re.findall(r"\b([A-Z]{4,})=", PAGE))
    assert named == {name for name in named if f"$({name})" in makefile}
    assert {"BASE", "CHANGED", "CLOUD", "EXPLAIN", "FRESH", "LOAD", "PATHS", "REPEAT"} <= named


def test_the_page_has_one_place_for_the_times_of_a_run() -> None:
    assert len(re.findall(r"^<!-- times -->\n.*?\n<!-- /times -->$", PAGE, re.MULTILINE | re.DOTALL)) == 1


@pytest.mark.cloud
def test_the_example_of_a_test_on_the_cloud_passes(product_stack: Stack, make_key: MakeKey) -> None:
    (block,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    defined: dict[str, Any] = {}
    exec(block, defined)  # noqa: S102 - that it runs as pasted is what is tested
    assert defined["pytestmark"] == pytest.mark.cloud
    defined["test_a_client_with_a_key_lists_seven_tools"](product_stack, make_key)
