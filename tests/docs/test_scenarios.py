"""docs/scenarios.md leaves none of the scenarios out that it promises."""

import re

import pytest

from tests.docs.scenario_counts import (
    COMPONENT_SERVERS,
    COMPONENTS,
    FAMILIES,
    MOST_REPLACED,
    PAGE,
    STATELESS_SERVERS,
    TOOLKITS,
    KnownScenarios,
    promised_scenarios,
    read_known_scenarios,
    replaced_share,
    report,
    scenario_name,
    scenarios_in,
)


def test_every_promised_scenario_has_a_test_or_a_row() -> None:
    there = promised_scenarios()
    stateless = scenarios_in("A-088 to A-212, S-001 to S-032")
    assert {*COMPONENTS.scenarios, *TOOLKITS.scenarios, *stateless, *scenarios_in("S1 to S86, S240 to S302")} <= {
        *there
    }
    assert [scenario_name(one) for one in read_known_scenarios().counted(there).missing] == []


def test_every_test_named_on_the_page_exists() -> None:
    named = set(re.findall(r"\b(test_\w+)", re.sub(r"\S*\.py", "", PAGE.read_text())))
    assert named - read_known_scenarios().tests == set()


def test_what_replaces_a_scenario_of_a_server_is_a_decision_or_the_streaming_leg() -> None:
    rows, families = read_known_scenarios().rows, (COMPONENT_SERVERS, STATELESS_SERVERS)
    reasons = {words for family in families for one in family.scenarios for words in rows[one]}
    replaced = [words for words in reasons if words.startswith("no counterpart")]
    assert replaced
    assert [words for words in replaced if not re.search(r"decision \d+|streaming leg", words)] == []


def test_few_scenarios_of_components_and_toolkits_are_replaced() -> None:
    assert replaced_share((COMPONENTS, TOOLKITS), read_known_scenarios()) <= MOST_REPLACED


def test_the_counts_of_the_families_add_up() -> None:
    lines = list(report(read_known_scenarios()))
    counts = [list(map(int, line.split()[-4:])) for line in lines[1 : 2 + len(FAMILIES)]]
    assert [sum(column) for column in zip(*counts[:-1], strict=True)] == counts[-1]
    assert sum(counts[-1][:3]) == sum(len(family.scenarios) for family in FAMILIES)
    assert "make scenarios" in PAGE.read_text()


AT = KnownScenarios(
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
def test_a_scenario_is_a_test_unless_its_row_replaces_it(number: str, standing: str) -> None:
    scenarios = list(scenarios_in(number))
    assert getattr(AT.counted(scenarios), standing) == scenarios


def test_scenario_numbers_are_read_as_single_numbers_and_ranges() -> None:
    numbers = ["A-001", "A-003", "A-004", "A-005", "S7", "S-007", "S-008"]
    assert [*map(scenario_name, scenarios_in("A-001, A-003 to A-005, S7, S-007 to S-008"))] == numbers
    assert {*scenarios_in("S7")} & {*scenarios_in("S-007")} == set()
