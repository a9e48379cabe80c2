"""Field specs: the schema that becomes of each, and what the function is given."""

import enum
from datetime import UTC, date, datetime, time, timedelta, timezone
from typing import Any

import pytest

from signpost.schema.validation import check_schema
from signpost.toolkit import DeclarationError, Toolkit
from signpost.toolkit.fields import KINDS
from tests.support.toolkits import RecordingTool, read_field_schema, read_schema


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Size(enum.IntEnum):
    SMALL = 1
    LARGE = 2


def test_a001_without_a_schema_the_published_one_is_an_empty_object() -> None:
    kit = Toolkit("yard")

    @kit.tool
    def nothing() -> int:
        return 1

    assert kit.functions[0].input_schema == {"type": "object", "properties": {}}
    assert kit.test("nothing", {"sent": "anyway"}).value == 1
    assert nothing() == 1


@pytest.mark.parametrize(
    ("said", "schema"),
    [
        ("string", {"type": "string"}),
        ("integer", {"type": "integer"}),
        ("number", {"type": "number"}),
        ("boolean", {"type": "boolean"}),
        ("any", {}),
        ("null", {"type": "null"}),
        ("map", {"type": "object"}),
        ("array", {"type": "array"}),
    ],
)
def test_a002_each_type_is_published_as_its_own(said: str, schema: Any) -> None:
    assert read_field_schema(said) == read_field_schema({"type": said}) == schema


def test_a003_required_holds_exactly_the_names_that_are_required() -> None:
    schema = read_schema(
        {"a": {"type": "string", "required": True}, "b": "string", "c": {"type": "any", "required": True}}
    )
    assert schema["required"] == ["a", "c"]
    assert "required" not in read_schema({"a": "string"})


def test_a004_a_text_has_a_pattern_and_a_length() -> None:
    assert read_field_schema({"type": "string", "pattern": "^a", "min": 1, "max": 3}) == {
        "type": "string",
        "pattern": "^a",
        "minLength": 1,
        "maxLength": 3,
    }


@pytest.mark.parametrize("kind", ["integer", "number"])
@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"const": 5}, {"const": 5}),
        ({"not": 5}, {"not": {"const": 5}}),
        ({"exclusive_min": 5}, {"exclusiveMinimum": 5}),
        ({"min": 5}, {"minimum": 5}),
        ({"exclusive_max": 5}, {"exclusiveMaximum": 5}),
        ({"max": 5}, {"maximum": 5}),
        ({"min": 1, "max": 5}, {"minimum": 1, "maximum": 5}),
        ({"multiple_of": 5}, {"multipleOf": 5}),
    ],
)
def test_a005_a_number_has_bounds(kind: str, said: Any, words: Any) -> None:
    assert read_field_schema({"type": kind, **said}) == {"type": kind, **words}


@pytest.mark.parametrize("required", [True, False])
def test_a006_an_enum_has_its_values_and_may_be_required(required: bool) -> None:
    schema = read_schema({"mode": {"type": "enum", "values": ["plain", "loud"], "required": required}})
    assert schema["properties"] == {"mode": {"type": "string", "enum": ["plain", "loud"]}}
    assert schema.get("required", []) == (["mode"] if required else [])


def test_a007_lists_and_maps_declare_their_items() -> None:
    assert read_field_schema({"type": "array", "items": "integer"}) == {"type": "array", "items": {"type": "integer"}}
    integers = {"type": "object", "additionalProperties": {"type": "integer"}}
    assert read_field_schema({"type": "map", "items": "integer"}) == integers
    given = RecordingTool({"when": {"type": "map", "items": "date"}}).cast_arguments({"when": {"a": "2027-01-31"}})
    assert given == {"when": {"a": date(2027, 1, 31)}}


def test_a008_a_literal_is_a_const() -> None:
    assert read_field_schema({"type": "any", "const": "this"}) == {"const": "this"}
    assert read_field_schema({"type": "string", "const": "this"}) == {"type": "string", "const": "this"}


def test_a009_one_of_has_its_branches_in_order() -> None:
    said = {"type": "one_of", "of": ["string", "integer", ("array", "date")]}
    dates = {"type": "array", "items": {"type": "string", "format": "date"}}
    assert read_field_schema(said) == {"oneOf": [{"type": "string"}, {"type": "integer"}, dates]}
    taken = RecordingTool({"one": said})
    assert taken.cast_arguments({"one": "a"}) == {"one": "a"}
    assert taken.cast_arguments({"one": ["2027-01-31"]}) == {"one": [date(2027, 1, 31)]}
    assert "one" in taken.read_refusal({"one": [1]})
    assert read_field_schema({"type": "any_of", "of": ["string", "null"]}) == {
        "anyOf": [{"type": "string"}, {"type": "null"}]
    }


