"""Every mutant fits the sources, and what it names exists."""

import ast
import re
from pathlib import Path

import pytest

from tests.mutants.catalogue import MUTANTS
from tests.mutants.mutant import MisfitError, Mutant

PROJECT = Path(__file__).resolve().parents[3]
PROMISES = (PROJECT / "docs/invariants.md").read_text()

each_mutant = pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)


@each_mutant
def test_a_mutant_replaces_a_text_that_its_file_has_once(mutant: Mutant) -> None:
    source = (PROJECT / mutant.file).read_text()
    assert mutant.apply_to(source) != source


@each_mutant
def test_a_mutant_breaks_a_promise_that_exists(mutant: Mutant) -> None:
    assert re.search(rf"^{mutant.invariant}\. ", PROMISES, re.MULTILINE)


@each_mutant
def test_a_mutant_names_tests_that_exist(mutant: Mutant) -> None:
    assert mutant.tests
    for named in mutant.tests:
        file, _, test = named.partition("::")
        tree = ast.parse((PROJECT / file).read_text())
        functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        assert any(name.startswith("test_") for name in functions), file
        assert not test or test in functions, named


def test_mutant_names_are_unique_and_fourteen_invariants_have_local_mutants() -> None:
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)
    assert len({mutant.invariant for mutant in MUTANTS if mutant.needs != "cloud"}) >= 14


def mutant_of(there: str, instead: str) -> Mutant:
    return Mutant("a-mutant", 1, "thing.py", there, instead, ("test_thing.py",))


def test_a_mutant_changes_the_one_place_that_has_its_text() -> None:
    assert mutant_of("2", "3").apply_to("one = 1\ntwo = 2\n") == "one = 1\ntwo = 3\n"


@pytest.mark.parametrize(("source", "times"), [("", 0), ("one = 1\n", 0), ("two = 2\nfour = 2 + 2\n", 3)])
def test_a_mutant_without_one_matching_place_is_a_misfit(source: str, times: int) -> None:
    with pytest.raises(MisfitError, match=f"a-mutant cannot be applied: thing.py has its text {times} times"):
        mutant_of("2", "3").apply_to(source)


def test_a_mutant_that_makes_its_module_invalid_is_a_misfit() -> None:
    with pytest.raises(MisfitError, match=r"a-mutant makes line 2 of thing.py invalid"):
        mutant_of("2", "=").apply_to("one = 1\ntwo = 2\n")
