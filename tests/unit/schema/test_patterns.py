"""Patterns of schemas are regular expressions of ECMA-262."""

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from signpost.adapters.alarm import alarm
from signpost.model import Json, JsonObject
from signpost.schema.limits import find_pattern_fault
from signpost.schema.patterns import TranslatedPattern, translate_pattern
from signpost.schema.validation import SchemaRefusal, Validators


def is_valid(schema: JsonObject, value: Json) -> bool:
    return Validators(alarm).find_violation(schema, value) is None


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("^[a-z]+$", "abc\n"),
        ("^(a|b$)", "b\n"),
        (r"^\d+$", "٣٤"),
        (r"^[\d.]+$", "٣٤"),
        (r"^[^\D]+$", "٣٤"),
        (r"^\w+$", "straße"),
        (r"^[\w-]+$", "straße"),
        (r"^\s$", "\x1c"),
        (r"^[\s]$", "\x85"),
        (r"^\S$", "\ufeff"),
        (r"^\W$", "a"),
        ("^a.b$", "a\rb"),
        ("^a.b$", "a\u2028b"),
        (r"^é\b", "é"),
        (r"^a\Bé", "aé"),
        (r"^\$$", "$\n"),
        (r"^\\$", "\\\n"),
        (r"^[\]$]$", "$\n"),
        (r"^[$]$", "$\n"),
    ],
)
def test_a_text_that_only_python_would_accept_is_a_violation(pattern: str, text: str) -> None:
    assert not is_valid({"pattern": pattern}, text)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("^[a-z]+$", "abc"),
        ("^(a|b$)", "b"),
        (r"^\d{2}[\d]\D[^\d][\D]$", "123٣٤x"),
        (r"^\w+[\w-]+\W[\W]$", "a_Z0-é "),
        (r"^[\s\S]*$", "any\ntext\u2028é\U0001f600"),
        (r"^\s[\s]\S[^\s]$", "\u3000\ufeffa\x1c"),
        (r"^\s$", "\u2003"),
        ("^a.b$", "a\x85b"),
        (r"é\b", "éa"),
        (r"^\Bé", "é"),
        (r"^\B$", ""),
        (r"^[.$]+$", "$."),
        (r"^[\]$.]+\.\$$", "]$..$"),
        (r"^[\b]$", "\b"),
        (r"^\u00e9\x41\/\t$", "éA/\t"),
        (r"^(?:a|(?=b)b(?!c)|(?<=a)c|(?<!a)d)$", "d"),
        (r"^(a)\1$", "aa"),
        ("^a$|^b$", "a"),
    ],
)
def test_a_text_that_ecmascript_accepts_is_valid(pattern: str, text: str) -> None:
    assert is_valid({"pattern": pattern}, text)


OF_MEMBERS: list[JsonObject] = [
    {"patternProperties": {"^[a-z]+$": True}, "additionalProperties": False},
    {"patternProperties": {"^[a-z]+$": True}, "unevaluatedProperties": False},
    {"allOf": [{"patternProperties": {"^[a-z]+$": True}}], "unevaluatedProperties": False},
    {"propertyNames": {"pattern": "^[a-z]+$"}},
]


@pytest.mark.parametrize("schema", OF_MEMBERS)
def test_names_of_members_match_to_their_end(schema: JsonObject) -> None:
    assert is_valid(schema, {"abc": 1})
    assert not is_valid(schema, {"abc\n": 1})


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"a": {"pattern": "^x$"}}},
        {"properties": {"a": {"anyOf": [{"pattern": "^x$"}, {"type": "null"}]}}},
        {"properties": {"a": {"$ref": "#/$defs/const"}}, "$defs": {"const": {"pattern": "^x$"}}},
        {"properties": {"a": {"$ref": "#/parts/0"}}, "parts": [{"pattern": "^x$"}]},
        {"dependentSchemas": {"a": {"properties": {"a": {"pattern": "^x$"}}}}},
        {"patternProperties": {"^a": {"pattern": "^x$"}}},
        {"if": {"required": ["a"]}, "then": {"properties": {"a": {"pattern": "^x$"}}}},
    ],
)
def test_a_pattern_is_found_wherever_a_schema_is(schema: JsonObject) -> None:
    assert is_valid(schema, {"a": "x"})
    assert not is_valid(schema, {"a": "x\n"})


