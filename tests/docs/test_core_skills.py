"""The core functions are as their pages say, and every example of them works."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from core_skills.hosted import core_toolkits
from signpost.adapters.alarm import alarm
from signpost.contract import Result
from signpost.schema.validation import Validators
from signpost.toolkit import Function
from tests.support.function_host import FunctionHost

PROJECT = Path(__file__).resolve().parents[2]
REFERENCE = (PROJECT / "docs/core-skills.md").read_text()
DOCUMENTS = {path.stem: path.read_text() for path in (PROJECT / "functions/registry/skills/core").glob("*.md")}
FUNCTIONS = {function.id: function for kit in core_toolkits({}) for function in kit.functions}
LONGEST = 30_000
"""Milliseconds that the executor has."""


def function_of(name: str) -> Function:
    return FUNCTIONS[f"core::{name}"]


def properties_of(function: Function) -> dict[str, Any]:
    assert function.input_schema is not None
    found = function.input_schema["properties"]
    assert isinstance(found, dict)
    return found


def examples(document: str) -> list[Any]:
    """What is called with, and what is answered, one after the other."""
    return [json.loads(found) for found in re.findall(r"```json\n(.*?)```", document, re.DOTALL)]


def test_every_function_has_a_document_and_a_line_in_the_reference() -> None:
    assert {f"core::{name}" for name in DOCUMENTS if name != "index"} == set(FUNCTIONS)
    rows = re.findall(r"^\| `(core::\w+)` \| (.*?) \| .*? \| (\d+) s \| (\w+) \|", REFERENCE, re.MULTILINE)
    assert {name for name, *_ in rows} == set(FUNCTIONS)
    for name, takes, seconds, category in rows:
        assert set(re.findall(r"`(\w+)`", takes)) == set(properties_of(FUNCTIONS[name])), name
        assert int(seconds) * 1_000 == (FUNCTIONS[name].timeout_ms or LONGEST), name
        assert category == FUNCTIONS[name].category
        assert f"`{name}`" in DOCUMENTS["index"]


@pytest.mark.parametrize("name", [name for name in DOCUMENTS if name != "index"])
def test_a_function_has_title_description_annotations_and_document(name: str) -> None:
    function = function_of(name)
    assert function.title
    assert function.description.endswith(".")
    assert function.annotations["readOnlyHint"] is True
    assert function.annotations["openWorldHint"] is (function.category == "Web")
    assert function.doc == f"core/{name}"


@pytest.mark.parametrize("name", [name for name in DOCUMENTS if name != "index"])
def test_the_calls_in_a_document_satisfy_the_input_schema(name: str) -> None:
    function = function_of(name)
    assert function.input_schema is not None
    calls = examples(DOCUMENTS[name])[::2]
    assert calls
    assert [Validators(alarm).find_violation(function.input_schema, call) for call in calls] == [None] * len(calls)


@pytest.mark.parametrize("name", ["wait", "json_transform", "template_render"])
def test_examples_return_the_documented_results(name: str) -> None:
    shown = examples(DOCUMENTS[name])
    for arguments, answer in zip(shown[::2], shown[1::2], strict=True):
        reply = FunctionHost([function_of(name)]).call(f"core::{name}", arguments)
        assert isinstance(reply, Result), reply
        assert reply.value == answer


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_first_sentence_of_a_document_fits_a_list(name: str) -> None:
    title, _, first = DOCUMENTS[name].partition("\n\n")
    assert title.startswith("# ")
    assert len(first.partition("\n\n")[0]) <= 140


def test_the_filters_of_the_document_exist() -> None:
    from core_skills.template_filters import JINJA_FILTERS, OWN_FILTERS  # noqa: PLC0415 - as the function itself

    (listed,) = re.findall(r"- Filters: (.*?)\. The message", DOCUMENTS["template_render"], re.DOTALL)
    assert set(re.findall(r"`(\w+)", listed)) <= {*JINJA_FILTERS, *OWN_FILTERS}
