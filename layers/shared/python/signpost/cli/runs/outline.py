"""Describes a workflow definition for a terminal: its states and their transitions."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from signpost.cli import terminal
from signpost.model import as_object
from signpost.workflow.definition import Actor, Definition, State, Transition
from signpost.workflow.pictures.model import describe_targets, format_duration

HEADINGS = ("TRANSITION", "LEADS TO", "ACTOR", "IF", "DOES")
ACTOR_NAMES: Mapping[Actor, str] = {
    "agent": "any caller",
    "human": "a person",
    "system": "a system",
    "deterministic": "automatic",
}


def describe_definition(definition: Definition) -> Iterator[str]:
    yield terminal.make_printable(f"{definition.id}: {definition.title}")
    parts = (
        ("", definition.description),
        ("tags: ", ", ".join(definition.tags)),
        ("also called: ", ", ".join(definition.aliases)),
        ("input: ", ", ".join(_input_fields(definition))),
        ("times out: ", _deadline(definition)),
        ("", "its runs are visible only to callers that pass its `readers`" if definition.readers else ""),
        ("", "" if definition.enabled else "its author has disabled it (`enabled: false`)"),
    )
    yield from (terminal.make_printable(f"{name}{text}") for name, text in parts if text)
    for state in definition.states.values():
        yield ""
        yield from _state_lines(definition, state)


def transition_lines(transitions: Iterable[Transition]) -> Iterator[str]:
    """Yield the lines of a table with one row for each target state of each transition."""
    yield from terminal.format_table(HEADINGS, [row for transition in transitions for row in _rows(transition)])


def _rows(transition: Transition) -> Iterator[Sequence[str]]:
    for target, condition in describe_targets(transition).items():
        yield (
            transition.name,
            target,
            ACTOR_NAMES[transition.actor],
            condition or "-",
            ", ".join(_effects(transition)) or "-",
        )


def _effects(transition: Transition) -> Iterator[str]:
    if transition.decision is not None:
        yield f"{transition.decision}s the request"
    if transition.executor is not None:
        yield transition.executor.kind


def _input_fields(definition: Definition) -> Iterable[str]:
    schema = definition.input_schema or {}
    required = schema.get("required")
    required_names = required if isinstance(required, list) else ()
    return [f"{name} (required)" if name in required_names else name for name in as_object(schema.get("properties"))]


def _deadline(part: Definition | State) -> str:
    if part.timeout_ms is None or part.timeout_target is None:
        return ""
    return f"after {format_duration(part.timeout_ms)}, then goes to {part.timeout_target}"


def _state_lines(definition: Definition, state: State) -> Iterator[str]:
    marks = {
        "initial state": state.name == definition.initial_state,
        "final state": state.terminal,
        f"on entry: {state.on_enter.executor.kind if state.on_enter else ''}": state.on_enter is not None,
    }
    marks_text = ", ".join(mark for mark, applies in marks.items() if applies)
    yield terminal.make_printable(f"{state.name}{f' ({marks_text})' if marks_text else ''}")
    deadline = _deadline(state)
    for text in filter(None, (state.description, state.goal, f"times out {deadline}" if deadline else "")):
        yield terminal.make_printable(f"{terminal.GAP}{text}")
    if state.transitions and not state.terminal:
        yield from (f"{terminal.GAP}{line}" for line in transition_lines(state.transitions.values()))
