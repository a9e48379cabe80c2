"""What a schema may not be, so that checking a value against it ends."""

import pytest

from signpost.adapters.alarm import alarm
from signpost.model import Json, JsonObject
from signpost.schema.limits import find_pattern_fault, is_too_deep
from signpost.schema.validation import SchemaRefusal, Validators


@pytest.mark.parametrize(
    "pattern",
    [
        "(a+)+",
        "(a*)*b",
        "(a+)*",
        "((a+)b?)+",
        "(?:a{1,5})+",
        "(a|b+)*",
        "^(([a-z])+.)+$",
        "(?=(a+))+",
        "^((a*){20})$",
        "(?:a*){9}b",
    ],
)
def test_a_repetition_in_a_repetition_is_refused(pattern: str) -> None:
    assert "inside a repetition" in (find_pattern_fault(pattern) or "")


@pytest.mark.parametrize(
    "pattern", ["", "^[a-z]+$", "a+b+c*", "(ab)+", "(a{3})+", "[a-z0-9]{1,64}", "^(sp_)?[0-9a-f]{12}$", r"\d{4}-\d{2}"]
)
def test_ordinary_patterns_are_accepted(pattern: str) -> None:
    assert find_pattern_fault(pattern) is None


@pytest.mark.parametrize("pattern", ["(", "[a", "a{2,1}", "(?<=a+)b", "x" * 2000, "(" * 900 + ")" * 900])
def test_an_invalid_pattern_is_refused(pattern: str) -> None:
    assert find_pattern_fault(pattern) is not None


def nested(levels: int) -> Json:
    value: Json = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(("levels", "too_deep"), [(0, False), (64, False), (65, True), (100_000, True)])
def test_the_depth_of_a_value_is_limited(levels: int, too_deep: bool) -> None:
    assert is_too_deep(nested(levels)) is too_deep


@pytest.mark.parametrize(
    ("schema", "says"),
    [
        ({"$ref": "https://example.com/schema"}, "points outside"),
        ({"properties": {"a": {"$dynamicRef": "other.json"}}}, "points outside"),
        ({"properties": {"a": {"pattern": "(a+)+"}}}, "inside a repetition"),
        ({"patternProperties": {"(a*)*": {}}}, "inside a repetition"),
        ({"$schema": "http://json-schema.org/draft-07/schema#"}, "dialect"),
        ({"type": "nonsense"}, "not a valid JSON Schema"),
        ({"description": "x" * 70_000}, "characters"),
        ({"allOf": [{"const": nested(80)}]}, "deeply"),
    ],
)
def test_a_refused_schema_has_its_reason(schema: JsonObject, says: str) -> None:
    with pytest.raises(SchemaRefusal, match=says):
        Validators(alarm).find_violation(schema, {})


def test_a_recursive_schema_terminates() -> None:
    schema: JsonObject = {"type": ["array", "integer"], "items": {"$ref": "#"}}
    assert Validators(alarm).find_violation(schema, nested(60)) is None
    circular: JsonObject = {"$ref": "#"}
    violation = Validators(alarm).find_violation(circular, 1)
    assert violation is not None
    assert "deeply" in violation.message


@pytest.mark.parametrize(
    "schema", [{"$ref": "#/x", "x": [1, 2]}, {"$ref": "#/x", "x": "abc"}, {"$ref": "#/x", "x": {"type": "banana"}}]
)
def test_a_reference_to_an_invalid_schema_is_refused(schema: JsonObject) -> None:
    with pytest.raises(SchemaRefusal, match="leads to no schema"):
        Validators(alarm).find_violation(schema, {"a": 1})


def test_a_number_that_is_too_large_for_its_schema_is_a_violation() -> None:
    violation = Validators(alarm).find_violation({"multipleOf": 0.01}, 10**400)
    assert violation is not None
    assert "too large" in violation.message


def test_an_unresolvable_reference_is_refused() -> None:
    with pytest.raises(SchemaRefusal, match="nothing"):
        Validators(alarm).find_violation({"$ref": "#/$defs/nowhere"}, 1)


def test_a_bounded_number_of_validators_is_cached() -> None:
    validators = Validators(alarm)
    for number in range(400):
        validators.find_violation({"const": number}, number)
    assert validators.cached_count == 256


SLOW_CASES: list[tuple[JsonObject, Json]] = [
    ({"type": "string", "pattern": r"^\S+@\S+\.\S+$"}, "@." * 50_000 + " "),
    ({"uniqueItems": True}, [[number, {}] for number in range(20_000)]),
]


@pytest.mark.invariant(94)
@pytest.mark.parametrize(("schema", "value"), SLOW_CASES, ids=["pattern", "unique items"])
def test_every_validation_ends_within_the_time_limit(
    schema: JsonObject, value: Json, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("signpost.schema.validation.VALIDATION_TIME_LIMIT", 0.001)
    violation = Validators(alarm).find_violation(schema, value)
    assert violation is not None
    assert "takes too long" in violation.message