def test_any_of_casts_to_the_first_branch_that_can_be_cast() -> None:
    taken = RecordingTool({"one": {"type": "any_of", "of": ["date", "datetime", "string"]}})
    assert taken.cast_arguments({"one": "2027-01-31"}) == {"one": date(2027, 1, 31)}
    assert taken.cast_arguments({"one": "2027-01-31T08:00:00Z"}) == {"one": datetime(2027, 1, 31, 8, tzinfo=UTC)}
    assert taken.cast_arguments({"one": "soon"}) == {"one": "soon"}


DEEP = {
    "a": {
        "type": "object",
        "required": True,
        "fields": {"b": {"type": "object", "fields": {"c": {"type": "integer", "required": True}}}},
    }
}


def test_a010_a040_objects_are_published_as_deep_as_they_are() -> None:
    c = {"type": "object", "properties": {"c": {"type": "integer"}}, "required": ["c"]}
    assert read_schema(DEEP) == {
        "type": "object",
        "properties": {"a": {"type": "object", "properties": {"b": c}}},
        "required": ["a"],
    }
    assert "a.b.c" in RecordingTool(DEEP).read_refusal({"a": {"b": {}}})


def test_a011_n036_defaults_are_published_and_inserted() -> None:
    taken = RecordingTool(
        {"repeat": {"type": "integer", "default": 1}, "tags": {"type": ("array", "string"), "default": ["a"]}}
    )
    assert read_field_schema({"type": "integer", "default": 1}) == {"type": "integer", "default": 1}
    assert taken.cast_arguments({}) == {"repeat": 1, "tags": ["a"]}
    taken.cast_arguments({})["tags"].append("b")
    assert taken.cast_arguments({"repeat": 3}) == {"repeat": 3, "tags": ["a"]}


def test_a015_a016_a_refusal_names_the_path_of_the_argument() -> None:
    message = RecordingTool(DEEP).read_refusal({"a": {"b": {"c": "no"}}})
    assert message.startswith("yard::take was not called: the argument `a.b.c` did not satisfy its input schema: ")


def test_a017_invalid_arguments_are_refused_and_never_raise() -> None:
    taken = RecordingTool(DEEP)
    odd_ones: list[Any] = [None, [], 1.5, "", {"b": [None, {"c": 1}]}, {"b": {"c": {"c": {}}}}]
    for odd in odd_ones:
        assert taken.read_refusal({"a": odd})


def test_a018_a019_a020_a030_options_of_a_field_stand_beside_its_type() -> None:
    assert read_field_schema({"type": "string", "format": "email", "description": "Whom."}) == {
        "type": "string",
        "format": "email",
        "description": "Whom.",
    }
    said = {
        "type": "integer",
        "min": 1,
        "max": 5,
        "description": "n",
        "title": "N",
        "examples": [2],
        "deprecated": True,
    }
    assert read_field_schema(said) == {
        "type": "integer",
        "minimum": 1,
        "maximum": 5,
        "description": "n",
        "title": "N",
        "examples": [2],
        "deprecated": True,
    }
    schema = read_schema({"one": {**said, "required": True}})
    assert schema["required"] == ["one"]
    assert schema["properties"] == {"one": read_field_schema(said)}


def test_a022_the_description_of_an_object_sits_on_the_object() -> None:
    schema = read_field_schema({"type": "object", "description": "Where.", "fields": {"street": "string"}})
    assert schema == {"type": "object", "properties": {"street": {"type": "string"}}, "description": "Where."}


MIXED = {
    "name": {"type": "string", "required": True, "max": 10},
    "count": {"type": "integer", "min": 1, "max": 5, "default": 1},
    "address": {"type": "object", "fields": {"street": "string"}},
    "mode": {"type": "enum", "values": ["plain", "loud"]},
    "at": "datetime",
}


def test_a023_a_mixed_spec_is_published_whole() -> None:
    assert read_schema(MIXED) == {
        "type": "object",
        "properties": {
            "name": {"type": "string", "maxLength": 10},
            "count": {"type": "integer", "minimum": 1, "maximum": 5, "default": 1},
            "address": {"type": "object", "properties": {"street": {"type": "string"}}},
            "mode": {"type": "string", "enum": ["plain", "loud"]},
            "at": {"type": "string", "format": "date-time"},
        },
        "required": ["name"],
    }


