"""Determine the values that a path can have when a definition runs, from the outputs that write it and from schemas."""

from collections.abc import Iterator, Mapping, Sequence

from signpost.model import Json, JsonObject, as_object
from signpost.records import dataclass
from signpost.workflow.authoring.lint.guard_solver import PossibleValues
from signpost.workflow.authoring.problems import suggestion_for
from signpost.workflow.definition import Definition, OnEnter, State, Transition
from signpost.workflow.paths import Path, ValueSources

_COMPOSITE_KEYWORDS = (
    "$ref",
    "$dynamicRef",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "patternProperties",
    "dependentSchemas",
)
"""A schema with one of these keywords is not analysed, because its properties alone do not describe its values."""

type OptionalSchema = JsonObject | None
"""None if any value is allowed."""


@dataclass(frozen=True, slots=True)
class ArgumentsSchema:
    schema: OptionalSchema = None
    are_none: bool = False
    """True if there are no arguments at all."""


ANY_ARGUMENTS = ArgumentsSchema()


@dataclass(frozen=True, slots=True)
class Dataflow:
    initial: JsonObject
    input_schema: OptionalSchema
    written_names: frozenset[str]
    """The names that outputs write into the context after the start."""

    def reason_for_null(self, path: Path, arguments: ArgumentsSchema) -> str | None:
        """Return the reason that a path never has a value; None if it may have one."""
        match path.scope:
            case "context" if path.steps and path.steps[0] not in self.written_names | self.initial.keys():
                names = sorted(self.written_names | self.initial.keys())
                return f"no output writes {path.steps[0]!r} into the context{suggestion_for(path.steps[0], names)}"
            case "input" if (absent := find_absent(self.input_schema, path.steps)) is not None:
                return f"it is not in the inputSchema of the workflow{absent.suggestion}"
            case "arguments" if arguments.are_none:
                return "there are no arguments here"
            case "arguments" if (absent := find_absent(arguments.schema, path.steps)) is not None:
                return f"it is not in the inputSchema of the transition{absent.suggestion}"
            case _:
                return None

    def values_of(self, arguments: ArgumentsSchema) -> PossibleValues:
        def possible_values(path: Path) -> Sequence[Json] | None:
            if self.reason_for_null(path, arguments):
                return (None,)
            if path.scope == "context":
                return (
                    None if path.steps[0] in self.written_names else (path.resolve(ValueSources(self.initial, {}, {})),)
                )
            return _allowed_values(arguments.schema if path.scope == "arguments" else self.input_schema, path.steps)

        return possible_values


def build_dataflow(definition: Definition) -> Dataflow:
    written_names = {name for state in definition.states.values() for name in output_names_of(state)}
    return Dataflow(definition.initial_context, definition.input_schema, frozenset(written_names))


def output_names_of(state: State) -> Iterator[str]:
    """Yield the names that the `onEnter` of a state and its transitions write into the context."""
    if state.on_enter:
        yield from state.on_enter.output
    for transition in state.transitions.values():
        yield from transition.output


def arguments_of(holder: Transition | OnEnter) -> ArgumentsSchema:
    if isinstance(holder, OnEnter) or holder.actor == "deterministic":
        return ArgumentsSchema(are_none=True)
    return ArgumentsSchema(holder.input_schema)


@dataclass(frozen=True, slots=True)
class AbsentMember:
    """A step of a path at which no value that matches a schema has a member."""

    name: str
    others: Sequence[str]
    """The members that a value may have there."""

    @property
    def suggestion(self) -> str:
        return suggestion_for(self.name, self.others)


def find_absent(schema: OptionalSchema, steps: Sequence[str]) -> AbsentMember | None:
    """Find the first step at which no value that matches the schema has a member; None if there may be a value."""
    for step in steps:
        if (
            schema is None
            or any(keyword in schema for keyword in _COMPOSITE_KEYWORDS)
            or schema.get("type", "object") != "object"
        ):
            return None
        properties = as_object(schema.get("properties"))
        if step not in properties:
            return AbsentMember(step, list(properties)) if schema.get("additionalProperties") is False else None
        member = properties[step]
        schema = member if isinstance(member, Mapping) else None
    return None


def _allowed_values(schema: OptionalSchema, steps: Sequence[str]) -> Sequence[Json] | None:
    """Return the values that a schema allows at these steps; None if it does not enumerate them."""
    is_required = True
    for step in steps:
        if schema is None or any(keyword in schema for keyword in _COMPOSITE_KEYWORDS):
            return None
        required = schema.get("required")
        is_required = is_required and isinstance(required, list) and step in required
        member = as_object(schema.get("properties")).get(step)
        schema = member if isinstance(member, Mapping) else None
    values = _enumerated_values(schema) if schema is not None else None
    return None if values is None else [*values, *([] if is_required or None in values else [None])]


def _enumerated_values(schema: JsonObject) -> Sequence[Json] | None:
    if "const" in schema:
        return [schema["const"]]
    values = schema.get("enum")
    if isinstance(values, list):
        return values
    return [True, False] if schema.get("type") == "boolean" else None
