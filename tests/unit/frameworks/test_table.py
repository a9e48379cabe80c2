"""The table of the frameworks that drove the workflow."""

from dataclasses import replace
from typing import Any

import pytest

from tests.frameworks.drives import ENDPOINTS, FINISHED, Drive
from tests.frameworks.frameworks import FRAMEWORKS, Framework
from tests.frameworks.table import TABLE, read_table, replace_table

DRIVES = [
    Drive(FRAMEWORKS[0], "/mcp", ("2026-07-28",), FINISHED, 2.04),
    Drive(FRAMEWORKS[0], "/mcp/flat", ("2024-11-05", "2026-07-28"), "refused: a|b", 0.5),
]


def test_the_page_keeps_the_result_of_a_drive() -> None:
    page = f"# Clients\n{TABLE.begin}\nold\n{TABLE.end}\n| a | row |\n"
    written = replace_table(page, DRIVES, "2026-11-20")
    assert "On 2026-11-20 1 of 2 drives came to the end of the workflow." in written
    name, package = FRAMEWORKS[0].name, f"{FRAMEWORKS[0].package} {FRAMEWORKS[0].version}"
    assert read_table(written) == [
        [name, package, "`/mcp`", "`?names=portable`", "2026-07-28", "finished", "2.0"],
        [name, package, "`/mcp/flat`", "`?names=portable`", "2024-11-05, 2026-07-28", "refused: a/b", "0.5"],
    ]


def test_a_table_that_differs_in_its_date_and_seconds_alone_stays() -> None:
    page = f"# Clients\n{TABLE.begin}\n{TABLE.end}\n"
    written = replace_table(page, DRIVES, "2026-11-20")
    slower = [replace(drive, seconds=drive.seconds + 1) for drive in DRIVES]
    assert replace_table(written, slower, "2026-12-01") == written


@pytest.mark.parametrize(
    "changed",
    [
        {"result": "did not end"},
        {"revisions": ("2025-11-25",)},
        {"endpoint": "/mcp/flat"},
        {"framework": FRAMEWORKS[1]},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_a_table_with_another_fact_about_a_drive_is_written_anew(changed: dict[str, Any]) -> None:
    page = f"# Clients\n{TABLE.begin}\n{TABLE.end}\n"
    written = replace_table(page, DRIVES, "2026-11-20")
    drives = [replace(DRIVES[0], **changed), *DRIVES[1:]]
    assert replace_table(written, drives, "2026-12-01") == replace_table(page, drives, "2026-12-01") != written


@pytest.mark.parametrize("framework", FRAMEWORKS, ids=lambda it: it.name)
def test_a_framework_has_a_pinned_version_and_a_block(framework: Framework) -> None:
    assert framework.version[0].isdigit()
    pasted = framework.block.paste("http://localhost:1/mcp/flat", "sp_key")
    assert "http://localhost:1/mcp/flat" in pasted
    assert "sp_key" in pasted


def test_frameworks_are_tried_at_the_endpoints_that_list_workflows() -> None:
    assert ENDPOINTS == ("/mcp", "/mcp/flat")
