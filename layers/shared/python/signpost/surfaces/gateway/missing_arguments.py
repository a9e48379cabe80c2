"""Asks a client for the arguments that a start or a submission lacks, in the call itself.

Only flat arguments can be asked for, and only if all others fit. A client that cannot be asked gets the refusal, or the
link to fill in. Import this module on first use: few calls lack arguments.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from signpost.calling.questions import find_question_fault
from signpost.model import InputRequired, Json, JsonObject, as_object
from signpost.records import dataclass
from signpost.surfaces.gateway.workflow_tools import BEGUN_RUN, MISSING
from signpost.workflow.engine.admission import complete_fields
from signpost.workflow.engine.argument_schemas import arguments_schema_of
from signpost.workflow.engine.capability_focus import requested_capability
from signpost.workflow.engine.steps import Submission
from signpost.workflow.running.answers import build_answer
from signpost.workflow.running.service import StartRequest, StepResult, WorkflowRefusal

if TYPE_CHECKING:
    from signpost.schema.validation import Validators

_DESCRIBED = ("type", "title", "description", "default")
_FIELD_MEMBERS: Mapping[str, Sequence[str]] = {
    "boolean": _DESCRIBED,
    "integer": (*_DESCRIBED, "minimum", "maximum"),
    "number": (*_DESCRIBED, "minimum", "maximum"),
    "string": (*_DESCRIBED, "minLength", "maxLength", "format", "enum"),
}
"""The members of an argument of each type that a field of a form can have as well. One with others is not asked for:
the form would permit values that are refused afterwards."""


@dataclass(frozen=True, slots=True)
class IncompleteMove:
    """A start or a submission, with the arguments that it has."""

    title: str
    schema: JsonObject
    arguments: JsonObject
    decision: str | None = None
    """The decision of an approver, if the move is one."""
    state: Json = None
    """The state that the answer comes back with."""


def ask_for_missing(move: IncompleteMove, validators: "Validators") -> InputRequired | None:
    """Return the question for the missing arguments; None if they cannot be asked for or if more is wrong."""
    complete = complete_fields(validators, move.schema, move.arguments)
    required = _names_in(move.schema.get("required"))
    missing = [name for name in required if name not in complete]
    fields = {name: _build_field(as_object(move.schema.get("properties")).get(name)) for name in missing}
    if not missing or any(field is None for field in fields.values()):
        return None
    others: JsonObject = {**move.schema, "required": [name for name in required if name not in missing]}
    if validators.find_violation(others, complete) is not None:
        return None
    form: JsonObject = {"type": "object", "properties": fields, "required": missing}
    params: JsonObject = {"mode": "form", "message": _build_message(move, missing), "requestedSchema": form}
    asked = InputRequired({MISSING: {"method": "elicitation/create", "params": params}}, move.state)
    return asked if find_question_fault(asked) is None else None


def _build_message(move: IncompleteMove, missing: Sequence[str]) -> str:
    names = ", ".join(missing)
    if move.decision is None:
        return f"{move.title} needs more input: {names}."
    return f"{move.title}: to {move.decision}, the approver has to give {names}."


def _names_in(value: Json) -> Sequence[str]:
    return [name for name in value if isinstance(name, str)] if isinstance(value, list) else []


def _build_field(declared: Json) -> JsonObject | None:
    """Return the field of a form for an argument; None if no form can have it."""
    schema = as_object(declared)
    kind, choices = schema.get("type"), schema.get("enum")
    are_texts = isinstance(choices, list) and all(isinstance(choice, str) for choice in choices)
    kind = "string" if kind is None and are_texts else kind
    if not isinstance(kind, str) or not schema.keys() <= set(_FIELD_MEMBERS.get(kind, ())):
        return None
    return {**schema, "type": kind} if choices is None or are_texts else None


def find_incomplete(outcome: StepResult | WorkflowRefusal, event: Submission | StartRequest) -> IncompleteMove | None:
    """Return the start or the submission that its schema refused, or the first move of a run of a capability that was
    started without all of its arguments; None if it was something else."""
    match outcome, event:
        case WorkflowRefusal(schema=schema), StartRequest(definition_id, start_input) if schema is not None:
            return IncompleteMove(definition_id, schema, start_input)
        case StepResult() as result, StartRequest(definition_id, start_input):
            return _find_first_move(result, requested_capability(definition_id, start_input))
        case StepResult() as result, Submission() as submitted:
            return _find_refused_submission(result, submitted)
        case _:
            return None


def _find_refused_submission(result: StepResult, submitted: Submission) -> IncompleteMove | None:
    refusal, definition = result.step.refusal, result.definition
    transition = definition.states[result.step.instance.state].transitions.get(submitted.transition)
    if refusal is None or refusal.code != "INPUT_SCHEMA_VIOLATION" or transition is None:
        return None
    schema = arguments_schema_of(definition, transition)
    return IncompleteMove(transition.title, schema, submitted.arguments, transition.decision)


def _find_first_move(result: StepResult, capability: str | None) -> IncompleteMove | None:
    """Return the move that a started run of a capability waits for, as its link shows it; None if the start gave no
    argument of the capability: then it asked for this link."""
    if capability is None or result.step.refusal is not None:
        return None
    links = build_answer(result.definition, result.step, is_start=True)["links"]
    for link in map(as_object, links if isinstance(links, list) else ()):
        args = as_object(link.get("args"))
        arguments = as_object(args.get("arguments"))
        if args.get("transition") == capability and arguments:
            return IncompleteMove(
                str(link["title"]), as_object(link["inputSchema"]), arguments, state={BEGUN_RUN: args}
            )
    return None
