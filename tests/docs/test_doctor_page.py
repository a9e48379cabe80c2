"""docs/doctor.md has a row for each check and each code of a finding, and a rule gives each of them."""

import re
from pathlib import Path
from typing import get_args

import pytest

from signpost.cli import main
from signpost.cli.doctor.doctor_command import CHECKS
from signpost.cli.doctor.findings import DoctorErrorCode, DoctorNoteCode, DoctorWarningCode

PROJECT = Path(__file__).resolve().parents[2]
PAGE = (PROJECT / "docs/doctor.md").read_text()
RULES = PROJECT / "layers/shared/python/signpost/cli/doctor/rules"
REMEDIES = "".join(path.read_text() for path in (*RULES.glob("*.py"), RULES.parent / "findings.py"))
CODES = {
    "errors": get_args(DoctorErrorCode.__value__),
    "warnings": get_args(DoctorWarningCode.__value__),
    "notes": get_args(DoctorNoteCode.__value__),
}


def list_rows(table: str) -> list[str]:
    text = PAGE.partition(f"<!-- {table} -->")[2].partition(f"<!-- /{table} -->")[0]
    return re.findall(r"^\| `([a-z_-]+)` \| .+ \|$", text, re.MULTILINE)


@pytest.mark.parametrize("severity", sorted(CODES))
def test_each_code_has_a_row_under_its_severity(severity: str) -> None:
    assert list_rows(severity) == list(CODES[severity])


def test_each_check_has_a_row() -> None:
    assert list_rows("checks") == list(CHECKS)


@pytest.mark.parametrize("code", sorted(code for codes in CODES.values() for code in codes))
def test_a_rule_gives_each_code_and_a_test_names_it(code: str) -> None:
    assert any(f'"{code}"' in path.read_text() for path in RULES.glob("*.py"))
    assert any(f'"{code}"' in path.read_text() for path in (PROJECT / "tests/unit/cli/doctor").glob("*.py"))


def list_anchors(page: str) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", (PROJECT / page).read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("place", sorted(set(re.findall(r"docs/[a-z-]+\.md(?:#[\w-]+)?", REMEDIES))))
def test_a_page_that_a_remedy_names_has_the_section(place: str) -> None:
    page, _, anchor = place.partition("#")
    assert (PROJECT / page).exists()
    assert not anchor or anchor in list_anchors(page)


@pytest.mark.parametrize("command", sorted(set(re.findall(r"signpost ([a-z]+ [a-z]+)", REMEDIES))))
def test_a_command_that_a_remedy_names_exists(command: str) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*command.split(), "--help"])
    assert ended.value.code == 0
