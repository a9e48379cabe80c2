"""A workflow definition for a terminal: its states, and who may do what in them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from signpost.cli import terminal
from signpost.model import as_object
from signpost.workflow.definition import Actor, Definition, State, Transition
from signpost.workflow.picture import duration, targets

HEADINGS = ("TRANSITION", "LEADS TO", "WHO", "IF", "DOES")
WHO: Mapping[Actor, str] = {
    "agent": "anybody",
    "human": "a person",
    "system": "a system",
    "deterministic": "follows by itself",
}


def outlined(definition: Definition) -> Iterator[str]:
    yield terminal.visible(f"{definition.id}: {definition.title}")
    parts = (
        ("", definition.description),
        ("tags: ", ", ".join(definition.tags)),
        ("also called: ", ", ".join(definition.aliases)),
        ("input: ", ", ".join(_members(definition))),
        ("times out: ", _deadline(definition)),
        ("", "its runs are shown to those only who pass its `readers`" if definition.readers else ""),
        ("", "" if definition.enabled else "its author says that it cannot be started (`enabled: false`)"),
    )
    yield from (terminal.visible(f"{name}{text}") for name, text in parts if text)
    for state in definition.states.values():
        yield ""
        yield from _state(definition, state)


def transitions(offered: Iterable[Transition]) -> Iterator[str]:
    """A line for each place that one of them may lead to."""
    yield from terminal.table(HEADINGS, [row for transition in offered for row in _rows(transition)])


def _rows(transition: Transition) -> Iterator[Sequence[str]]:
    for target, condition in targets(transition).items():
        yield transition.name, target, WHO[transition.actor], condition or "-", ", ".join(_effects(transition)) or "-"


def _effects(transition: Transition) -> Iterator[str]:
    if transition.decision is not None:
        yield f"{transition.decision}s what was asked"
    if transition.executor is not None:
        yield transition.executor.kind


def _members(definition: Definition) -> Iterable[str]:
    schema = definition.input_schema or {}
    required = schema.get("required")
    needed = required if isinstance(required, list) else ()
    return [f"{name} (required)" if name in needed else name for name in as_object(schema.get("properties"))]


def _deadline(definition: Definition) -> str:
    if definition.timeout_ms is None or definition.timeout_target is None:
        return ""
    return f"after {duration(definition.timeout_ms)}, and leads to {definition.timeout_target} then"


def _state(definition: Definition, state: State) -> Iterator[str]:
    marks = {
        "it begins here": state.name == definition.initial_state,
        "it ends here": state.terminal,
        f"on being entered: {state.on_enter.executor.kind if state.on_enter else ''}": state.on_enter is not None,
    }
    marked = ", ".join(mark for mark, holds in marks.items() if holds)
    yield terminal.visible(f"{state.name}{f' ({marked})' if marked else ''}")
    for text in filter(None, (state.description, state.goal)):
        yield terminal.visible(f"{terminal.GAP}{text}")
    if state.transitions and not state.terminal:
        yield from (f"{terminal.GAP}{line}" for line in transitions(state.transitions.values()))
