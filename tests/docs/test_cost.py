"""docs/operations.md has the costs that `make cost` prints."""

import re
from pathlib import Path

import pytest

from bench.cost import (
    CallUsage,
    cost_of_idle_month,
    cost_of_thousand_effects,
    cost_of_thousand_steps,
    cost_per_thousand,
)
from bench.step_rows import UNITS_OF_A_TRANSACTION, measure_step

PAGE = (Path(__file__).resolve().parents[2] / "docs/operations.md").read_text().partition("\n## Cost\n")[2]
STEP = measure_step()
STEP_COSTS = cost_of_thousand_steps(STEP)


@pytest.mark.parametrize(
    ("entry", "cost"),
    [
        ("idle, a month", sum(cost_of_idle_month().values())),
        ("1,000 warm calls", sum(cost_per_thousand(CallUsage()).values())),
        ("1,000 effects by `ctx.once`", sum(cost_of_thousand_effects(CallUsage()).values())),
        ("1,000 steps of a workflow", sum(STEP_COSTS.values())),
        ("of that, the rows by which the runs are in lists", STEP_COSTS["Rows of the lists of runs"]),
    ],
)
def test_the_page_has_the_cost_that_is_computed(entry: str, cost: float) -> None:
    (stated,) = re.findall(rf"^\| {entry}.* \| ([\d.]+) \|$", PAGE, re.MULTILINE)
    decimals = len(stated.partition(".")[2])
    assert float(stated) == round(cost, decimals)


def test_a_step_writes_two_small_rows_for_lists() -> None:
    """The page says that they have about 400 bytes and cost four write units."""
    listed = [row for row in STEP if row.is_of_a_list]
    assert [row.units for row in listed] == [UNITS_OF_A_TRANSACTION] * 2
    assert all(350 < row.size < 450 for row in listed)
    assert sum(row.units for row in STEP if not row.is_of_a_list) == 16, "so they add a quarter"
    assert len(STEP) == 6