def test_a024_valid_arguments_are_accepted_and_invalid_ones_are_refused() -> None:
    taken = RecordingTool(MIXED)
    assert taken.accepts({"name": "a", "count": 5})
    assert "`name`" in taken.read_refusal({"count": 2})
    assert "`count`" in taken.read_refusal({"name": "a", "count": 6})


@pytest.mark.parametrize("names", [("min", "max"), ("min_length", "max_length")])
def test_a025_a033_the_bounds_of_a_text_are_its_length(names: tuple[str, str]) -> None:
    low, high = names
    assert read_field_schema({"type": "string", low: 2, high: 4}) == {"type": "string", "minLength": 2, "maxLength": 4}


def test_a026_a_pattern_is_published_as_it_is_written() -> None:
    pattern = r"^\d{3}\.[A-Z\\]+\s?$"
    assert read_field_schema({"type": "string", "pattern": pattern})["pattern"] == pattern


def test_a027_an_absent_bound_is_not_published() -> None:
    assert read_field_schema({"type": "string", "min": 1}) == {"type": "string", "minLength": 1}
    assert read_field_schema({"type": "integer", "min": 1}) == {"type": "integer", "minimum": 1}


def test_a028_a_required_enum_is_never_an_empty_object() -> None:
    schema = read_schema({"mode": {"type": "enum", "values": ["a"], "required": True}})
    assert schema["properties"] == {"mode": {"type": "string", "enum": ["a"]}}
    assert schema["required"] == ["mode"]


@pytest.mark.parametrize(
    ("values", "type_"), [(["a", "b"], "string"), ([1, 2], "integer"), ([1.5], "number"), ([True], "boolean")]
)
def test_a029_a032_an_enum_has_the_type_of_its_values(values: list[Any], type_: str) -> None:
    assert read_field_schema({"type": "enum", "values": values}) == {"type": type_, "enum": values}


def test_a029_a_type_may_list_its_values() -> None:
    assert read_field_schema({"type": "integer", "values": [1, 2]}) == {"type": "integer", "enum": [1, 2]}
    assert read_field_schema({"type": "enum", "values": ["a", 1]}) == {"enum": ["a", 1]}


def test_a034_the_bounds_of_a_number_are_its_value() -> None:
    assert read_field_schema({"type": "number", "min": 0.5, "max": 2}) == {
        "type": "number",
        "minimum": 0.5,
        "maximum": 2,
    }


def test_a035_a036_bounds_are_enforced_on_both_sides() -> None:
    taken = RecordingTool({"name": {"type": "string", "min": 2, "max": 4, "required": True}})
    assert [taken.accepts({"name": "x" * length}) for length in range(1, 6)] == [False, True, True, True, False]
    assert not taken.accepts({})


def test_a037_a038_a_nested_object_with_one_field_is_still_an_object() -> None:
    said = {"type": "object", "fields": {"mail": {"type": "string", "format": "email", "required": True}}}
    mail = {"type": "string", "format": "email"}
    assert read_field_schema(said) == {"type": "object", "properties": {"mail": mail}, "required": ["mail"]}


def test_a039_a_required_enum_that_is_missing_is_refused() -> None:
    assert "`mode`" in RecordingTool({"mode": {"type": "enum", "values": ["a"], "required": True}}).read_refusal({})


def test_a042_published_and_accepted_values_agree() -> None:
    taken = RecordingTool({"n": {"type": "integer", "min": 1, "exclusive_max": 4, "multiple_of": 1}})
    assert [n for n in range(-1, 6) if taken.accepts({"n": n})] == [1, 2, 3]


def test_a043_a045_enums_of_texts_and_numbers_accept_only_their_members() -> None:
    taken = RecordingTool({"n": {"type": "enum", "values": [1, 2]}, "mode": {"type": "enum", "values": ["a", "b"]}})
    assert taken.cast_arguments({"n": 2, "mode": "b"}) == {"n": 2, "mode": "b"}
    assert not taken.accepts({"n": 3})
    assert not taken.accepts({"mode": "c"})
    assert not taken.accepts({"n": True})


