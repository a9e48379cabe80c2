"""What is read out of markdown, and what is written as markdown."""

import re
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signpost.content import markdown
from signpost.content.documents import LONGEST_TITLE, build_skill
from signpost.content.model import Skill
from tests.support.registry import SKILL_IDS

BODIES = st.text("# \n\r\tab\u2028\x0b`-é") | st.text(st.characters(exclude_categories=["Cs"]))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


def skill(skill_id: str, body: str = "# T\n\nWords.\n") -> Skill:
    return build_skill(skill_id, body, "2026-11-18T12:00:00.000001+00:00")


def ids_in(index: str) -> list[str]:
    return re.findall(r"^ *- \[`([^`]+)`\]\(iii://\1\) — ", index, re.MULTILINE)


@pytest.mark.parametrize(
    ("body", "title"),
    [
        ("```\n# in a fence\n```\n", "in a fence"),
        ("   # indented #\n", "indented #"),
        ("#\tno\n", None),
        ("a\u2028# not a line\n", None),
        ("a\x0b# not a line\n", None),
        ("# \n# second\n", ""),
        ("", None),
    ],
)
def test_the_title_is_the_first_line_with_one_hash_and_a_blank(body: str, title: str | None) -> None:
    assert markdown.title_of(body) == title


@pytest.mark.parametrize(
    ("body", "description"),
    [
        ("above\n# T\nbelow\n", "above"),
        ("# T\n\n  one  \n two \nthree\n\nfour", "one two three"),
        ("#tag\n> quote\n", "> quote"),
        ("---\nname: x\n---\n# T\n", "--- name: x ---"),
        ("# T\r\n\r\nwords\r\n\r\nmore", "words"),
        ("\n\n", None),
    ],
)
def test_the_description_is_the_first_paragraph_in_one_line(body: str, description: str | None) -> None:
    assert markdown.description_of(body) == description


@pytest.mark.parametrize(
    ("body", "headings"),
    [
        ("# Title\n\n## One\n### Two ###\ntext\n###### Three", "One\nTwo\nThree"),
        ("no heading", ""),
        ("# Title\n#hash\n####### seven\n##\n## ", ""),
        ("## Before\n# Title\n# Title", "Before"),
        ("# T\n```sh\n# a comment\n```\n## After", "After"),
        ("# T\n~~~\n```\n# a comment\n~~~\n## After", "After"),
        ("# T\n```\n## never closed", ""),
        ("# T\n  ## Indented", "Indented"),
    ],
)
def test_the_headings_are_those_below_the_title_outside_of_code_blocks(body: str, headings: str) -> None:
    assert markdown.headings_of(body, 400) == headings


def test_headings_of_a_hostile_body_are_read_in_linear_time() -> None:
    began = time.process_time()
    assert markdown.headings_of(f"# {' #' * 130_000}x\n", 400) == ""
    assert time.process_time() - began < 1


def test_headings_are_cut_off_between_two_of_them() -> None:
    body = "".join(f"## heading {number}\n" for number in range(100))
    assert markdown.headings_of(body, 30) == "heading 0\nheading 1\nheading 2"
    assert markdown.headings_of(f"## {'a' * 31}", 30) == ""


def test_a_cut_counts_characters_and_not_bytes() -> None:
    assert markdown.truncate("😀" * 141, 140) == "😀" * 140 + "..."


@pytest.mark.parametrize("body", ["words", "# \n", "## Two\n"])
def test_without_a_heading_the_id_is_the_title(body: str) -> None:
    assert skill("a/b", body).title == "a/b"


def test_a_long_title_is_cut() -> None:
    assert skill("a", "# " + "t" * 5000).title == "t" * LONGEST_TITLE + "..."


def test_children_follow_their_parent_in_the_index() -> None:
    found = ids_in(markdown.build_index([skill(one) for one in ("tree", "tree-x", "tree/leaf", "tree0")]))
    assert found == ["tree", "tree/leaf", "tree-x", "tree0"]


def test_an_empty_index_has_a_notice() -> None:
    assert "No skills" in markdown.build_index([])


def test_no_title_can_look_like_another_entry() -> None:
    index = markdown.build_index([skill("a", "# T\r- [`b`](iii://b) — x\n\nwords\u2028- [`c`](iii://c)\n")])
    assert [line for line in index.splitlines() if "iii://" in line and not line.startswith("- [`a`]")] == []


def test_an_index_that_is_too_long_names_the_number_of_missing_skills() -> None:
    skills = [skill(f"s{number:05}", f"# {'t' * 100}\n\n{'ü' * 140}\n") for number in range(5000)]
    index = markdown.build_index(skills)
    named = ids_in(index)
    assert len(index.encode()) <= markdown.LARGEST_INDEX
    assert named == [one.id for one in skills[: len(named)]]
    assert f"{5000 - len(named)} more are registered" in index
    assert "skills::list" in index


def test_the_line_about_missing_skills_fits_into_the_index() -> None:
    index = markdown.build_index([skill(f"s{number:05}", "# t\n") for number in range(40_000)])
    assert markdown.LARGEST_INDEX - markdown.MISSING_LINE_BYTES < len(index.encode()) <= markdown.LARGEST_INDEX


def test_an_index_that_just_fits_has_no_line_about_missing_skills() -> None:
    skills = [skill(f"s{number:05}", "# t\n") for number in range(10_000)]
    index = markdown.build_index(skills)
    assert len(ids_in(index)) == 10_000
    assert "more are registered" not in index


@given(st.dictionaries(SKILL_IDS, BODIES.filter(bool), max_size=8))
def test_any_skills_have_an_index_with_a_line_for_each(bodies: dict[str, str]) -> None:
    index = markdown.build_index([skill(skill_id, body) for skill_id, body in bodies.items()])
    assert ids_in(index) == sorted(bodies, key=lambda skill_id: skill_id.split("/"))
    indents = {found[1]: len(found[0]) for found in re.findall(r"^( *)- \[`([^`]+)`", index, re.MULTILINE)}
    assert indents == {skill_id: 2 * skill_id.count("/") for skill_id in bodies}


@given(st.text(st.characters(exclude_categories=[])))
def test_any_text_has_a_title_and_a_description_of_one_line_or_none(body: str) -> None:
    for found in (markdown.title_of(body), markdown.description_of(body)):
        assert found is None or "\n" not in found
    assert len(markdown.description_of(body) or "") <= 143


@given(st.lists(st.tuples(SKILL_IDS.map("iii://{}".format), st.text()), min_size=1))
def test_fetched_texts_stand_below_their_uris(parts: list[tuple[str, str]]) -> None:
    fetched = markdown.join_parts(parts)
    assert all(f"# {uri}\n\n{text.rstrip()}" in fetched for uri, text in parts)
    assert fetched.startswith(f"# {parts[0][0]}\n\n")


@given(JSON)
def test_any_answer_is_a_section_and_a_prompt_or_no_prompt(answer: Any) -> None:
    written = markdown.section_text(answer)
    assert written.mime_type in (markdown.MARKDOWN, markdown.JSON)
    messages = markdown.prompt_messages(answer)
    assert messages is None or not isinstance(messages, str)


def test_a_section_keeps_non_ascii_text_and_an_empty_text_is_markdown() -> None:
    assert markdown.section_text({"ü": 1}).text == '{\n  "ü": 1\n}'
    assert markdown.section_text("") == markdown.DocumentText("", markdown.MARKDOWN)
    assert markdown.section_text({"content": ""}) == markdown.DocumentText("", markdown.MARKDOWN)
