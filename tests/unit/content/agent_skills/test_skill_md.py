"""Front matters: what is one, what becomes of it, and that whatever we write is read as it was meant."""

import hashlib
import json
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from signpost.content.agent_skills import front_matter
from signpost.content.agent_skills.skill_md import (
    LONGEST_FRONT_MATTER,
    build_skill_md,
    front_matter_in,
    front_matter_of,
    is_agent_skill,
    render_front_matter,
    text_of,
)
from signpost.content.documents import build_skill
from signpost.content.model import Skill, SkillMd
from signpost.model import Json, JsonObject

TEXTS = st.text(st.characters(codec="utf-8"), max_size=50)
KEYS = st.text(st.characters(codec="utf-8"), max_size=40).filter(lambda key: key != "<<")
VALUES: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=10,
)
FRAGMENTS = st.sampled_from(
    [
        "---",
        "\n",
        "\r\n",
        "---\n",
        "--- \n",
        "name: a",
        "description: b",
        ": ",
        "- ",
        "# Title",
        "&a",
        "*a",
        "|",
        "'",
        "{",
    ]
)
BODIES = st.lists(FRAGMENTS | TEXTS, min_size=1, max_size=12).map("".join).filter(bool)


def skill_of(body: str, skill_id: str = "some/skill") -> Skill:
    return build_skill(skill_id, body, "2026-11-18T12:00:00Z")


def front_matter_and_text(body: str, skill_id: str = "some/skill") -> tuple[JsonObject, str]:
    skill = skill_of(body, skill_id)
    assert skill.manifest is not None
    return front_matter_of(skill, skill.manifest), text_of(skill, body)


@pytest.mark.parametrize("skill_id", ["a", "0", "a-b", "a1-2b/c", "x" * 64, "skills", "/".join(["a"] * 100)])
def test_valid_names_are_those_of_agent_skills(skill_id: str) -> None:
    assert is_agent_skill(skill_id)


@pytest.mark.parametrize(
    "skill_id", ["", "-", "-a", "a-", "a--b", "a_b", "A", "a b", "ä", "a/", "/a", "a//b", "a\n", "x" * 65]
)
def test_invalid_names_are_not_those_of_agent_skills(skill_id: str) -> None:
    assert not is_agent_skill(skill_id)


def test_a_document_without_a_valid_name_has_no_skill_md() -> None:
    assert skill_of("# Title", "a_b").manifest is None


@given(st.dictionaries(KEYS, VALUES, max_size=6))
def test_a_rendered_front_matter_is_read_back(fields: dict[str, Any]) -> None:
    text = render_front_matter(fields)
    block = text.removeprefix("---\n").removesuffix("---\n")
    assert "\n---" not in block
    assert (front_matter.parse_mapping(block) or {}) == fields


@given(st.dictionaries(KEYS, TEXTS, min_size=1, max_size=6))
def test_pyyaml_reads_the_same_front_matter(fields: dict[str, str]) -> None:
    assert yaml.safe_load(render_front_matter(fields).split("---\n")[1]) == fields


@given(BODIES)
def test_every_document_gets_a_complete_front_matter(body: str) -> None:
    fields, text = front_matter_and_text(body)
    found = front_matter_in(text)
    assert found is not None
    assert found[0] == fields
    assert fields["name"] == "skill"
    assert isinstance(fields["description"], str)
    assert 0 < len(fields["description"]) <= 1024


@given(BODIES)
def test_a_skill_md_has_digest_and_size_of_its_text_and_is_json(body: str) -> None:
    skill = skill_of(body)
    written = text_of(skill, body).encode()
    assert skill.manifest is not None
    assert skill.manifest.digest == hashlib.sha256(written).hexdigest()
    assert skill.manifest.size == len(written)
    assert json.loads(json.dumps(skill.manifest.front_matter)) == skill.manifest.front_matter


@given(BODIES)
def test_a_document_with_a_complete_front_matter_is_unchanged(body: str) -> None:
    _, text = front_matter_and_text(body)
    assert front_matter_and_text(text)[1] == text