def test_a044_a048_n043_constraints_hold_inside_lists_of_objects() -> None:
    said = {
        "type": ("array", "object"),
        "description": "All.",
        "fields": {"id": {"type": "integer", "min": 1, "required": True}},
    }
    item = {"type": "object", "properties": {"id": {"type": "integer", "minimum": 1}}, "required": ["id"]}
    assert read_field_schema(said) == {"type": "array", "items": item, "description": "All."}
    taken = RecordingTool({"rows": said})
    assert taken.cast_arguments({"rows": [{"id": 1.0, "x": 2}]}) == {"rows": [{"id": 1}]}
    assert "rows.1.id" in taken.read_refusal({"rows": [{"id": 1}, {"id": 0}]})
    assert "rows.0.id" in taken.read_refusal({"rows": [{}]})


def test_a046_a047_specs_are_plain_values_and_each_keeps_its_own_shape() -> None:
    first, second = RecordingTool({"a": {"type": "string", "default": "x"}}), RecordingTool({"a": "integer"})
    assert first.cast_arguments({}) == {"a": "x"}
    assert second.cast_arguments({"a": 1}) == {"a": 1}
    assert first.function.input_schema != second.function.input_schema


def test_a049_a050_required_objects_and_their_required_fields_are_enforced() -> None:
    inner = {"type": "object", "required": True, "fields": {"id": {"type": "integer", "required": True}}}
    taken = RecordingTool({"one": inner, "many": {**inner, "type": ("array", "object")}})
    assert taken.accepts({"one": {"id": 1}, "many": [{"id": 1}]})
    assert not taken.accepts({})
    assert not taken.accepts({"one": {}, "many": []})


def test_a054_a_date_is_published_as_text_and_delivered_as_a_date() -> None:
    taken = RecordingTool({"day": "date"})
    assert read_field_schema("date") == {"type": "string", "format": "date"}
    assert (
        taken.cast_arguments({"day": "2027-01-31"})
        == taken.cast_arguments({"day": date(2027, 1, 31)})
        == {"day": date(2027, 1, 31)}
    )


@pytest.mark.parametrize("text", ["2027-02-30", "2027-1-31", "20270131", "2027-W01-1", "soon", "", "202\u0667-01-31"])
def test_a055_an_invalid_date_is_refused_with_the_name_of_its_field(text: str) -> None:
    assert "`day`" in RecordingTool({"day": "date"}).read_refusal({"day": text})


def test_a056_a_required_date_that_is_missing_is_refused_by_name() -> None:
    assert "`day`" in RecordingTool({"day": {"type": "date", "required": True}}).read_refusal({})


def test_a057_a_datetime_has_an_offset() -> None:
    taken = RecordingTool({"at": "datetime"})
    assert read_field_schema("datetime") == {"type": "string", "format": "date-time"}
    assert taken.cast_arguments({"at": "2027-01-31T08:30:00Z"}) == {"at": datetime(2027, 1, 31, 8, 30, tzinfo=UTC)}
    assert taken.cast_arguments({"at": "2027-01-31t08:30:00z"}) == taken.cast_arguments({"at": "2027-01-31T08:30:00Z"})
    assert taken.cast_arguments({"at": "2027-01-31T08:30:00.250Z"})["at"].microsecond == 250_000
    east = timezone(timedelta(hours=2))
    assert taken.cast_arguments({"at": "2027-01-31T08:30:00+02:00"}) == {
        "at": datetime(2027, 1, 31, 8, 30, tzinfo=east)
    }
    assert "`at`" in taken.read_refusal({"at": "2027-01-31"})
    assert "`at`" in taken.read_refusal({"at": "2027-01-31T08:30:00"})


def test_a058_a_time_may_have_fractions_and_has_24_hours() -> None:
    taken = RecordingTool({"at": "time"})
    assert read_field_schema("time") == {"type": "string", "format": "time"}
    assert taken.cast_arguments({"at": "08:30:00.5"}) == {"at": time(8, 30, 0, 500_000)}
    assert "`at`" in taken.read_refusal({"at": "25:00:00"})


def test_a059_a_local_datetime_has_no_offset() -> None:
    taken = RecordingTool({"at": "local_datetime"})
    assert taken.cast_arguments({"at": "2027-01-31T08:30:00"})["at"].tzinfo is None
    assert taken.read_refusal({"at": "2027-01-31T08:30:00Z"})
    assert taken.read_refusal({"at": "2027-01-31T08:30:00+02:00"})


def test_a060_a061_nested_dates_are_cast_and_an_invalid_one_is_named() -> None:
    taken = RecordingTool({"trip": {"type": "object", "fields": {"days": ("array", "date")}}})
    assert taken.cast_arguments({"trip": {"days": ["2027-01-31"]}}) == {"trip": {"days": [date(2027, 1, 31)]}}
    assert "`trip.days.1`" in taken.read_refusal({"trip": {"days": ["2027-01-31", "no"]}})


