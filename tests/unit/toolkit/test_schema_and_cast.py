"""What is published and what is made of arguments agree, whatever the spec and whatever the arguments."""

import enum
from datetime import UTC, date, datetime, time
from random import Random
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from signpost.schema.patterns import translate_schema
from signpost.schema.validation import check_schema
from tests.support.schema_values import generate_arguments
from tests.support.toolkits import RecordingTool


class Colour(enum.Enum):
    RED = "red"
    ONE = 1
    HALF = 0.5


ABOUT = {"nullable": True, "description": "Says something.", "deprecated": True}
NAMES = st.sampled_from(["a", "b", "c", "ctx", "type", "self", "_x", "ß", "a.b", "$ref"])
LEAVES: list[Any] = [
    "string",
    "integer",
    "number",
    "boolean",
    "any",
    "null",
    "map",
    "array",
    {"type": "string", "min": 1, "max": 4},
    {"type": "string", "pattern": "^[a-c]{1,3}$"},
    {"type": "integer", "min": -2, "exclusive_max": 7, "not": 3},
    {"type": "number", "exclusive_min": 0, "max": 9, "multiple_of": 0.5},
    {"type": "enum", "values": Colour},
    {"type": "enum", "values": Colour, "default": Colour.ONE},
    {"type": "enum", "values": ["a", 2, True]},
    {"type": "integer", "values": [1, 2, 3], "default": 2},
    {"type": "string", "const": "this"},
    {"type": ("array", "integer"), "min": 1, "max": 3, "unique": True, "default": [1]},
]


def objects(fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.dictionaries(NAMES, fields, max_size=4)


def nested_fields(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(
        st.fixed_dictionaries({"type": st.just("object"), "fields": objects(inner)}),
        st.fixed_dictionaries({"type": st.sampled_from(["array", "map"]), "items": inner}),
        st.fixed_dictionaries({"type": st.just("any_of"), "of": st.lists(inner, min_size=1, max_size=3)}),
        inner.map(with_description),
    )


def with_description(one: Any) -> Any:
    return {**long_form(one), **ABOUT}


def required_spec(one: Any) -> Any:
    spec = long_form(one)
    return spec if "default" in spec else {**spec, "required": True}


def long_form(one: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", one) if isinstance(one, dict) else {"type": one}


FIELDS = st.recursive(st.sampled_from(LEAVES), nested_fields, max_leaves=6)
SPECS = objects(st.one_of(FIELDS, FIELDS.map(required_spec)))
JSON = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(-3, 9), st.floats(-3, 9), st.sampled_from(["", "a", "red", "this"])
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(NAMES, inner, max_size=3)),
    max_leaves=8,
)


@pytest.mark.invariant(60)
@given(SPECS, st.booleans(), st.integers())
def test_arguments_that_the_published_schema_accepts_are_cast_without_error(spec: Any, strict: bool, seed: int) -> None:
    taken = RecordingTool(spec, strict=strict)
    schema: Any = taken.function.input_schema
    check_schema(schema)
    made = generate_arguments(schema, {}, Random(seed))  # noqa: S311 - nothing here is a secret
    if made is not None:
        given_to_it = taken.cast_arguments(made.value)
        assert given_to_it.keys() <= spec.keys()
        assert given_to_it.keys() >= made.value.keys() & spec.keys()


@pytest.mark.invariant(60)
@given(SPECS, st.dictionaries(NAMES, JSON, max_size=4))
def test_arguments_are_accepted_exactly_if_the_published_schema_accepts_them(spec: Any, arguments: Any) -> None:
    taken = RecordingTool(spec)
    schema: Any = taken.function.input_schema
    assert taken.accepts(arguments) == Draft202012Validator(translate_schema(schema)).is_valid(arguments)


MOMENTS = RecordingTool({"day": "date", "time": "time", "at": "datetime", "local": "local_datetime"})


@given(st.dates(), st.times(), st.datetimes(timezones=st.just(UTC)), st.datetimes())
def test_every_date_and_time_arrives_as_it_was_written(day: date, clock: time, at: datetime, local: datetime) -> None:
    written = {"day": day, "time": clock, "at": at, "local": local}
    assert MOMENTS.cast_arguments({name: value.isoformat() for name, value in written.items()}) == written


FORMS = {"day": date.fromisoformat, "time": time.fromisoformat, "at": datetime.fromisoformat}


@given(st.sampled_from(sorted(FORMS)), st.text("0123456789-:T.Z+ W", max_size=30))
def test_invalid_dates_and_times_are_refused_without_error(name: str, text: str) -> None:
    try:
        FORMS[name](text)
    except ValueError:
        assert not MOMENTS.accepts({name: text})
    else:
        MOMENTS.accepts({name: text})
