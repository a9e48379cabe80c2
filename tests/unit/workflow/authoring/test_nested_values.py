"""The mark of steps whose mappings have expressions inside of lists and objects: only they get it, and only once."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signpost.content.digests import digest_of
from signpost.model import Json
from signpost.workflow.authoring.compile import CompiledManifest, compile_manifest
from signpost.workflow.authoring.source_tree import build_source_node
from signpost.workflow.paths import ValueSources
from signpost.workflow.running.serialization import text_of
from signpost.workflow.values import resolve_template


def compile_step(**step: Any) -> Mapping[str, Any]:
    """Compile a workflow with one transition and return the transition."""
    states = {"a": {"transitions": {"go": {"target": "b", **step}}}, "b": {"terminal": True}}
    compiled = compile_manifest(
        build_source_node({"version": 1, "workflows": {"demo": {"initialState": "a", "states": states}}})
    )
    assert isinstance(compiled, CompiledManifest), compiled
    document: Any = compiled.workflows["demo"]
    return document["states"]["a"]["transitions"]["go"]


def function(arguments: Json) -> Mapping[str, Json]:
    return {"kind": "function", "function": "demo::go", "arguments": arguments}


@pytest.mark.parametrize(
    "template",
    [
        {"tree": "$.arguments.tree"},
        ["$.context.a"],
        [{"deep": [{"er": "$"}]}],
        {"sum": {"add": [1, 2]}},
        {"kept": {"set": 5}},
        {"concat": [{"a": "$.context.a"}]},
        {"typo": "$.argumnts.tree"},
    ],
)
def test_a_step_with_a_nested_expression_is_marked(template: Json) -> None:
    assert compile_step(executor=function({"filter": template}))["values"] == "nested"
    assert compile_step(output={"kept": template})["values"] == "nested"
    assert compile_step(prefill={"given": template})["values"] == "nested"
    fallback = {"fallback": {"executors": [function({"filter": template})]}}
    assert compile_step(executor=function({}), reliability=fallback)["values"] == "nested"


@pytest.mark.parametrize(
    "template",
    ["$.arguments.tree", {"set": ["$.context.a"]}, {"add": ["$.context.a", 1]}, {"a": {"b": "text"}}, ["$a"], 5, None],
)
def test_a_step_without_nested_expressions_keeps_its_digest(template: Json) -> None:
    step = {"target": "b", "executor": function({"filter": template}), "output": {"kept": template}}
    compiled = compile_step(**step)
    assert digest_of(text_of(compiled)) == digest_of(text_of(step))


def test_an_input_of_a_child_workflow_counts() -> None:
    child = {"kind": "workflow", "definitionId": "demo", "input": {"order": {"id": "$.arguments.id"}}}
    assert compile_step(executor=child)["values"] == "nested"


def test_what_an_entered_state_executes_is_marked() -> None:
    entry = {"executor": function({"filter": ["$.context.a"]})}
    document = {"initialState": "a", "states": {"a": {"onEnter": entry, "terminal": True}}}
    compiled = compile_manifest(build_source_node({"version": 1, "workflows": {"demo": document}}))
    assert isinstance(compiled, CompiledManifest)
    marked: Any = compiled.workflows["demo"]
    assert marked["states"]["a"]["onEnter"] == {**entry, "values": "nested"}


TEXTS = st.sampled_from(
    [
        "$",
        "$.context.a",
        "$.arguments.a.b",
        "$.context.a[0]",
        "$.context.a-b",
        "$.nowhere",
        "$ref",
        "$.",
        "$$.context.a",
        "a",
    ]
)
NAMES = st.sampled_from(["a", "b", "a.b", "$.context.a", "$ref", "set", "add", "concat", "subtract", ""])
TEMPLATES = st.recursive(
    TEXTS | st.integers(0, 3) | st.none() | st.booleans(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)
SOURCES = ValueSources(context={"a": [1, "x"], "a-b": {"c": 2}}, arguments={"a": {"b": 3}}, input={}, output={"o": 4})


@given(TEMPLATES)
def test_a_template_means_the_same_in_every_release_unless_its_step_is_marked(template: Json) -> None:
    marked = "values" in compile_step(executor=function({"filter": template}))
    in_depth, flat = (resolve_template(template, SOURCES, nested=nested) for nested in (True, False))
    assert marked or in_depth == flat