def test_a062_a_required_field_is_published_and_enforced() -> None:
    assert read_schema({"a": {"type": "string", "required": True}})["required"] == ["a"]
    assert not RecordingTool({"a": {"type": "string", "required": True}}).accepts({})


def test_n008_n042_members_of_enums_are_delivered_and_published_by_their_values() -> None:
    taken = RecordingTool(
        {
            "colour": {"type": "enum", "values": Colour, "default": Colour.RED},
            "sizes": {"type": ("array", "enum"), "values": [Size.SMALL, Size.LARGE]},
        }
    )
    assert taken.cast_arguments({"sizes": [1, 2.0]}) == {"colour": Colour.RED, "sizes": [Size.SMALL, Size.LARGE]}
    assert taken.cast_arguments({"colour": "blue"})["colour"] is Colour.BLUE
    assert taken.function.input_schema == {
        "type": "object",
        "properties": {
            "colour": {"type": "string", "enum": ["red", "blue"], "default": "red"},
            "sizes": {"type": "array", "items": {"type": "integer", "enum": [1, 2]}},
        },
    }


def test_n042_undeclared_arguments_are_dropped() -> None:
    taken = RecordingTool({"a": "string", "b": {"type": "object", "fields": {"c": {"type": "integer", "default": 1}}}})
    assert taken.cast_arguments({"a": "x", "__class__": "evil", "self": 1}) == {"a": "x"}
    assert taken.cast_arguments({"b": {"d": 1}}) == {"b": {"c": 1}}


def test_undeclared_arguments_are_refused_if_the_tool_is_strict() -> None:
    taken = RecordingTool({"a": {"type": "object", "fields": {"b": "string"}}}, strict=True)
    inner = {"type": "object", "properties": {"b": {"type": "string"}}, "additionalProperties": False}
    assert taken.function.input_schema == {"type": "object", "properties": {"a": inner}, "additionalProperties": False}
    assert "`x`" in taken.read_refusal({"x": 1})
    assert "`a.x`" in taken.read_refusal({"a": {"x": 1}})


def test_a_nullable_field_is_published_with_null() -> None:
    taken = RecordingTool(
        {"day": {"type": "date", "nullable": True, "default": None}, "n": {"type": "integer", "nullable": True}}
    )
    assert taken.cast_arguments({"n": None}) == {"day": None, "n": None}
    assert read_field_schema({"type": "integer", "nullable": True}) == {
        "anyOf": [{"type": "integer"}, {"type": "null"}]
    }
    assert read_field_schema({"type": "enum", "values": ["a"], "nullable": True, "title": "A"}) == {
        "anyOf": [{"type": "string", "enum": ["a"]}, {"type": "null"}],
        "title": "A",
    }


def test_lists_may_hold_lists_and_unique_items() -> None:
    said = {"type": ("array", ("array", "integer")), "min": 1, "max": 2, "unique": True}
    integers = {"type": "array", "items": {"type": "integer"}}
    assert read_field_schema(said) == {
        "type": "array",
        "items": integers,
        "minItems": 1,
        "maxItems": 2,
        "uniqueItems": True,
    }
    assert read_field_schema(("array", "string")) == {"type": "array", "items": {"type": "string"}}


def test_types_may_be_python_types() -> None:
    assert read_field_schema(str) == {"type": "string"}
    assert read_field_schema({"type": list[int], "max": 2}) == {
        "type": "array",
        "items": {"type": "integer"},
        "maxItems": 2,
    }
    assert read_field_schema(Colour) == {"type": "string", "enum": ["red", "blue"]}
    assert read_field_schema(int | None) == {"anyOf": [{"type": "integer"}, {"type": "null"}]}


def test_n044_every_spelling_of_a_spec_is_the_same_schema() -> None:
    spelled = [{"a": "string"}, {"a": {"type": "string"}}, {"a": str}, {"a": {"type": str}}]
    assert all(read_schema(one) == read_schema(spelled[0]) for one in spelled)


def test_n045_an_empty_spec_is_an_empty_object() -> None:
    assert read_schema({}) == {"type": "object", "properties": {}}
    assert RecordingTool({}).cast_arguments({"a": 1}) == {}


