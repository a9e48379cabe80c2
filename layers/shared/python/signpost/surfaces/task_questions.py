"""The questions of a task: those of the parked step of its run, under keys that no other round of the task has.

A function may ask under one key in several rounds. An answer that comes late or twice must not become the answer to a
later question, so clients see each key with the number of its round.
"""

from collections.abc import Mapping

from signpost.calling.client_needs import find_missing_capabilities, needs_of
from signpost.model import Json, JsonObject
from signpost.workflow.instance import Instance
from signpost.workflow.step_questions import StepQuestions

NO_QUESTIONS: Mapping[str, JsonObject] = {}


def show_questions(instance: Instance) -> Mapping[str, JsonObject]:
    """Return the open questions by the keys that the client sees; empty if the function does not wait for answers."""
    questions = _find_open(instance)
    if questions is None:
        return NO_QUESTIONS
    return {_key_of(questions, key): request for key, request in questions.requests.items()}


def is_answerable(question: JsonObject, declared: JsonObject) -> bool:
    """Return whether a client that declares these capabilities can be asked the question."""
    return not find_missing_capabilities(needs_of(question), declared)


def select_answers(instance: Instance, responses: Mapping[str, Json]) -> Mapping[str, Json]:
    """Return the answers to open questions by the keys of the function. All others are left out."""
    questions = _find_open(instance)
    keys = {} if questions is None else {_key_of(questions, key): key for key in questions.requests}
    return {keys[key]: response for key, response in responses.items() if key in keys}


def _find_open(instance: Instance) -> StepQuestions | None:
    claim = instance.claim
    return claim.questions if claim is not None and claim.is_parked else None


def _key_of(questions: StepQuestions, key: str) -> str:
    return f"{questions.round}.{key}"
