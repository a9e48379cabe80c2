"""What skills and prompts may be called, and where a URI leads."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from signpost.content import names, uris
from signpost.content.api.errors import LONGEST_QUOTE, RegistryRefusal, quote_text
from tests.support.registry import SEGMENTS, SKILL_IDS

ANY_TEXT = st.text() | st.text(st.characters(exclude_categories=[])) | st.text("iskfn:/_aé\n\ud800 ", max_size=40)


@pytest.mark.parametrize(
    ("skill_id", "says"),
    [
        ("", "id must be non-empty"),
        ("/", "slash"),
        ("/" + "A" * 2000, "slash"),
        ("A" * 1025, "too long: 1025 bytes, at most 1024"),
        ("a//b", "empty segment"),
        ("a/" + "B" * 65, "too long: 65 bytes, at most 64"),
        ("ü" * 33, "too long"),  # bytes, not characters
        ("Good", "lowercase"),
        ("fn/Bad", "lowercase"),
        ("fn/good", "reserved"),
        ("a\n", "lowercase"),
        ("\ud800", "lowercase"),
    ],
)
def test_an_id_is_refused_by_the_first_rule_it_breaks(skill_id: str, says: str) -> None:
    problem = names.problem_with_skill_id(skill_id)
    assert problem is not None
    assert says in problem


def test_an_id_may_be_as_deep_as_its_length_allows() -> None:
    assert names.problem_with_skill_id("/".join(["a"] * 512)) is None
    assert names.problem_with_skill_id("/".join(["k" * 64] * 15 + ["k" * 49])) is None


@pytest.mark.parametrize("namespace", names.INTERNAL_NAMESPACES)
def test_an_internal_namespace_is_guarded_by_prefix(namespace: str) -> None:
    assert names.is_internal(f"{namespace}x")
    assert not names.is_internal(namespace.rstrip(":."))
    assert not names.is_internal(f"a::{namespace}x")


def test_the_public_fetch_function_is_not_internal() -> None:
    assert not names.is_internal("skill::fetch")
    assert names.is_internal("stream::open")


@given(SKILL_IDS)
def test_every_good_id_is_read_at_its_uri(skill_id: str) -> None:
    assert names.problem_with_skill_id(skill_id) is None
    expected = uris.Index() if skill_id == "skills" else uris.SkillDocument(skill_id)
    assert uris.parse(uris.skill_uri(skill_id)) == expected


@given(st.lists(SEGMENTS, min_size=1, max_size=6).map("::".join))
def test_every_function_that_a_path_can_name_is_read_at_its_section(function: str) -> None:
    assert uris.parse(uris.section_uri(function)) == uris.Section(function)


@given(ANY_TEXT)
@example("iii://" + "/" * 5000)
@example("iii://fn/" + "a/" * 5000 + "a")
def test_any_text_has_a_target_that_leads_back_to_it_or_a_refusal(text: str) -> None:
    for uri in (text, f"iii://{text}", f"iii://fn/{text}"):
        match uris.parse(uri):
            case uris.Index():
                assert uri == "iii://skills"
            case uris.SkillDocument(skill_id):
                assert uris.skill_uri(skill_id) == uri
                assert names.problem_with_skill_id(skill_id) is None
            case uris.Section(function):
                assert uris.section_uri(function) == uri
            case RegistryRefusal(code, message, data):
                assert code in ("invalid_uri", "not_found")
                assert message.encode()
                assert data == {"uri": uri}


@given(ANY_TEXT)
def test_a_problem_with_any_text_can_be_encoded(text: str) -> None:
    for problem in (names.problem_with_skill_id(text), names.problem_with_prompt_name(text)):
        assert problem is None or problem.encode()


def test_a_quoted_text_is_short_and_in_one_line() -> None:
    assert quote_text("a\nb") == "'a\\nb'"
    assert quote_text("\ud800") == "'\\ud800'"
    assert len(quote_text("x" * 10_000)) == LONGEST_QUOTE + 3


def test_a_uri_of_release_0_1_is_refused_with_its_new_form() -> None:
    refused = uris.parse("iii://brain/brain::summarize")
    assert isinstance(refused, RegistryRefusal)
    assert refused.code == "not_found"
    assert "Skill not found" in refused.message
    assert "iii://fn/brain/summarize" in refused.message


@pytest.mark.parametrize("uri", ["iii://a/B::c", "iii://a/::", "iii://x/a::b c"])
def test_no_unreadable_uri_is_suggested(uri: str) -> None:
    refused = uris.parse(uri)
    assert isinstance(refused, RegistryRefusal)
    assert "iii://fn" not in refused.message
