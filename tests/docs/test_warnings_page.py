"""The page of skills documents each code of a warning."""

import re
from pathlib import Path
from typing import get_args

from signpost.errors import WarningCode

PAGE = (Path(__file__).resolve().parents[2] / "docs/skills.md").read_text()


def test_each_code_of_a_warning_is_documented_with_an_example() -> None:
    table = PAGE.partition("<!-- warnings:")[2].partition("\n- ")[0]
    rows = re.findall(r"^\| `(\w+)` \| (.+?) \| (.+) \|$", table, re.MULTILINE)
    assert [code for code, _, _ in rows] == list(get_args(WarningCode.__value__))
