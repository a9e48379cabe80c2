"""Find transitions whose arguments nothing checks: without an `inputSchema`, a transition takes any object."""

from collections.abc import Iterator, Mapping

from signpost.model import Json, JsonObject, as_object
from signpost.workflow.authoring.lint.guard_solver import paths_of
from signpost.workflow.authoring.problems import LintFinding
from signpost.workflow.definition import Definition, Pointer, Transition
from signpost.workflow.engine.steps import CHILD_WORKFLOW_KIND, HUMAN_KIND, NOOP_KIND
from signpost.workflow.guards import Guard
from signpost.workflow.paths import Path, path_of

_WITH_SETTINGS = (NOOP_KIND, HUMAN_KIND, CHILD_WORKFLOW_KIND, "rest", "mcp", "cli")
"""The kinds of executors that receive what their settings say, and never the arguments as they are."""
ADVICE = "add an `inputSchema`, since without one the transition takes any object"


def check_arguments(definition: Definition) -> Iterator[LintFinding]:
    for state in definition.states.values():
        for transition in state.transitions.values():
            if transition.input_schema is None and transition.actor != "deterministic":
                yield from _check_transition(transition, ("states", state.name, "transitions", transition.name))


def _check_transition(transition: Transition, at: Pointer) -> Iterator[LintFinding]:
    for place, kind, settings in _executors_of(transition):
        if _receives_all(kind, settings):
            message = f"an executor of {transition.name!r} receives all arguments, which nothing has checked"
            yield _build_finding((*at, *place), f"{message}: map them by `arguments`, or")
    conditions: list[tuple[str, Guard]] = [
        *(("guards", guard) for guard in transition.guards),
        *(("branches", branch.when) for branch in transition.branches),
    ]
    for index, (member, condition) in enumerate(conditions):
        if any(path.scope == "arguments" for path in paths_of([condition])):
            place = index if member == "guards" else index - len(transition.guards)
            yield _build_finding((*at, member, place), "this guard reads arguments that nothing checks")
    for name, template in transition.output.items():
        if next(_argument_paths(template), None) is not None:
            yield _build_finding((*at, "output", name), f"{name!r} stores arguments that nothing checks")


def _build_finding(at: Pointer, message: str) -> LintFinding:
    separator = " " if message.endswith("or") else ": "
    return LintFinding(at, f"{message}{separator}{ADVICE}", code="unchecked_arguments")


def _executors_of(transition: Transition) -> Iterator[tuple[Pointer, str, JsonObject]]:
    """Yield the executor of a transition and its fallbacks, each with its place, kind and settings."""
    if transition.executor is not None:
        yield ("executor",), transition.executor.kind, transition.executor.settings
    fallbacks = as_object(transition.reliability.get("fallback")).get("executors")
    for index, executor in enumerate(fallbacks if isinstance(fallbacks, list) else ()):
        settings = as_object(executor)
        yield ("reliability", "fallback", "executors", index), str(settings.get("kind")), settings


def _receives_all(kind: str, settings: JsonObject) -> bool:
    is_unmapped = kind not in _WITH_SETTINGS and settings.get("arguments") is None
    return is_unmapped or any(not path.steps for path in _argument_paths(settings))


def _argument_paths(template: Json) -> Iterator[Path]:
    """Yield the paths into the arguments in a template, at any depth."""
    if isinstance(template, str):
        path = path_of(template)
        if path is not None and path.scope == "arguments":
            yield path
    children = template.values() if isinstance(template, Mapping) else template if isinstance(template, list) else ()
    for child in children:
        yield from _argument_paths(child)
