"""How many of the acceptance scenarios are tests, and of how many a row says what stands in their place:
`make scenarios`."""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
PAGE = PROJECT / "docs/scenarios.md"

type Scenario = tuple[str, int]
"""The letter and the number. Numbers of S that begin with a zero are a family of their own: S-012 is not S12."""
STATELESS = "S-"

NUMBER = r"[SAN]-?\d+"
NUMBERS = rf"{NUMBER}(?:(?:, | to ){NUMBER})*"
IN_PLACE = ("later", "no counterpart")
"""How a row begins that replaces its scenarios, whatever tests it names beside."""
MOST_REPLACED = 0.15


@dataclass(frozen=True, slots=True)
class Family:
    letter: str
    first: int
    last: int

    @property
    def scenarios(self) -> Sequence[Scenario]:
        return [(self.letter, number) for number in range(self.first, self.last + 1)]


COMPONENTS, TOOLKITS = Family("A", 1, 87), Family("N", 1, 84)
COMPONENT_SERVERS, STATELESS_SERVERS = Family("A", 88, 212), Family(STATELESS, 1, 32)
FAMILIES = (
    COMPONENTS, COMPONENT_SERVERS, TOOLKITS, STATELESS_SERVERS, Family("S", 1, 55), Family("S", 56, 86),
    Family("S", 125, 144), Family("S", 171, 239),
    Family("S", 240, 263), Family("S", 264, 302),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ScenarioCounts:
    """Each of them is one of these."""

    tests: Sequence[Scenario]
    replaced: Sequence[Scenario]
    missing: Sequence[Scenario]
    explained: Sequence[Scenario]
    """Those among the tests of which the page says more than which: mostly what is different in Signpost."""


@dataclass(frozen=True, slots=True)
class KnownScenarios:
    """What the tests and the page say."""

    carried: frozenset[Scenario]
    """Those whose number is in the name of a test."""
    rows: Mapping[Scenario, Sequence[str]]
    """What the page says of a scenario."""
    tests: frozenset[str]

    def counted(self, scenarios: Iterable[Scenario]) -> ScenarioCounts:
        found: dict[str, list[Scenario]] = {"tests": [], "replaced": [], "missing": []}
        for scenario in scenarios:
            found[self._standing(scenario)].append(scenario)
        explained = [one for one in found["tests"] if any(map(_says_more, self.rows.get(one, ())))]
        return ScenarioCounts(**found, explained=explained)

    def _standing(self, scenario: Scenario) -> str:
        said = self.rows.get(scenario, ())
        if any(words.startswith(IN_PLACE) for words in said):
            return "replaced"
        named = any(name in self.tests for words in said for name in re.findall(r"`(test_\w+)`", words))
        if named or scenario in self.carried:
            return "tests"
        return "replaced" if said else "missing"


def _says_more(words: str) -> bool:
    """Than the names of tests, and where they stand."""
    return re.search(r"[a-z]{2}", re.sub(r"`[^`]*`|and for|also", "", words)) is not None


def read_known_scenarios() -> KnownScenarios:
    tests = frozenset(_tests())
    carried = frozenset(scenario for name in tests for scenario in _carried_by(name))
    rows: dict[Scenario, list[str]] = {}
    for cell, words in re.findall(r"^\| (.+?) \| (.+) \|$", PAGE.read_text(), re.MULTILINE):
        if begins := re.match(NUMBERS, cell):
            for scenario in scenarios_in(begins[0]):
                rows.setdefault(scenario, []).append(words)
    return KnownScenarios(carried, rows, tests)


def promised_scenarios() -> Sequence[Scenario]:
    """What a heading of the page says that there is."""
    headings = re.findall(rf"^## .*\(({NUMBERS})\)$", PAGE.read_text(), re.MULTILINE)
    return [scenario for numbers in headings for scenario in scenarios_in(numbers)]


def scenarios_in(numbers: str) -> Iterator[Scenario]:
    """`A-001, A-003 to A-005` are four."""
    for part in numbers.split(", "):
        first, _, last = part.partition(" to ")
        letter, begin = scenario_of(first)
        yield from ((letter, number) for number in range(begin, scenario_of(last or first)[1] + 1))


def scenario_of(number: str) -> Scenario:
    digits = number[1:].lstrip("-")
    return STATELESS if number[0] == "S" and digits.startswith("0") else number[0], int(digits)


def _tests() -> Iterator[str]:
    for path in (PROJECT / "tests").rglob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                yield node.name


def _carried_by(name: str) -> Iterator[Scenario]:
    """`test_a066_a067_only_tools_…` plays two."""
    if begins := re.match(r"test_((?:[san]\d+_)+)", name):
        yield from (scenario_of(number.upper()) for number in begins[1].rstrip("_").split("_"))


def replaced_share(families: Iterable[Family], at: KnownScenarios) -> float:
    scenarios = [scenario for family in families for scenario in family.scenarios]
    return len(at.counted(scenarios).replaced) / len(scenarios)


def scenario_name(scenario: Scenario) -> str:
    letter, number = scenario
    return f"S{number}" if letter == "S" else f"{letter[0]}-{number:03}"


def report(at: KnownScenarios) -> Iterator[str]:
    yield f"{'scenarios':<18}{'tests':>7}{'replaced':>10}{'missing':>9}{'explained':>11}"
    for family in FAMILIES:
        counted = at.counted(family.scenarios)
        title = f"{scenario_name(family.scenarios[0])} to {scenario_name(family.scenarios[-1])}"
        yield _line(title, counted)
    every = at.counted(scenario for family in FAMILIES for scenario in family.scenarios)
    yield _line("together", every)
    yield f"\nreplaced: {', '.join(map(scenario_name, every.replaced))}"
    yield f"missing: {', '.join(map(scenario_name, every.missing)) or 'none'}"
    share = replaced_share((COMPONENTS, TOOLKITS), at)
    yield f"\nOf A and N {share:.1%} are replaced, of at most {MOST_REPLACED:.0%}."
    yield "Explained are those tests of which the page says more than their names: mostly what is different here."


def _line(title: str, counted: ScenarioCounts) -> str:
    numbers = (len(some) for some in (counted.tests, counted.replaced, counted.missing, counted.explained))
    return title.ljust(18) + "".join(
        f"{number:>{width}}" for number, width in zip(numbers, (7, 10, 9, 11), strict=True)
    )


if __name__ == "__main__":
    print(*report(read_known_scenarios()), sep="\n")
