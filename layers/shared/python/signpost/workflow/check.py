"""`signpost check`: everything that is wrong with a manifest, and what looks wrong."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from signpost.model import PROXY, as_object
from signpost.workflow import mappings, names, passing, soundness
from signpost.workflow.configuration import Resolution, resolve
from signpost.workflow.definition import Definition
from signpost.workflow.problems import Doubt, Problem, warning
from signpost.workflow.soundness import shape_of
from signpost.workflow.written import Place, Written, plain

EXECUTORS = ("noop", "human", "function", "workflow", "rest", "mcp", "cli")
"""Kinds that every deployment has."""

type Tell = Callable[[int, int], None]
"""How many of how many definitions have been looked at."""


def problems(manifest: Written, kinds: Sequence[str], tell: Tell) -> Sequence[Problem]:
    """In the order in which they stand in the files."""
    workflows = manifest.get("workflows")
    tell(0, len(workflows.members) if workflows else 0)
    resolution = resolve(manifest)
    found = [*resolution.problems, *names.doubts(manifest, kinds), *_namesakes(resolution)]
    for place, (name, definition) in enumerate(resolution.definitions.items()):
        tell(place, len(resolution.definitions))
        document = resolution.workflows[name]
        found += (warning_at(document, doubt) for doubt in _doubts(definition, document))
    return sorted(_once(found, names.misshapen(manifest)), key=lambda problem: problem.place)


def warning_at(document: Written, doubt: Doubt) -> Problem:
    return Problem("warning", document.place_of(doubt.at), doubt.message, tuple(doubt.path))


def _doubts(definition: Definition, document: Written) -> Iterator[Doubt]:
    if definition.id != PROXY:
        yield from soundness.doubts(shape_of(definition, as_object(plain(document))))
        yield from mappings.doubts(definition)
    yield from passing.doubts(definition)


def _namesakes(resolution: Resolution) -> Iterator[Problem]:
    """`gateway.describe` and a search know things by their id alone."""
    proxy = resolution.definitions.get(PROXY)
    for state in proxy.states.values() if proxy else ():
        for name in state.transitions:
            if name in resolution.workflows:
                place = resolution.workflows[PROXY].place_of(("states", state.name, "transitions", name))
                yield warning(place, f"{name!r} is a workflow as well, and only one of the two will be described")


def _once(found: Sequence[Problem], misshapen: Iterable[Problem]) -> Iterator[Problem]:
    """Nothing is said twice: no warning beside an error, and of the form only what nothing else was said of."""
    errors = {_line(problem) for problem in found if problem.severity == "error"}
    kept = [problem for problem in found if problem.severity == "error" or _line(problem) not in errors]
    yield from dict.fromkeys(kept)
    lines = {_line(problem) for problem in kept}
    yield from (problem for problem in dict.fromkeys(misshapen) if _line(problem) not in lines)


def _line(problem: Problem) -> Place:
    return replace(problem.place, column=0)
