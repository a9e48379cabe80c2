"""Parks a step whose function asks questions, shows the questions, and takes their answers.

Import this module on first use: few functions ask.
"""

import json
from collections.abc import Mapping
from dataclasses import replace

from signpost.calling.client_answers import ACTIONS, LARGEST_ANSWERS, AnswerSorter
from signpost.model import InputRequired, Json, JsonObject, as_object
from signpost.schema.validation import Validators
from signpost.workflow.instance import Claim
from signpost.workflow.step_questions import StepQuestions

MOST_ROUNDS = 10
"""How often one step may ask."""
LARGEST_QUESTIONS = 256_000
"""Characters of JSON of the questions, the answers and the state of a parked step. One instance keeps them."""
ANSWERED_PAUSE = 10.0
"""Seconds that the caller who has answered has to run the step again, before a worker does."""
QUESTIONS = "$questions"
"""The argument of `$answer` that names the questions. Another round, or another submission, has another name."""
_CONTENT_BLOCK: JsonObject = {"type": "object", "properties": {"type": {"type": "string"}}, "required": ["type"]}
_MODEL_MESSAGE: JsonObject = {
    "type": "object",
    "properties": {
        "role": {"enum": ["user", "assistant"]},
        "content": {"anyOf": [_CONTENT_BLOCK, {"type": "array", "items": _CONTENT_BLOCK, "minItems": 1}]},
        "model": {"type": "string"},
        "stopReason": {"type": "string"},
    },
    "required": ["role", "content", "model"],
}
_ROOT: JsonObject = {"type": "object", "properties": {"uri": {"type": "string"}}, "required": ["uri"]}
_ROOTS: JsonObject = {
    "type": "object",
    "properties": {"roots": {"type": "array", "items": _ROOT}},
    "required": ["roots"],
}


def ask(before: StepQuestions | None, required: InputRequired, name: str) -> StepQuestions | str:
    """Return the questions of the next round, or a sentence that says why the function may not ask them. `name` is the
    name of the round. A question that is asked again replaces its answer."""
    earlier = StepQuestions("", {}, round=0) if before is None else before
    if not required.requests:
        return "The function returned a state without a question. A step goes on only with answers."
    if earlier.round >= MOST_ROUNDS:
        return f"The function asked in more than {MOST_ROUNDS} rounds, which is the limit of a step."
    answers = {key: answer for key, answer in earlier.answers.items() if key not in required.requests}
    asked = replace(
        earlier, id=name, requests=required.requests, answers=answers, state=required.state, round=earlier.round + 1
    )
    if (size := _size_of(asked)) > LARGEST_QUESTIONS:
        return (
            f"The questions, their answers and the state have {size} characters; at most {LARGEST_QUESTIONS} are kept."
        )
    return asked


def _size_of(questions: StepQuestions) -> int:
    return len(json.dumps([questions.requests, questions.answers, questions.state]))


def take_answers(
    claim: Claim, questions: StepQuestions, responses: Mapping[str, Json], validators: Validators, now: float
) -> Claim | str | None:
    """Return the parked claim with those of the answers that fit, or a sentence that says why they are not kept; None
    if no answer fits. Once no question is left, a worker may take up the claim."""
    found = AnswerSorter(validators).sort(questions.requests, responses)
    if not found.accepted:
        return None
    answers = {**questions.answers, **found.accepted}
    if (size := len(json.dumps(answers))) > LARGEST_ANSWERS:
        return f"The answers have {size} characters; at most {LARGEST_ANSWERS} are kept."
    answered = replace(claim, questions=replace(questions, requests=found.open, answers=answers))
    if found.open:
        return answered
    return replace(answered, awaits="executor", since=now, until=now + ANSWERED_PAUSE)


def name_of_answers(questions: StepQuestions) -> JsonObject:
    """Return the arguments of the link that answers: the name of the questions."""
    return {} if QUESTIONS in questions.requests else {QUESTIONS: questions.id}


def names_other_questions(questions: StepQuestions, arguments: Mapping[str, Json]) -> bool:
    """Return whether the arguments of `$answer` are meant for another round, or for another submission."""
    return QUESTIONS not in questions.requests and arguments.get(QUESTIONS, questions.id) != questions.id


def find_answer_fault(questions: StepQuestions, arguments: Mapping[str, Json], validators: Validators) -> str | None:
    """Return a sentence that says why the arguments of `$answer` do not answer the questions; None if they do. Each
    answer is compared with the schema of its own question: that of all may be too large to be compiled."""
    missing = [key for key in questions.requests if key not in arguments]
    if missing:
        return f"`{missing[0]}` is missing. Answer all questions at once."
    if unknown := [key for key in arguments if key not in questions.requests and key != QUESTIONS]:
        return f"`{unknown[0]}` is no open question."
    for key, request in questions.requests.items():
        violation = validators.find_violation(_answer_schema_of(request), arguments[key])
        if violation is not None:
            place = f"{key}.{violation.field}" if violation.field else key
            return f"`{place}` did not satisfy the schema of the question: {violation.sentence}"
    unfitting = AnswerSorter(validators).sort(questions.requests, arguments).open
    return f"`{next(iter(unfitting))}` has a value of another format than the question asks for." if unfitting else None


def build_answer_schema(questions: StepQuestions) -> JsonObject:
    """Build the schema of the arguments of `$answer`: an answer to each open question."""
    name: JsonObject = {"const": questions.id, "description": "The name of these questions: send it as it is."}
    properties = {key: _answer_schema_of(request) for key, request in questions.requests.items()}
    return {
        "type": "object",
        "properties": {QUESTIONS: name, **properties},
        "required": list(questions.requests),
        "additionalProperties": False,
    }


def _answer_schema_of(request: JsonObject) -> JsonObject:
    params = as_object(request.get("params"))
    match request.get("method"):
        case "sampling/createMessage":
            return {
                "description": "The message of a model, as the request in `questions` asks for it.",
                **_MODEL_MESSAGE,
            }
        case "roots/list":
            return {"description": "The roots of the client.", **_ROOTS}
        case _ if params.get("mode") == "url":
            description = f"{params.get('message')} Open {params.get('url')}, then answer."
            return {"description": description, **_action_schema(*ACTIONS)}
        case _:
            return {"description": params.get("message"), **_form_schema(as_object(params.get("requestedSchema")))}


def _action_schema(*actions: str, **members: JsonObject) -> JsonObject:
    action: JsonObject = {"enum": list(actions)}
    return {"type": "object", "properties": {"action": action, **members}, "required": ["action", *members]}


def _form_schema(requested: JsonObject) -> JsonObject:
    """Build the schema of an answer to a form, which needs content only if it accepts."""
    content = {name: part for name, part in requested.items() if name != "$schema"}
    accepted = _action_schema("accept", content={**content, "additionalProperties": False})
    return {"anyOf": [accepted, _action_schema("decline", "cancel")]}
