"""What an expression means, and that what is none holds never."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signpost.model import Json, Principal
from signpost.workflow.expressions import is_same, parse
from signpost.workflow.guards import AllOf, AnyOf, Expression, GuardInput, Not, passes
from signpost.workflow.paths import ValueSources

SOURCES = ValueSources(
    context={
        "n": 5,
        "half": 2.5,
        "ok": True,
        "none": None,
        "name": "ada",
        "contains_flag": False,
        "list": [10, {"deep": "x"}],
        "person": {"name": "ada", "0": "zero"},
        "sum": 0.1 + 0.2,
        "tiny": 1e-17,
        "big": 10**400,
    },
    arguments={"n": 5.0, "text": "5", "missing": None, "it's": 1},
    input={"region": "eu-west"},
)


def holds(expression: str) -> bool | None:
    """None if it is no expression, or has no result."""
    comparison = parse(expression)
    return None if comparison is None else comparison.holds(SOURCES)


@pytest.mark.parametrize(
    "expression",
    [
        "$.context.n == 5",
        "$.context.n==5",
        "5 == $.arguments.n",
        "$.context.n >= 5",
        "$.context.half < 3",
        "$.context.half > .5",
        "$.context.n < 1e3",
        "$.context.n == +5",
        "$.context.sum == 0.3",
        "$.context.ok == true",
        "$.context.ok != false",
        "$.context.name == 'ada'",
        '$.context.name == "ada"',
        "$.context.name starts_with 'a'",
        "$.context.name contains 'd'",
        "$.context.list[0] == 10",
        "$.context.list.0 == 10",
        "$.context.list[1].deep == 'x'",
        "$.context.person.0 == 'zero'",
        "$.workflow.input.region starts_with 'eu'",
        "$.context.gone == null",
        "$.context.gone == $.arguments.missing",
        "$.context.list[7] == null",
        "$.context.contains_flag == false",
        "$.context.name == $.context.person.name",
        "' contains ' contains 'contains'",
        "  1 < 2  ",
        "$.context.big > 1e300",
        "$.context.big != 1.5",
        "$.context.tiny != 0",
    ],
)
def test_an_expression_holds(expression: str) -> None:
    assert holds(expression) is True


@pytest.mark.parametrize(
    "expression",
    [
        "$.context.contains_flag == true",
        "$.context.list.9 != null",
        "$.context.none != null",
        "$.context.gone == 'ada'",
        "$.context.tiny == 0",
        "0 == $.context.tiny",
        "$.context.tiny == 2e-17",
        "$.context.sum == 0.30000000000000014",
    ],
)
def test_an_expression_does_not_hold(expression: str) -> None:
    assert holds(expression) is False


@pytest.mark.invariant(78)
@pytest.mark.parametrize(
    "expression",
    [
        "$.context.n == '5'",
        "$.context.n != '5'",
        "$.arguments.text == 5",
        "$.arguments.text != 5",
        "$.context.ok == 1",
        "$.context.ok != 'false'",
        "$.context.list != 10",
        "$.context.person != $.context.list",
        "$.context.name < 'b'",
        "$.context.gone < 1",
        "$.context.ok < 2",
        "$.context.gone starts_with ''",
        "$.context.name contains $.context.gone",
        "$.context.gone contains $.context.gone",
        "$.context.n contains '5'",
    ],
)
def test_values_that_cannot_be_compared_have_no_result_and_neither_has_the_negation(expression: str) -> None:
    assert holds(expression) is None
    guard = Expression(expression, parse(expression))
    guard_input = GuardInput(SOURCES, Principal("ada", "acme", "test"))
    for either in (guard, Not(guard), AllOf((Not(guard),)), AnyOf((guard, Not(guard)))):
        assert not passes(either, guard_input)


def test_a_missing_value_reads_as_null_and_differs_from_every_other() -> None:
    assert holds("$.context.gone != 'ada'") is True
    assert holds("$.context.gone != 0") is True
    assert holds("$.context.gone == null") is True


@pytest.mark.parametrize(
    "expression",
    [
        "",
        "$.context.ok",
        "$.context.ok ==",
        "== 5",
        "$.context.ok == true && $.context.ok == true",
        "$.context.ok = true",
        "$.context == 5",
        "$.output.x == 5",
        "$.somewhere.x == 5",
        "context.n == 5",
        "$.context.name'contains'x",
        "'a'contains'a'",
        "$.context.name contains'a'",
        "$.context.n == inf",
        "$.context.n == nan",
        "$.context.n == 1_000",
        "$.context.n == \u0665",
        "$.context.n === 5",
        "($.context.n == 5)",
        "'never closed == 5",
        "$.context.. == 5",
        "$.context.list[-1] == 5",
        "$.context.list[x] == 5",
        "true",
    ],
)
def test_an_invalid_expression_is_not_parsed(expression: str) -> None:
    assert parse(expression) is None


@given(st.text(max_size=60))
def test_no_text_breaks_the_expression_parser(expression: str) -> None:
    assert holds(expression) in (True, False, None)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda values: st.lists(values, max_size=3) | st.dictionaries(st.text(max_size=3), values, max_size=3),
    max_leaves=8,
)


@given(_JSON, _JSON)
def test_equality_is_symmetric_and_reflexive(left: Json, right: Json) -> None:
    assert is_same(left, left)
    assert is_same(left, right) == is_same(right, left)