@pytest.mark.parametrize(
    "body",
    [
        "# Title",
        "--- \nname: a\n---\n",
        " ---\nname: a\n---\n",
        "---\nname: a\n",
        "---\nname: a\n----\n",
        "---\nname: a ---\n",
        "---\n---\n",
        "---\n\n---\n",
        "---\n# only a remark\n---\n",
        "---\njust a text\n---\n",
        "---\n- a\n- b\n---\n",
        "---\n42\n---\n",
        "---\na: b: c\n---\n",
        "---\na: [\n---\n",
        "---\na: 1\na: 2\n---\n",
        "---\na: &x [1]\nb: *x\n---\n",
        "---\n<<: {a: 1}\n---\n",
        "---\n1: a\n---\n",
        "---\ntrue: a\n---\n",
        "---\n? [a]\n: b\n---\n",
        "---\na: !!python/object/apply:os.system [ls]\n---\n",
        "---\na: !!int '3'\n---\n",
        "---\na: .inf\n---\n",
        "---\na: 1e999\n---\n",
        f"---\na: {'9' * 5000}\n---\n",
        f"---\na: {'[' * 4000}\n---\n",
        f"---\na: {'[' * 70}{']' * 70}\n---\n",
        "---\na: \x07\n---\n",
        "---\na: b\u2028c: d\n---\n",
        f"---\na: {'x' * LONGEST_FRONT_MATTER}\n---\n",
        f"---\n{'x' * 101}: a\n---\n",
    ],
)
def test_an_invalid_front_matter_stays_in_the_text_below_a_new_one(body: str) -> None:
    assert front_matter_in(body) is None
    fields, text = front_matter_and_text(body)
    assert text.endswith(f"---\n\n{body}")
    assert set(fields) == {"name", "description"}


@pytest.mark.parametrize(
    ("block", "fields"),
    [
        ("a: no", {"a": "no"}),
        ("a: 2026-11-18", {"a": "2026-11-18"}),
        ("a: 1_000", {"a": "1_000"}),
        ("a: 012", {"a": 12}),
        ("a: 0o17\nb: 0xFf\nc: -3", {"a": 15, "b": 255, "c": -3}),
        ("a: 1.50\nb: .5\nc: 1e3\nd: 1.", {"a": 1.5, "b": 0.5, "c": 1000.0, "d": 1.0}),
        ("a: ~\nb: null\nc:\nd: ''", {"a": None, "b": None, "c": None, "d": ""}),
        ("a: true\nb: 'true'\nc: True", {"a": True, "b": "true", "c": True}),
        ("a: >\n  one\n  text\nb: |\n  42\n", {"a": "one text\n", "b": "42\n"}),
        ("a: [x, {b: 1}]\nc:\n  - d", {"a": ["x", {"b": 1}], "c": ["d"]}),
        ("'1': a\n\"null\": b", {"1": "a", "null": "b"}),
        ("a: 😀 # remark", {"a": "😀"}),
        ("a: b\r\nc: d\r", {"a": "b", "c": "d"}),
    ],
)
def test_values_are_those_of_yaml_1_2(block: str, fields: JsonObject) -> None:
    found = front_matter_in(f"---\n{block}\n---\nrest")
    assert found == (fields, "rest")


def test_a_byte_order_mark_is_removed() -> None:
    body = "---\nname: skill\ndescription: Text.\n---\n"
    assert front_matter_and_text(f"\ufeff{body}") == ({"name": "skill", "description": "Text."}, body)


def test_a_description_that_is_too_long_is_cut() -> None:
    fields, _ = front_matter_and_text(f"---\nname: skill\ndescription: {'x' * 2000}\n---\n")
    assert fields["description"] == "x" * 1021 + "..."


@pytest.mark.parametrize("description", ["''", "' '", "~", "[a]", "42"])
def test_an_empty_or_non_text_description_is_replaced(description: str) -> None:
    fields, _ = front_matter_and_text(f"---\nname: skill\ndescription: {description}\n---\n# Title\n\nText.\n")
    assert fields["description"] == "Text."


def test_a_front_matter_derived_from_title_and_description_is_not_stored() -> None:
    skill = skill_of("# Title\n\nText.")
    assert skill.manifest is not None
    assert skill.manifest.front_matter is None
    assert isinstance(build_skill_md(skill, "# Title\n\nText."), SkillMd)
