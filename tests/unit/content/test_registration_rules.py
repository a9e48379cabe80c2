"""What is refused before anything is stored, by the first rule that it breaks."""

import pytest

from signpost.content import documents, prompts
from signpost.content.model import StoredPrompt
from signpost.model import PromptArgument


@pytest.mark.parametrize(
    ("skill_id", "body", "code", "says"),
    [
        ("Bad", "", "invalid_id", "lowercase"),
        ("a", "", "invalid_content", "non-empty"),
        ("a", "ü" * 131_073, "invalid_content", "too large: 262146 bytes"),
    ],
)
def test_an_invalid_skill_is_refused_by_the_first_broken_rule(skill_id: str, body: str, code: str, says: str) -> None:
    refused = documents.refusal_of(skill_id, body)
    assert refused is not None
    assert refused.code == code
    assert says in refused.message


@pytest.mark.parametrize("body", [" ", "\n", "x" * documents.LARGEST_BODY])
def test_a_valid_body_is_accepted(body: str) -> None:
    assert documents.refusal_of("a", body) is None


def prompt(name: str = "p", description: str = "d", function: str = "f", *arguments: str) -> StoredPrompt:
    return StoredPrompt(name, description, function, [PromptArgument(argument) for argument in arguments], "")


@pytest.mark.parametrize(
    ("refused", "code", "says"),
    [
        (prompt("", "", "", ""), "invalid_name", "name must be non-empty"),
        (prompt("n" * 65, ""), "invalid_name", "too long"),
        (prompt("a::b", ""), "invalid_name", "lowercase"),
        (prompt("p", " \n", ""), "invalid_content", "description must be non-empty"),
        (prompt("p", "d", " ", ""), "invalid_content", "function_id must be non-empty"),
        (prompt("p", "d", "f", "a", " "), "invalid_content", "argument name must be non-empty"),
        (prompt("p", "d", "f", "a", "b", "a"), "invalid_content", "duplicate argument name 'a'"),
        (prompt("p", "d", "f", "a" * 300_000), "invalid_content", "too large"),
    ],
)
def test_an_invalid_prompt_is_refused_by_the_first_broken_rule(refused: StoredPrompt, code: str, says: str) -> None:
    refusal = prompts.refusal_of(refused)
    assert refusal is not None
    assert refusal.code == code
    assert says in refusal.message


def test_a_prompt_may_have_a_reserved_name_and_case_sensitive_arguments() -> None:
    assert prompts.refusal_of(prompt("fn", "d", "state::set", "a", "A", " a")) is None
