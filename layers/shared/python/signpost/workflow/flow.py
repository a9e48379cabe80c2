"""What can be at a path when a definition runs: who writes it, and what schemas allow."""

from collections.abc import Iterator, Mapping, Sequence

from signpost.model import Json, JsonObject, as_object
from signpost.records import dataclass
from signpost.workflow.deciding import ValuesOf
from signpost.workflow.definition import Definition, OnEnter, State, Transition
from signpost.workflow.paths import Known, Path

_BEYOND = ("$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "not", "if", "patternProperties", "dependentSchemas")
"""Where a schema says more than its properties do, it is not asked."""

type Schema = JsonObject | None
"""None if anything may be there."""


@dataclass(frozen=True, slots=True)
class Arguments:
    schema: Schema = None
    are_none: bool = False
    """Whether there are none at all."""


ANY_ARGUMENTS = Arguments()


@dataclass(frozen=True, slots=True)
class Flow:
    initial: JsonObject
    input_schema: Schema
    written: frozenset[str]
    """What is written into the context after the start."""

    def why_nothing(self, path: Path, arguments: Arguments) -> str | None:
        """Why there is never anything at a path; None if there may be."""
        match path.scope:
            case "context" if path.steps and path.steps[0] not in self.written | self.initial.keys():
                return f"nothing ever writes {path.steps[0]!r} into the context"
            case "input" if lacks(self.input_schema, path.steps):
                return "the inputSchema of the workflow does not have it"
            case "arguments" if arguments.are_none:
                return "there are no arguments here"
            case "arguments" if lacks(arguments.schema, path.steps):
                return "the inputSchema of the transition does not have it"
            case _:
                return None

    def values_of(self, arguments: Arguments) -> ValuesOf:
        def values(path: Path) -> Sequence[Json] | None:
            if self.why_nothing(path, arguments):
                return (None,)
            if path.scope == "context":
                return None if path.steps[0] in self.written else (path.of(Known(self.initial, {}, {})),)
            return _allowed(arguments.schema if path.scope == "arguments" else self.input_schema, path.steps)

        return values


def flow_of(definition: Definition) -> Flow:
    written = {name for state in definition.states.values() for name in written_in(state)}
    return Flow(definition.initial_context, definition.input_schema, frozenset(written))


def written_in(state: State) -> Iterator[str]:
    """What a state writes on being entered, and its transitions."""
    if state.on_enter:
        yield from state.on_enter.output
    for transition in state.transitions.values():
        yield from transition.output


def arguments_of(holder: Transition | OnEnter) -> Arguments:
    if isinstance(holder, OnEnter) or holder.actor == "deterministic":
        return Arguments(are_none=True)
    return Arguments(holder.input_schema)


def lacks(schema: Schema, steps: Sequence[str]) -> bool:
    """Whether a value of the schema can have nothing there."""
    for step in steps:
        if schema is None or any(word in schema for word in _BEYOND) or schema.get("type", "object") != "object":
            return False
        properties = as_object(schema.get("properties"))
        if step not in properties:
            return schema.get("additionalProperties") is False
        member = properties[step]
        schema = member if isinstance(member, Mapping) else None
    return False


def _allowed(schema: Schema, steps: Sequence[str]) -> Sequence[Json] | None:
    """The few values that a schema allows there; None if they are many."""
    is_required = True
    for step in steps:
        if schema is None or any(word in schema for word in _BEYOND):
            return None
        required = schema.get("required")
        is_required = is_required and isinstance(required, list) and step in required
        member = as_object(schema.get("properties")).get(step)
        schema = member if isinstance(member, Mapping) else None
    values = _listed(schema) if schema is not None else None
    return None if values is None else [*values, *([] if is_required or None in values else [None])]


def _listed(schema: JsonObject) -> Sequence[Json] | None:
    if "const" in schema:
        return [schema["const"]]
    listed = schema.get("enum")
    if isinstance(listed, list):
        return listed
    return [True, False] if schema.get("type") == "boolean" else None
