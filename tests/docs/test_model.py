"""The page on the model: it names every action, every promise and every fault of it, and code that is there."""

import re
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path

import pytest

from tests.model.test_claims_model import BROKEN, SOUND

PROJECT = Path(__file__).resolve().parents[2]
PAGE = (PROJECT / "docs/model.md").read_text()
MODEL = (PROJECT / "tests/model/Claims.tla").read_text()
NAME = re.compile(r"`([^`]+)`")
_PARTS = re.split(r"^(\w+)(?:\([\w, ]+\))? ==", MODEL, flags=re.MULTILINE)[1:]
OPERATORS: Mapping[str, str] = dict(zip(_PARTS[::2], _PARTS[1::2], strict=True))
"""Everything that the model defines, with what it is."""


def read_rows(heading: str) -> Iterator[list[str]]:
    """Of the table below a heading, without its head."""
    below = PAGE.split(f"## {heading}\n", 1)[1].split("\n## ")[0]
    for line in re.findall(r"^\|(.+)\|$", below, re.MULTILINE)[2:]:
        yield [cell.strip() for cell in line.split("|")]


def model_actions() -> set[str]:
    """Those that `Next` consists of: they say what becomes of variables."""
    named = set(re.findall(r"\w+", OPERATORS["Next"] + OPERATORS["Happens"]))
    return {name for name in named & OPERATORS.keys() - {"Happens"} if "UNCHANGED" in OPERATORS[name]}


def documented_code() -> Iterator[str]:
    for _, cell, _ in read_rows("Which action is which code"):
        yield from NAME.findall(cell)


def test_every_action_of_the_model_is_listed_with_its_code() -> None:
    listed = [name for cell, _, _ in read_rows("Which action is which code") for name in NAME.findall(cell)]
    assert {"ReadAndClaim", "TakeOver", "Forget", "Act", "Expire"} < model_actions()
    assert model_actions() <= set(listed) <= OPERATORS.keys()
    assert len(listed) == len(set(listed))


@pytest.mark.parametrize("name", sorted(set(documented_code())))
def test_the_named_code_exists(name: str) -> None:
    module, *parts = _split(name)
    found: object = import_module(f"signpost.{module}")
    for part in parts:
        found = getattr(found, part)


def _split(name: str) -> list[str]:
    """The module, and what of it."""
    parts = name.split(".")
    folder = PROJECT / "layers/shared/python/signpost"
    for length in range(len(parts), 0, -1):
        if folder.joinpath(*parts[:length]).with_suffix(".py").exists():
            return [".".join(parts[:length]), *parts[length:]]
    raise AssertionError(f"There is no module {name}")


def test_every_promise_and_every_broken_model_is_explained() -> None:
    promised = {NAME.findall(cell)[0] for cell, _ in read_rows("What it promises")}
    assert promised == set().union(*SOUND.values()) - {"TypesFit"}
    broken = {_file_of(what): NAME.findall(breaks)[0] for what, breaks, _ in read_rows("What each rule is for")}
    assert broken == BROKEN


def _file_of(what_is_done: str) -> str:
    return f"broken-{what_is_done.replace(' ', '-')}"