REFUSED: list[tuple[Any, str]] = [
    ({"a": {"type": "enum"}}, "field `a`: it needs `values`"),
    ({"a": {"type": "enum", "values": []}}, "field `a`: it needs `values`"),
    ({"a": {"type": "enum", "values": "ab"}}, "field `a`: it needs `values`"),
    ({"a": {"type": "enum", "values": ["a", "a"]}}, "field `a`: two of its values"),
    ({"a": {"type": "enum", "values": [object()]}}, "field `a`: its value .* must be a text"),
    ({"a": {"type": "integer", "values": ["a"]}}, "field `a`: its value 'a' is not of its type"),
    ({"a": {"type": "object"}}, "field `a`: an object needs `fields`"),
    ({"a": "object"}, "field `a`: an object needs `fields`"),
    ({"a": {"type": "object", "fields": ["b"]}}, "field `a`: its fields must be a mapping"),
    ({"a": ("array", "object")}, "field `a`: an object needs `fields`"),
    ({"a": ("list", "string")}, "field `a`: .* is not a type"),
    ({"a": "text"}, "field `a`: 'text' is not one of the types string, integer"),
    ({"a": {}}, "field `a`: its `type` is missing"),
    ({"a": {"required": True}}, "field `a`: its `type` is missing"),
    ({"a": {"type": {"type": "string"}}}, "field `a`: no field type fits"),
    ({"a": None}, "field `a`: no field type fits None"),
    ({"a": complex}, "field `a`: no field type fits complex"),
    ({"a": {"type": "string", "maximum": 3}}, "field `a`: type string has no option 'maximum'"),
    ({"a": {"type": "string", "max": "3"}}, "field `a`: max must be a whole number"),
    ({"a": {"type": "integer", "min": "3"}}, "field `a`: min must be a number"),
    ({"a": {"type": "integer", "multiple_of": 0}}, "field `a`: multiple_of must be a number above 0"),
    ({"a": {"type": "string", "pattern": "("}}, "field `a`: pattern is refused"),
    ({"a": {"type": "string", "pattern": "(a+)+"}}, "field `a`: pattern is refused"),
    ({"a": {"type": "string", "description": 5}}, "field `a`: description must be a text"),
    ({"a": {"type": "string", "examples": "x"}}, "field `a`: examples must be a list"),
    ({"a": {"type": "string", "required": "yes"}}, "field `a`: required must be true or false"),
    ({"a": {"type": "string", "deprecated": 1}}, "field `a`: deprecated must be true or false"),
    ({"a": {"type": "string", "required": True, "default": "x"}}, "field `a`: a required field cannot have a default"),
    ({"a": {"type": "integer", "default": "x"}}, "field `a`: its default does not satisfy"),
    ({"a": {"type": "integer", "default": None}}, "field `a`: its default does not satisfy"),
    ({"a": {"type": "any", "default": object()}}, "field `a`: default has no form in JSON"),
    ({"a": {"type": "date", "default": "soon"}}, "field `a`: its default must be a date"),
    ({"a": {"type": "one_of"}}, "field `a`: one_of needs `of`"),
    ({"a": {"type": "object", "fields": {"b": {"type": "object", "fields": {"c": "text"}}}}}, "field `a.b.c`: 'text'"),
    ({1: "string"}, "1 is not the name of a field"),
    ({"": "string"}, "'' is not the name of a field"),
    (["a"], "must be a mapping of fields"),
    (5, "must be a mapping of fields"),
    (None, "must be a mapping of fields"),
]


@pytest.mark.parametrize(("said", "words"), REFUSED)
@pytest.mark.parametrize("option", ["input", "output"])
def test_n026_n046_an_invalid_spec_is_refused_at_import_by_tool_and_field(said: Any, words: str, option: Any) -> None:
    kit = Toolkit("yard")
    with pytest.raises(DeclarationError, match=f"yard::take: {option} is not valid: .*{words}"):
        kit.tool(**{option: said})(take)


def take(args: Any) -> Any:
    return args


def test_a031_an_enum_without_values_is_refused() -> None:
    with pytest.raises(DeclarationError, match="needs `values`"):
        read_field_schema({"type": "enum", "values": []})


NECESSARY_OPTIONS: dict[str, dict[str, Any]] = {
    "enum": {"values": ["a"]}, "object": {"fields": {}}, "one_of": {"of": ["string"]}, "any_of": {"of": ["string"]},
}  # fmt: skip


def test_every_published_schema_is_valid() -> None:
    for kind in KINDS:
        needs = NECESSARY_OPTIONS.get(kind, {})
        check_schema(read_schema({"one": {"type": kind, **needs}}))
        check_schema(read_schema({"one": {"type": kind, **needs, "nullable": True}}))
