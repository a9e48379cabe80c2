"""Rules of the repository that no linter knows."""

import ast
import re
import statistics
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
PACKAGE = PROJECT / "layers/shared/python/signpost"
CODE = [
    path
    for folder in ("layers/shared/python/signpost", "functions", "local", "bench", "tests")
    for path in sorted((PROJECT / folder).rglob("*.py"))
]
LONGEST_FUNCTION = 40


def functions_of(path: Path) -> Iterator[tuple[str, int]]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"{path.relative_to(PROJECT)}:{node.lineno} {node.name}", (node.end_lineno or 0) - node.lineno + 1


def test_functions_are_small() -> None:
    lengths = dict(found for path in CODE if "tests" not in path.parts for found in functions_of(path))
    assert {name: length for name, length in lengths.items() if length > LONGEST_FUNCTION} == {}
    assert statistics.median(lengths.values()) < 10
    assert statistics.quantiles(lengths.values(), n=10)[-1] <= 25


@pytest.mark.parametrize("path", [path for path in CODE if path.name == "app.py"], ids=str)
def test_an_app_module_has_no_more_lines_than_a_function(path: Path) -> None:
    assert len(path.read_text().split("\n")) <= LONGEST_FUNCTION


def test_no_module_has_a_catch_all_name() -> None:
    assert {path.stem for path in CODE} & {
        "utils",
        "util",
        "helpers",
        "helper",
        "common",
        "misc",
        "core",
        "shared",
    } == set()


def base_names(tree: ast.Module) -> set[str]:
    """The names of all base classes of a module."""
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    return {base.id for node in classes for base in node.bases if isinstance(base, ast.Name)}


def test_protocols_of_ports_are_imported_for_types_only() -> None:
    """Unless a class of the module inherits from one."""
    trees = {path: ast.parse(path.read_text()) for path in PACKAGE.rglob("*.py")}
    protocols = {
        (".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts), node.name)
        for path, tree in trees.items()
        for node in tree.body
        if path.name == "ports.py" and isinstance(node, ast.ClassDef)
        if any(isinstance(base, ast.Name) and base.id == "Protocol" for base in node.bases)
    }
    assert protocols
    imported = {
        (str(path.relative_to(PACKAGE)), statement.module, name.name)
        for path, tree in trees.items()
        for statement in tree.body
        if isinstance(statement, ast.ImportFrom)
        for name in statement.names
        if (statement.module, name.name) in protocols and name.name not in base_names(tree)
    }
    assert imported == set()


@pytest.mark.parametrize("path", sorted((PROJECT / "requirements").glob("*.txt")), ids=lambda path: path.name)
def test_requirements_have_hashes_and_name_no_index(path: Path) -> None:
    text = path.read_text()
    assert "://" not in text
    pins = re.findall(r"^[a-z0-9].*==.*$", text, re.MULTILINE)
    assert pins
    assert all(pin.endswith("\\") for pin in pins)


@pytest.mark.parametrize(
    "lock", sorted((PROJECT / "requirements").glob("*/package-lock.json")), ids=lambda lock: lock.parent.name
)
def test_a_lock_of_node_packages_names_no_registry(lock: Path) -> None:
    assert '"resolved"' not in lock.read_text()


def test_the_layers_pins_satisfy_the_projects_dependencies() -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    pinned = set(re.findall(r"^([a-z0-9-]+)==", (PROJECT / "requirements/layer.txt").read_text(), re.MULTILINE))
    for dependency in project["dependencies"]:
        assert re.split(r"[\[>=<]", dependency)[0] in pinned


def test_package_and_project_have_the_same_version() -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    package = (PROJECT / "layers/shared/python/signpost/__init__.py").read_text()
    assert f'__version__ = "{project["version"]}"' in package


def test_the_readme_has_at_most_150_lines() -> None:
    assert len((PROJECT / "README.md").read_text().split("\n")) <= 150


SUPPRESSION = re.compile(r"# (?:noqa: [A-Z0-9, ]+|pyright: ignore\[\w+(?:, \w+)*\])")


def unexplained_suppressions(path: Path) -> Iterator[str]:
    """A reason stands behind the suppression or in a comment on the line above."""
    above = ""
    for number, line in enumerate(path.read_text().split("\n"), 1):
        reason = SUPPRESSION.split(line)[-1].strip(" -#")
        if SUPPRESSION.search(line) and not reason and not above.strip().startswith("#"):
            yield f"{path.relative_to(PROJECT)}:{number}"
        above = line


def test_every_suppression_has_a_reason() -> None:
    assert [place for path in CODE for place in unexplained_suppressions(path)] == []
