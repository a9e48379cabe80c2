from typing import Any

import pytest

from signpost.calling.client_answers import AnswerSorter
from signpost.schema.validation import Validators
from signpost.toolkit.deadline import nested_alarm

SORTER = AnswerSorter(Validators(nested_alarm))
FORM: Any = {
    "method": "elicitation/create",
    "params": {
        "message": "Which branch?",
        "requestedSchema": {
            "type": "object",
            "properties": {"branch": {"type": "string", "minLength": 1}, "force": {"type": "boolean"}},
            "required": ["branch"],
        },
    },
}
PAGE: Any = {"method": "elicitation/create", "params": {"mode": "url", "message": "Go", "url": "https://page.test"}}
SAMPLING: Any = {"method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 10}}
ROOTS: Any = {"method": "roots/list"}
NO_INPUT: Any = {}
MESSAGE = {"role": "assistant", "model": "m", "content": {"type": "text", "text": "Paris"}}


@pytest.mark.parametrize(
    ("request_", "response", "accepted"),
    [
        (FORM, {"action": "accept", "content": {"branch": "main"}}, None),
        (FORM, {"action": "decline"}, None),
        (FORM, {"action": "cancel", "content": {"branch": 7}}, {"action": "cancel"}),
        (FORM, {"action": "accept", "content": {"branch": "main"}, "_meta": {}}, {
            "action": "accept", "content": {"branch": "main"},
        }),
        (FORM, {"action": "accept", "content": {"branch": "main", "force": None}}, {
            "action": "accept", "content": {"branch": "main"},
        }),
        (PAGE, {"action": "accept", "content": {"password": "x"}}, {"action": "accept"}),
        (SAMPLING, {**MESSAGE, "stopReason": "endTurn"}, None),
        (SAMPLING, {**MESSAGE, "content": [MESSAGE["content"]]}, None),
        (ROOTS, {"roots": [{"uri": "file:///a"}]}, None),
        (ROOTS, {"roots": []}, None),
    ],
)  # fmt: skip
def test_an_answer_that_fits_is_accepted_without_foreign_members(request_: Any, response: Any, accepted: Any) -> None:
    answers = SORTER.sort({"key": request_}, {"key": response, "unasked": {"action": "accept"}})
    assert answers.accepted == {"key": response if accepted is None else accepted}
    assert answers.open == {}


@pytest.mark.parametrize(
    ("request_", "response"),
    [
        (FORM, None),
        (FORM, "main"),
        (FORM, {"content": {"branch": "main"}}),
        (FORM, {"action": "maybe"}),
        (FORM, {"action": "accept"}),
        (FORM, {"action": "accept", "content": ["main"]}),
        (FORM, {"action": "accept", "content": {}}),
        (FORM, {"action": "accept", "content": {"branch": ""}}),
        (FORM, {"action": "accept", "content": {"branch": "main", "force": "yes"}}),
        (FORM, {"action": "accept", "content": {"branch": "main", "unasked": 1}}),
        (PAGE, {"action": "accepted"}),
        (SAMPLING, {"content": MESSAGE["content"]}),
        (SAMPLING, {**MESSAGE, "content": []}),
        (SAMPLING, {**MESSAGE, "content": "Paris"}),
        (SAMPLING, {**MESSAGE, "content": [{"type": "text"}]}),
        (SAMPLING, {**MESSAGE, "content": [{"type": "text", "text": 5}]}),
        (SAMPLING, {**MESSAGE, "content": {"type": "tool_use", "id": "1", "name": "f", "input": NO_INPUT}}),
        (SAMPLING, {**MESSAGE, "stopReason": 1}),
        (ROOTS, {"roots": {}}),
        (ROOTS, {"roots": [{"name": "a"}]}),
        ({"method": "unknown"}, {"action": "accept"}),
    ],
)
def test_a_question_stays_open_if_its_answer_does_not_fit(request_: Any, response: Any) -> None:
    answers = SORTER.sort({"key": request_}, {"key": response})
    assert (answers.accepted, answers.open) == ({}, {"key": request_})


@pytest.mark.parametrize(
    ("format_", "fitting", "unfitting"),
    [
        ("date", ["2027-01-31", "2024-02-29", "2000-02-29"], ["2027-02-29", "1900-02-29", "2027-13-01", "31.1.27"]),
        ("date-time", ["2027-01-31T08:30:00Z", "2027-01-31T08:30:00.5+02:00"], ["2027-01-31T25:00:00Z", "2027-01-31"]),
        ("email", ["ada@a.test", "a.b+c@x"], ["ada", "ada@", "@a.test", "a b@c.test", "a@b@c", f"a@{'x' * 260}"]),
        ("uri", ["https://a.test/", "mailto:a@b.test", "urn:x"], ["a.test", "https://a b", "http://[", "\n", ""]),
    ],
)  # fmt: skip
def test_a197_the_format_of_a_text_binds_its_answer(format_: str, fitting: list[str], unfitting: list[str]) -> None:
    schema = {"type": "object", "properties": {"text": {"type": "string", "format": format_}}}
    question: Any = {"method": "elicitation/create", "params": {"message": "?", "requestedSchema": schema}}

    def is_accepted(text: str) -> bool:
        return bool(SORTER.sort({"q": question}, {"q": {"action": "accept", "content": {"text": text}}}).accepted)

    assert [text for text in fitting if not is_accepted(text)] == []
    assert [text for text in unfitting if is_accepted(text)] == []


def test_a_question_without_an_answer_stays_open() -> None:
    answers = SORTER.sort({"a": ROOTS, "b": FORM}, {"b": {"action": "decline"}})
    assert (answers.accepted, answers.open) == ({"b": {"action": "decline"}}, {"a": ROOTS})
