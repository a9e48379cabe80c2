"""docs/contributing.md: every file that a recipe names exists."""

import re
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
PACKAGE = PROJECT / "layers/shared/python/signpost"
PAGE = (PROJECT / "docs/contributing.md").read_text()
FILES = sorted(set(re.findall(r"`([\w./]+\.(?:py|md|yaml))`", PAGE)))
FOLDERS = sorted(set(re.findall(r"`([\w/]+/)`", PAGE)))


def test_the_page_has_a_recipe_for_each_common_change() -> None:
    assert len(re.findall(r"^### ", PAGE, re.MULTILINE)) >= 12
    assert len(FILES) > 20


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_a_recipe_exists(name: str) -> None:
    assert (PROJECT / name).is_file() or (PACKAGE / name).is_file()


@pytest.mark.parametrize("name", FOLDERS)
def test_a_folder_of_a_recipe_exists(name: str) -> None:
    assert (PROJECT / name).is_dir() or (PACKAGE / name).is_dir()
