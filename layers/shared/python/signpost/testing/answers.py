"""The answers of a simulated user to questions: a script that a test writes, in the form that MCP gives them."""

from collections.abc import Callable, Mapping, Sequence

from signpost.model import Json, JsonObject, as_object
from signpost.testing.client_replies import ClientReply

ACCEPTED: JsonObject = {"action": "accept"}
"""The answer to a page: the user agreed to visit it."""
DECLINED: JsonObject = {"action": "decline"}
CANCELLED: JsonObject = {"action": "cancel"}
MODEL = "test-model"
"""The name of the model in answers to sampling."""

type Answer = Json | Callable[[JsonObject], Json]
"""The answer to one question, or a function of the params of the question. None leaves the question open."""
type Answers = Mapping[str, Answer] | Callable[[str, JsonObject], Json]
"""Answers by the keys of questions, or a function of the key and the question, with its `method` and `params`."""


def answer_questions(reply: ClientReply, answers: Answers) -> Mapping[str, Json]:
    """Answer the open questions of a reply. Raises AssertionError for a question that the script does not know."""
    found = {key: _answer_question(key, question, answers) for key, question in reply.questions.items()}
    return {key: answer for key, answer in found.items() if answer is not None}


def _answer_question(key: str, question: JsonObject, answers: Answers) -> Json:
    params = as_object(question.get("params"))
    answer = answers(key, question) if callable(answers) else _find_answer(key, params, answers)
    method = str(question.get("method"))
    return None if answer is None else SHAPES.get(method, _keep)(answer)


def _find_answer(key: str, params: JsonObject, answers: Mapping[str, Answer]) -> Json:
    if key not in answers:
        known = ", ".join(repr(name) for name in answers) or "none"
        raise AssertionError(f"The client was asked {key!r} ({params.get('message', '')}); it has answers for {known}.")
    answer = answers[key]
    return answer(params) if callable(answer) else answer


def _keep(answer: Json) -> Json:
    return answer


def _shape_elicitation(answer: Json) -> Json:
    """Return the content of a form as an accepted answer. An answer with an `action` is one already."""
    content = as_object(answer)
    return answer if "action" in content else {"action": "accept", "content": content}


def _shape_sampling(answer: Json) -> Json:
    """Return a text as the message of a model."""
    if not isinstance(answer, str):
        return answer
    return {
        "role": "assistant", "content": {"type": "text", "text": answer}, "model": MODEL, "stopReason": "endTurn",
    }  # fmt: skip


def _shape_roots(answer: Json) -> Json:
    """Return a list of URIs as roots."""
    if isinstance(answer, str) or not isinstance(answer, Sequence):
        return answer
    return {"roots": [{"uri": root} if isinstance(root, str) else root for root in answer]}


SHAPES: Mapping[str, Callable[[Json], Json]] = {
    "elicitation/create": _shape_elicitation,
    "sampling/createMessage": _shape_sampling,
    "roots/list": _shape_roots,
}
"""Makes the answer to a question of this method from what a test writes."""
