"""The table of the frameworks that drove the workflow."""

import pytest

from tests.frameworks.drives import ENDPOINTS, FINISHED, Drive
from tests.frameworks.frameworks import FRAMEWORKS, Framework
from tests.frameworks.table import TABLE, format_table, read_table

DRIVES = [
    Drive(FRAMEWORKS[0], "/mcp", ("2026-07-28",), FINISHED, 2.04),
    Drive(FRAMEWORKS[0], "/mcp/flat", ("2024-11-05", "2026-07-28"), "refused: a|b", 0.5),
]


def test_the_page_keeps_what_a_drive_was() -> None:
    page = f"# Clients\n{TABLE.begin}\nold\n{TABLE.end}\n| a | row |\n"
    written = TABLE.replaced(page, f"\n{format_table(DRIVES, '2026-11-20')}\n")
    assert "On 2026-11-20 1 of 2 drives came to the end of the workflow." in written
    name, package = FRAMEWORKS[0].name, f"{FRAMEWORKS[0].package} {FRAMEWORKS[0].version}"
    assert read_table(written) == [
        [name, package, "`/mcp`", "`?names=portable`", "2026-07-28", "finished", "2.0"],
        [name, package, "`/mcp/flat`", "`?names=portable`", "2024-11-05, 2026-07-28", "refused: a/b", "0.5"],
    ]


@pytest.mark.parametrize("framework", FRAMEWORKS, ids=lambda it: it.name)
def test_a_framework_has_a_pinned_version_and_a_block(framework: Framework) -> None:
    assert framework.version[0].isdigit()
    pasted = framework.block.paste("http://localhost:1/mcp/flat", "sp_key")
    assert "http://localhost:1/mcp/flat" in pasted
    assert "sp_key" in pasted


def test_frameworks_are_tried_at_the_endpoints_that_list_workflows() -> None:
    assert ENDPOINTS == ("/mcp", "/mcp/flat")
