"""What mappings and prefills make of what is known."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signpost.model import Json
from signpost.workflow.paths import ValueSources
from signpost.workflow.values import apply_mapping, resolve_template

SOURCES = ValueSources(
    context={"rounds": 2, "clerk": "mia", "a": 1, "b": 2, "flag": True},
    arguments={"note": "hi", "tags": ["x", "y"]},
    input={"customer": "c-9"},
    output={"id": 7, "items": [{"sku": "s"}]},
)


@pytest.mark.parametrize(
    ("template", "value"),
    [
        ("$.context.clerk", "mia"),
        ("$.arguments.tags", ["x", "y"]),
        ("$.arguments.tags.1", "y"),
        ("$.workflow.input.customer", "c-9"),
        ("$.output.items.0.sku", "s"),
        ("$.output.items[0].sku", "s"),
        ("$", SOURCES.output),
        ("$.output", SOURCES.output),
        ("$.context.gone", None),
        ("$.nowhere.x", None),
        ("$price", "$price"),
        ("EUR", "EUR"),
        (3, 3),
        (None, None),
        (["$.context.clerk"], ["$.context.clerk"]),
        ({"a": "$.context.clerk", "b": 1}, {"a": "$.context.clerk", "b": 1}),
        ({"other": 1}, {"other": 1}),
        ({"set": "$.context.clerk"}, "$.context.clerk"),
        ({"add": ["$.context.rounds", 1]}, 3),
        ({"add": ["$.context.gone", 1]}, 1),
        ({"add": ["nothing", 1]}, 1),
        ({"add": [0.5, 0.5]}, 1),
        ({"add": ["$.context.flag", 1]}, None),
        ({"add": ["$.context.clerk", 1]}, None),
        ({"add": [1]}, None),
        ({"add": 1}, None),
        ({"subtract": [5, "$.context.rounds"]}, 3),
        ({"multiply": [1.5, 3]}, 4.5),
        ({"multiply": [1e300, 1e300]}, None),
        ({"divide": [1, 4]}, 0.25),
        ({"divide": [4, 2]}, 2),
        ({"divide": [1, 0]}, None),
        ({"concat": ["n=", "$.context.rounds", " ", "$.context.gone", True, 1.5]}, "n=2 nulltrue1.5"),
        ({"concat": ["$.arguments.tags"]}, '["x", "y"]'),
        ({"concat": "x"}, None),
    ],
)
def test_a_template_becomes_a_value(template: Json, value: Json) -> None:
    found = resolve_template(template, SOURCES)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("template", "value"),
    [
        (["$.context.clerk", 1], ["mia", 1]),
        ({"a": {"b": ["$.arguments.note"]}}, {"a": {"b": ["hi"]}}),
        ({"a": {"add": ["$.context.rounds", 1]}}, {"a": 3}),
        ({"a": {"set": "$.context.clerk"}}, {"a": "$.context.clerk"}),
        ({"set": {"a": "$.context.clerk"}}, {"a": "$.context.clerk"}),
        ({"concat": [{"a": "$.context.clerk"}]}, '{"a": "mia"}'),
        ({"a": ["$.context.gone"], "b": "$price"}, {"a": [None], "b": "$price"}),
        ({}, {}),
    ],
)
def test_a_template_is_resolved_in_depth(template: Json, value: Json) -> None:
    assert resolve_template(template, SOURCES, nested=True) == value


@given(st.recursive(st.text() | st.none(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_a_set_value_stays_as_it_is_in_depth(value: Json) -> None:
    assert resolve_template([{"set": value}], SOURCES, nested=True) == [value]


def test_a_mapping_can_swap_values() -> None:
    assert apply_mapping({"a": "$.context.b", "b": "$.context.a"}, SOURCES) == {"a": 2, "b": 1}


@given(st.recursive(st.none() | st.integers() | st.floats() | st.text(), lambda inner: st.lists(inner, max_size=3)))
def test_no_operation_fails_on_invalid_operands(operands: Json) -> None:
    for name in ("add", "subtract", "multiply", "divide", "concat"):
        resolve_template({name: operands}, SOURCES)


def test_a_number_never_grows_beyond_the_range_of_clients() -> None:
    grown: Json = 2
    for _ in range(20):
        grown = resolve_template({"multiply": ["$.output", "$.output"]}, ValueSources({}, {}, {}, grown))
    assert grown == 0 or grown is None