def test_values_and_names_of_members_are_no_patterns() -> None:
    value: JsonObject = {"pattern": "^x$", "patternProperties": {"a$": "."}}
    assert is_valid({"const": value}, value)
    assert is_valid({"enum": [value]}, value)
    assert is_valid({"properties": {"pattern": {"const": "a$"}}, "required": ["pattern"]}, {"pattern": "a$"})


def test_patterns_that_mean_the_same_keep_their_own_schemas() -> None:
    schema: JsonObject = {"patternProperties": {r"^\d$": {"type": "string"}, "^[0-9]$": {"minLength": 2}}}
    assert not is_valid(schema, {"1": 1})
    assert not is_valid(schema, {"1": "a"})
    assert is_valid(schema, {"1": "ab"})


def test_a_violation_quotes_the_pattern_as_it_is_written() -> None:
    violation = Validators(alarm).find_violation({"pattern": r"^\w+$"}, "a\n")
    assert violation is not None
    assert violation.message == r"'a\n' does not match '^\\w+$'"
    closed: JsonObject = {"patternProperties": {r"^\w+$": True}, "additionalProperties": False}
    violation = Validators(alarm).find_violation(closed, {"a\n": 1})
    assert violation is not None
    assert violation.message.endswith(r"does not match any of the regexes: '^\\w+$'")


@pytest.mark.parametrize(
    ("pattern", "part"),
    [
        (r"\Aa", r"\A"),
        (r"a\Z", r"\Z"),
        (r"[\a]", r"[\a]"),
        (r"\U00000041", r"\U"),
        (r"(?P<n>a)", "(?P"),
        ("(?i)a", "(?i"),
        ("(?x)a # [", "(?x"),
        ("(?s-i:a)", "(?s"),
        ("a(?#note)", "(?#"),
        ("(a)?(?(1)b|c)", "(?("),
        ("(?>a)", "(?>"),
        ("a{,5}", "{,5}"),
        ("a++b", "++"),
        ("a{1,2}+", "{1,2}+"),
        ("[]a]", "[]a]"),
        ("[^]a]", "[^]a]"),
    ],
)
def test_syntax_of_python_alone_is_refused(pattern: str, part: str) -> None:
    re.compile(pattern)
    assert find_pattern_fault(pattern) == f"{pattern!r} has {part!r}, which ECMA-262 does not have or reads otherwise"
    with pytest.raises(SchemaRefusal, match="ECMA-262"):
        Validators(alarm).find_violation({"pattern": pattern}, "a")


@pytest.mark.parametrize("pattern", [r"\(?i\)", "[(?P]", r"\\\[$", r"[+*]+", r"\{,5\}", r"\++", r"[\\]A"])
def test_text_that_only_looks_like_syntax_of_python_is_accepted(pattern: str) -> None:
    assert find_pattern_fault(pattern) is None


_PIECES = st.sampled_from(
    [*r"ab.$^|()[]-+*?{},1", *(rf"\{letter}" for letter in "dDwWsSbB.$\\[]-"), "(?:", "(?=", "[^", "{1,2}"]
)

of_any_class = pytest.mark.filterwarnings("ignore:Possible (nested )?set:FutureWarning")
"""A class such as `[[a]`, which a later Python may read otherwise."""


@of_any_class
@given(st.lists(_PIECES, max_size=10).map("".join))
def test_an_accepted_pattern_can_be_compiled_after_its_translation(pattern: str) -> None:
    assume(find_pattern_fault(pattern) is None)
    re.compile(translate_pattern(pattern))
    assert repr(TranslatedPattern(pattern)) == repr(pattern)


@of_any_class
@given(st.lists(_PIECES, max_size=10).map("".join), st.text("aZ09_-.$^[] \t", max_size=6))
def test_both_readings_agree_about_ascii_in_one_line(pattern: str, text: str) -> None:
    assume(find_pattern_fault(pattern) is None)
    assume(text or r"\B" not in pattern)
    assert bool(re.search(translate_pattern(pattern), text)) == bool(re.search(pattern, text))
