"""Patterns of URIs: what is one, what is an instance of it, and that nobody can make the search long."""

import re
import time
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signpost.calling.uri_templates import TemplateRefused, parse_uri_template


@pytest.mark.parametrize(
    ("text", "names"),
    [("yard://a", []), ("yard://{a}", ["a"]), ("yard://{a}/{+b}{#c}", ["a", "b", "c"]), ("yard://{a_1}", ["a_1"])],
)
def test_a081_a_template_has_zero_or_more_variables(text: str, names: list[str]) -> None:
    assert parse_uri_template(text).names == names


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("yard://{a", "a brace that is not closed"),
        ("yard://a}", "a brace that is not closed"),
        ("yard://{{a}}", "a brace that is not closed"),
        ("yard://{a}/{a}", "the variable a twice"),
        ("yard://{a}/{+a}", "the variable a twice"),
        ("yard://{a}{b}", "no text between {a} and the variable after it"),
        ("yard://{}", "has {}"),
        ("yard://{a,b}", "has {a,b}"),
        ("yard://{?a}", "has {?a}"),
        ("yard://{a*}", "has {a*}"),
        ("yard://{a:3}", "has {a:3}"),
        ("yard://{a-b}", "has {a-b}"),
    ],
)
def test_a082_an_invalid_template_is_refused(text: str, words: str) -> None:
    with pytest.raises(TemplateRefused, match=re.escape(words)):
        parse_uri_template(text)


@pytest.mark.parametrize(
    ("text", "uri", "values"),
    [
        ("yard://a", "yard://a", {}),
        ("yard://a", "yard://b", None),
        ("yard://{a}", "yard://x", {"a": "x"}),
        ("yard://{a}", "yard://", None),
        ("yard://{a}", "garden://x", None),
        ("yard://{a}/of/{b}.txt", "yard://x/of/y.z.txt", {"a": "x", "b": "y.z"}),
        ("yard://{a}/of/{b}.txt", "yard://x/of/y.md", None),
        ("yard://{a}-{b}", "yard://1-2-3", {"a": "1", "b": "2-3"}),
        ("yard://{+a}-{b}", "yard://x-y/z-w", {"a": "x-y/z", "b": "w"}),
        ("yard://{+a}/{b}", "yard://x/y/z", {"a": "x/y", "b": "z"}),
    ],
)
def test_a083_n084_variables_are_read_from_a_uri(text: str, uri: str, values: dict[str, str] | None) -> None:
    assert parse_uri_template(text).values_in(uri) == values


@pytest.mark.parametrize("uri", ["yard://x/y", "yard://x?y", "yard://x#y"])
def test_a084_n084_a_variable_is_one_segment_of_a_path(uri: str) -> None:
    assert parse_uri_template("yard://{a}").values_in(uri) is None


def test_a085_n084_values_are_percent_decoded_and_invalid_utf_8_is_no_match() -> None:
    template = parse_uri_template("yard://{a}")
    assert template.values_in("yard://x%20y%2Fz%C3%A4") == {"a": "x y/zä"}
    assert template.values_in("yard://x+y") == {"a": "x+y"}
    assert template.values_in("yard://%FF") is None


def test_a086_reserved_expansion_spans_slashes_but_no_fragment() -> None:
    template = parse_uri_template("yard://{+path}")
    assert template.values_in("yard://a/b?c=d") == {"path": "a/b?c=d"}
    assert template.values_in("yard://a/b#c") is None


def test_a087_a_fragment_follows_its_sign_and_is_not_empty() -> None:
    template = parse_uri_template("yard://{a}{#part}")
    assert template.values_in("yard://x#y/z#") == {"a": "x", "part": "y/z#"}
    assert template.values_in("yard://x") is None
    assert template.values_in("yard://x#") is None


@pytest.mark.parametrize("text", ["y:{+a}/{+b}/{+c}/{+d}/{+e}/{+f}/{+g}!", "y:{+a}//{+b}/{+c}//{+d}!"])
def test_no_uri_makes_matching_slow(text: str) -> None:
    template = parse_uri_template(text)
    before = time.process_time()
    assert template.values_in(f"y:{'/' * 2_040}") is None
    assert template.values_in(f"y:{'/' * 5_000_000}") is None
    assert time.process_time() - before < 1


VALUES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)


@given(VALUES, VALUES, VALUES)
def test_quoted_values_are_read_from_a_uri(a: str, b: str, c: str) -> None:
    uri = f"yard://{quote(a, safe='')}/{quote(b, safe='')}#{quote(c, safe='/')}"
    assert parse_uri_template("yard://{a}/{b}{#c}").values_in(uri) == {"a": a, "b": b, "c": c}
    assert parse_uri_template("yard://{+a}/{b}{#c}").values_in(uri) == {"a": a, "b": b, "c": c}


@given(VALUES, VALUES, VALUES)
def test_an_expanded_template_yields_its_values(a: str, b: str, c: str) -> None:
    values = {"a": a, "b": b, "c": c}
    for text in ("yard://{a}/{b}{#c}", "yard://of/{a}?{b}#x/{#c}"):
        template = parse_uri_template(text)
        made = template.expand(values)
        assert made is not None
        assert template.values_in(made) == values


def test_expanded_values_are_encoded_by_their_operators() -> None:
    template = parse_uri_template("yard://{a}/{+b}{#c}!")
    assert template.expand({"a": "x/y", "b": "x/y#z", "c": "#%", "d": "more"}) == "yard://x%2Fy/x/y%23z##%25!"
    assert template.expand({"a": "x", "b": "y"}) is None
    assert parse_uri_template("yard://a").expand({}) == "yard://a"
    assert parse_uri_template("yard://{a}").expand({"a": "\ud800"}) == "yard://%ED%A0%80"


@given(st.text("ab/-#", max_size=12))
def test_a_template_matches_exactly_as_a_regular_expression_does(rest: str) -> None:
    for text, expression in (
        ("y:{+a}-{b}/{+c}", r"y:[^#]+-[^/?#]+/[^#]+"),
        ("y:{a}-{b}ab", r"y:[^/?#]+-[^/?#]+ab"),
        ("y:{+a}//{b}{#c}", r"y:[^#]+//[^/?#]+#.+"),
    ):
        found = parse_uri_template(text).values_in(f"y:{rest}")
        assert (found is not None) == bool(re.fullmatch(expression, f"y:{rest}"))
