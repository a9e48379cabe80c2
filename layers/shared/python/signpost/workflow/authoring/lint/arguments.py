"""Find arguments of transitions and inputs of workflows that nothing checks: without an `inputSchema` both are any
object."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field

from signpost.model import PROXY_WORKFLOW, Json, JsonObject
from signpost.records import dataclass
from signpost.workflow.authoring.lint.guard_solver import paths_of
from signpost.workflow.authoring.problems import LintFinding
from signpost.workflow.definition import Definition, OnEnter, Pointer, Transition
from signpost.workflow.engine.steps import CHILD_WORKFLOW_KIND, HUMAN_KIND, NOOP_KIND
from signpost.workflow.executor_uses import executors_of
from signpost.workflow.guards import Guard
from signpost.workflow.paths import Path, Scope, path_of

_WITH_SETTINGS = (NOOP_KIND, HUMAN_KIND, CHILD_WORKFLOW_KIND, "rest", "mcp", "cli")
"""The kinds of executors that receive what their settings say, and never the arguments as they are."""


@dataclass(frozen=True, slots=True)
class _Unchecked:
    """Values that nothing has checked, and the words about them."""

    scope: Scope
    values: str
    mapping: str
    """Maps the values one by one into an executor."""
    schema: str
    """Has them checked."""


_ARGUMENTS = _Unchecked(
    "arguments",
    "arguments",
    "map them by `arguments`",
    "add an `inputSchema`, since without one the transition takes any object",
)
_INPUT = _Unchecked(
    "input",
    "input of the workflow",
    "map single values of it",
    "add an `inputSchema` to the workflow, since without one a start takes any object",
)
_INPUT_OF_CAPABILITIES = _Unchecked(
    "input",
    "input of the run of a capability",
    "map single values of `$.arguments`",
    "read `$.arguments`, which the `inputSchema` of the capability checks",
)


@dataclass(frozen=True, slots=True)
class _Use:
    """A transition, or the entry into a state, with the values that it uses."""

    name: str
    at: Pointer
    holder: Transition | OnEnter
    conditions: Mapping[Pointer, Guard] = field(default_factory=dict[Pointer, Guard])


def check_arguments(definition: Definition) -> Iterator[LintFinding]:
    for use in _uses_in(definition):
        transition = use.holder
        if isinstance(transition, Transition) and _takes_any_arguments(transition):
            yield from _check_use(use, _ARGUMENTS)
    if definition.input_schema is None:
        unchecked = _INPUT_OF_CAPABILITIES if definition.id == PROXY_WORKFLOW else _INPUT
        readers = {("readers", index): guard for index, guard in enumerate(definition.readers)}
        yield from _check_conditions(readers, unchecked)
        for use in _uses_in(definition):
            yield from _check_use(use, unchecked)


def _takes_any_arguments(transition: Transition) -> bool:
    return transition.input_schema is None and transition.actor != "deterministic"


def _uses_in(definition: Definition) -> Iterator[_Use]:
    for state in definition.states.values():
        at = ("states", state.name)
        if state.on_enter is not None:
            entry = state.on_enter
            yield _Use("onEnter", (*at, "onEnter"), entry, _place((*at, "onEnter", "guards"), entry.guards))
        for name, transition in state.transitions.items():
            yield _Use(name, (*at, "transitions", name), transition, _conditions_of(transition, at))


def _conditions_of(transition: Transition, at: Pointer) -> Mapping[Pointer, Guard]:
    transition_at = (*at, "transitions", transition.name)
    branches = [branch.when for branch in transition.branches]
    return {
        **_place((*transition_at, "guards"), transition.guards),
        **_place((*transition_at, "branches"), branches),
    }


def _place(at: Pointer, guards: Iterable[Guard]) -> Mapping[Pointer, Guard]:
    return {(*at, index): guard for index, guard in enumerate(guards)}


def _check_use(use: _Use, unchecked: _Unchecked) -> Iterator[LintFinding]:
    for place, executor in executors_of(use.holder):
        if _receives_all(executor.kind, executor.settings, unchecked):
            message = f"an executor of {use.name!r} receives all {unchecked.values}, which nothing has checked"
            yield _build_finding((*use.at, *place), f"{message}: {unchecked.mapping}, or {unchecked.schema}")
    yield from _check_conditions(use.conditions, unchecked)
    for name, template in use.holder.output.items():
        if next(_paths_in(template, unchecked.scope), None) is not None:
            message = f"{name!r} stores {unchecked.values} that nothing checks: {unchecked.schema}"
            yield _build_finding((*use.at, "output", name), message)


def _check_conditions(conditions: Mapping[Pointer, Guard], unchecked: _Unchecked) -> Iterator[LintFinding]:
    for at, condition in conditions.items():
        if any(path.scope == unchecked.scope for path in paths_of([condition])):
            yield _build_finding(at, f"this guard reads {unchecked.values} that nothing checks: {unchecked.schema}")


def _build_finding(at: Pointer, message: str) -> LintFinding:
    return LintFinding(at, message, code="unchecked_arguments")


def _receives_all(kind: str, settings: JsonObject, unchecked: _Unchecked) -> bool:
    is_unmapped = kind not in _WITH_SETTINGS and settings.get("arguments") is None
    if unchecked is _ARGUMENTS and is_unmapped:
        return True
    return any(not path.steps for path in _paths_in(settings, unchecked.scope))


def _paths_in(template: Json, scope: Scope) -> Iterator[Path]:
    """Yield the paths of a scope in a template, at any depth."""
    if isinstance(template, str):
        path = path_of(template)
        if path is not None and path.scope == scope:
            yield path
    children = template.values() if isinstance(template, Mapping) else template if isinstance(template, list) else ()
    for child in children:
        yield from _paths_in(child, scope)
