"""Decides which arguments a transition takes, and which input a workflow: the schemas that links show and submissions
and starts have to satisfy."""

from signpost.model import PROXY_WORKFLOW, JsonObject
from signpost.workflow.definition import Definition, Transition

ANY_ARGUMENTS: JsonObject = {"type": "object"}
NO_ARGUMENTS: JsonObject = {"type": "object", "properties": {}, "additionalProperties": False}


def arguments_schema_of(definition: Definition, transition: Transition) -> JsonObject:
    """Return the schema of the arguments that callers pass to a transition. A deterministic one takes none: the engine
    takes it without arguments, and so does a caller that continues a stopped chain."""
    return NO_ARGUMENTS if transition.actor == "deterministic" else _schema_of(definition, transition.input_schema)


def input_schema_of(definition: Definition) -> JsonObject:
    """Return the schema of the input of a start. That of the workflow of capabilities names one and has its arguments
    beside the name, so it is open."""
    return ANY_ARGUMENTS if definition.id == PROXY_WORKFLOW else _schema_of(definition, definition.input_schema)


def is_open(definition: Definition, transition: Transition) -> bool:
    """Return whether a transition takes any object because its author declared no schema."""
    return transition.input_schema is None and arguments_schema_of(definition, transition) is ANY_ARGUMENTS


def _schema_of(definition: Definition, declared: JsonObject | None) -> JsonObject:
    if declared is not None:
        return declared
    return NO_ARGUMENTS if definition.refuses_undeclared else ANY_ARGUMENTS
