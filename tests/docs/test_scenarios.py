"""docs/scenarios.md leaves none of the scenarios out that it promises."""

import re

import pytest

from tests.docs.scenario_counts import (
    COMPONENTS,
    FAMILIES,
    MOST_REPLACED,
    PAGE,
    TOOLKITS,
    Known,
    known,
    promised,
    replaced_share,
    report,
    scenarios_in,
    spelled,
)


def test_every_scenario_that_a_heading_names_is_a_test_or_a_row_says_what_stands_in_its_place() -> None:
    there = promised()
    assert {*COMPONENTS.scenarios, *TOOLKITS.scenarios, *scenarios_in("S1 to S63, S240 to S302")} <= {*there}
    assert [spelled(one) for one in known().counted(there).missing] == []


def test_every_test_that_the_page_names_is_there() -> None:
    named = set(re.findall(r"\b(test_\w+)", re.sub(r"\S*\.py", "", PAGE.read_text())))
    assert named - known().tests == set()


def test_of_components_and_toolkits_few_are_replaced() -> None:
    assert replaced_share((COMPONENTS, TOOLKITS), known()) <= MOST_REPLACED


def test_the_counts_are_of_each_family_and_add_up() -> None:
    lines = list(report(known()))
    counts = [list(map(int, line.split()[-4:])) for line in lines[1 : 2 + len(FAMILIES)]]
    assert [sum(column) for column in zip(*counts[:-1], strict=True)] == counts[-1]
    assert sum(counts[-1][:3]) == sum(len(family.scenarios) for family in FAMILIES)
    assert "make scenarios" in PAGE.read_text()


AT = Known(
    carried=frozenset({("S", 1), ("S", 2)}),
    rows={
        ("S", 2): ["later, with policy"],
        ("S", 3): ["otherwise. `test_it`"],
        ("S", 4): ["no counterpart, see `test_it`"],
        ("S", 5): ["as `test_that_is_gone` says"],
    },
    tests=frozenset({"test_it"}),
)


@pytest.mark.parametrize(
    ("number", "standing"),
    [("S1", "tests"), ("S2", "replaced"), ("S3", "tests"), ("S4", "replaced"), ("S5", "replaced"), ("S6", "missing")],
)
def test_a_scenario_is_a_test_unless_its_row_puts_something_in_its_place(number: str, standing: str) -> None:
    scenarios = list(scenarios_in(number))
    assert getattr(AT.counted(scenarios), standing) == scenarios


def test_numbers_are_read_one_by_one_and_from_one_to_another() -> None:
    assert [*map(spelled, scenarios_in("A-001, A-003 to A-005, S7"))] == ["A-001", "A-003", "A-004", "A-005", "S7"]
