"""The documents say what is there, and everything that is there is said."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from local.intrinsics import parse_template
from signpost.metrics.gauges import GAUGES
from signpost.surfaces.gateway.tool_specs import GATEWAY_TOOLS

PROJECT = Path(__file__).resolve().parents[2]
PAGES = [PROJECT / "README.md", *sorted((PROJECT / "docs").glob("*.md"))]
TESTS = sorted((PROJECT / "tests").rglob("test_*.py"))
TEST_NAME = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def invariants() -> Iterator[tuple[int, str]]:
    number = 0
    for line in (PROJECT / "docs/invariants.md").read_text().split("\n"):
        numbered = re.match(r"(\d+)\. ", line)
        number = int(numbered[1]) if numbered else number
        for path, test in TEST_NAME.findall(line):
            yield number, f"{path}::{test}"


def marked_tests() -> Iterator[tuple[int, str]]:
    for path in TESTS:
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef):
                for decorator in node.decorator_list:
                    found = re.fullmatch(r"pytest\.mark\.invariant\((\d+)\)", ast.unparse(decorator))
                    if found:
                        yield int(found[1]), f"{path.relative_to(PROJECT)}::{node.name}"


def test_every_invariant_names_exactly_the_tests_marked_with_its_number() -> None:
    assert sorted(invariants()) == sorted(marked_tests())


def test_invariants_are_numbered_without_a_gap() -> None:
    numbers = re.findall(r"^(\d+)\. ", (PROJECT / "docs/invariants.md").read_text(), re.MULTILINE)
    assert [int(number) for number in numbers] == list(range(1, len(numbers) + 1))
    assert {number for number, _ in invariants()} == set(map(int, numbers))


def test_the_scenarios_name_tests_that_exist() -> None:
    named = re.findall(r"`(test_[san]\d+\w*[^_…`]|test_s\w+)`", (PROJECT / "docs/scenarios.md").read_text())
    existing = {
        node.name
        for path in TESTS
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef)
    }
    assert named
    assert set(named) <= existing


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_have_existing_targets(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text()):
        assert (page.parent / target).exists(), target


def test_every_parameter_of_the_template_is_documented() -> None:
    parameters = parse_template((PROJECT / "template.yaml").read_text())["Parameters"]
    assert isinstance(parameters, dict)
    operations = (PROJECT / "docs/operations.md").read_text()
    assert [name for name in parameters if f"`{name}`" not in operations] == []


def test_every_tool_is_documented() -> None:
    readme = (PROJECT / "README.md").read_text()
    assert re.findall(r"^\| `([a-z]+\.[a-z]+)` \|", readme, re.MULTILINE) == [tool.name for tool in GATEWAY_TOOLS]


def test_every_gauge_is_documented_with_its_labels_and_help_text() -> None:
    operations = (PROJECT / "docs/operations.md").read_text()
    assert re.findall(r"^\| `(signpost_\w+)` \| (?:(.*?) )?\| (.*) \|$", operations, re.MULTILINE) == [
        (gauge.name, ", ".join(f"`{label}`" for label in gauge.labels), gauge.help_text) for gauge in GAUGES
    ]


def test_every_make_target_that_a_page_names_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (PROJECT / "Makefile").read_text(), re.MULTILINE))
    for page in PAGES:
        assert set(re.findall(r"(?:^|`|\()make ([a-z-]+)", page.read_text(), re.MULTILINE)) <= targets, page.name
