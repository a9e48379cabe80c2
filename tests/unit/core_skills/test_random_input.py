"""Random templates and expressions: each ends within its allowance, and none of them counts for the breaker."""

import time
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from jmespath.functions import Functions

from core_skills.allowance import Allowance
from core_skills.json_transform import KIT as JSON_TRANSFORM
from core_skills.json_transform import LONGEST_EXPRESSION
from core_skills.template_filters import charged_filters, charged_tests
from core_skills.template_render import KIT as TEMPLATE_RENDER
from core_skills.template_work import Work
from signpost.calling.failures import is_counted
from signpost.contract import Failure, Result
from tests.support.function_host import FunctionHost

pytestmark = pytest.mark.no_cover

TEN_MINUTES = 600
MOST_SECONDS = 40.0
"""Seconds of the processor for one evaluation, which takes a fourth of it where coverage is not measured."""
DATA: dict[str, Any] = {
    "n": 3,
    "f": 0.5,
    "s": "a%5d" * 20_000,
    "t": "tea",
    "nothing": None,
    "many": list(range(3_000)),
    "texts": ["x" * 300, "%300d"] * 300,
    "rows": [{"name": f"n{number}", "tags": ["a", "b"], "n": number} for number in range(500)],
    "wide": {f"k{number}": [number] for number in range(3_000)},
    "deep": [[[[1, [2, {"a": []}]]]]],
}
NAMES = st.sampled_from([*DATA, "loop", "item", "missing"])
WORK = Work(Allowance())
FILTERS = st.sampled_from(sorted(charged_filters(WORK)))
TESTS = st.sampled_from(sorted(name for name in charged_tests(WORK) if name[0].isalpha()))
LITERALS = st.sampled_from(
    ["1", "-1", "0", "1e308", "10000000000", "'%99d'", "''", "'a.b.c'", "'\\ud800'", "[1, 2]", "true", "none", "'name'"]
)
OPERATORS = st.sampled_from(["+", "-", "*", "/", "//", "%", "==", "!=", "<", "<=", ">", "in", "not in", "and", "or"])


def extend_value(values: SearchStrategy[str]) -> SearchStrategy[str]:
    arguments = st.lists(st.one_of(LITERALS, values), max_size=2).map(", ".join)
    return st.one_of(
        st.builds("({} {} {})".format, values, OPERATORS, values),
        st.builds("{}|{}".format, values, FILTERS),
        st.builds("{}|{}({})".format, values, FILTERS, arguments),
        st.builds("({} is {})".format, values, TESTS),
        st.builds("({} is {}({}))".format, values, TESTS, arguments),
        st.builds("{}|{}('{}', {})".format, values, st.sampled_from(["map", "select", "reject"]), FILTERS, values),
        st.builds("{}|{}('n', '{}', {})".format, values, st.sampled_from(["selectattr", "rejectattr"]), TESTS, values),
        st.builds("{}|map(attribute='{}')".format, values, st.sampled_from(["n", "tags", "a." * 500])),
        st.builds("{}[{}]".format, values, values),
        st.builds("{}[{}:{}]".format, values, LITERALS, LITERALS),
        st.builds("({} if {} else {})".format, values, values, values),
    )


VALUES = st.recursive(st.one_of(NAMES, LITERALS), extend_value, max_leaves=8)


def extend_template(parts: SearchStrategy[str]) -> SearchStrategy[str]:
    return st.one_of(
        st.builds("{{% for item in {} %}}{}{{% endfor %}}".format, VALUES, parts),
        st.builds("{{% for item in {} if {} %}}{}{{% else %}}{{% endfor %}}".format, VALUES, VALUES, parts),
        st.builds("{{% if {} %}}{}{{% endif %}}".format, VALUES, parts),
        st.builds("{}{}".format, parts, parts),
    )


OUTPUTS = st.one_of(st.just(""), st.builds("{{{{ {} }}}}".format, VALUES))
TEMPLATES = st.recursive(OUTPUTS, extend_template, max_leaves=6)
FUNCTIONS = st.sampled_from(sorted(Functions.FUNCTION_TABLE))
ROOTS = st.sampled_from(["@", *(name for name in DATA), "`1`", "`[]`", '`"\\ud800"`', "'a'", "rows[*].n", "values(@)"])


def extend_expression(parts: SearchStrategy[str]) -> SearchStrategy[str]:
    return st.one_of(
        st.builds("{}({})".format, FUNCTIONS, parts),
        st.builds("{}({}, {})".format, FUNCTIONS, parts, parts),
        st.builds("{}(&{}, {})".format, st.just("map"), parts, parts),
        st.builds("{}({}, &{})".format, st.sampled_from(["sort_by", "max_by", "min_by"]), parts, parts),
        st.builds("merge({})".format, st.integers(1, 400).map(lambda times: ",".join(["@"] * times))),
        st.builds("{}|{}".format, parts, parts),
        st.builds("({} {} {})".format, parts, st.sampled_from(["==", "!=", "<", ">", "&&", "||"]), parts),
        st.builds("{}[*].{}".format, parts, ROOTS),
        st.builds("{}[?{}]".format, parts, parts),
        st.builds("{}[]".format, parts),
        st.builds("[{}, {}]".format, parts, parts),
        st.builds("{{a: {}, b: {}}}".format, parts, parts),
        st.builds("{}[::-1]".format, parts),
    )


EXPRESSIONS = st.recursive(ROOTS, extend_expression, max_leaves=10).filter(
    lambda expression: len(expression) <= LONGEST_EXPRESSION
)


def assert_ends_without_counting(kit: Any, function: str, arguments: dict[str, Any]) -> None:
    before = time.process_time()
    reply = FunctionHost(kit.functions).call(function, arguments, TEN_MINUTES)
    assert time.process_time() - before < MOST_SECONDS
    assert isinstance(reply, Result | Failure)
    if isinstance(reply, Failure):
        assert not is_counted(reply), reply
        assert reply.kind == "permanent_error", "the allowance ends it, and not the time"


@pytest.mark.invariant(90)
@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(TEMPLATES)
def test_a_random_template_ends_within_its_allowance_and_does_not_count(template: str) -> None:
    assert_ends_without_counting(TEMPLATE_RENDER, "core::template_render", {"template": template, "values": DATA})


@pytest.mark.invariant(90)
@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(EXPRESSIONS)
def test_a_random_expression_ends_within_its_allowance_and_does_not_count(expression: str) -> None:
    assert_ends_without_counting(JSON_TRANSFORM, "core::json_transform", {"data": DATA, "expression": expression})
