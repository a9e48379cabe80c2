"""`signpost check`: collect the errors of a manifest and the warnings of all lint checks."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from signpost.model import PROXY_WORKFLOW, as_object
from signpost.workflow.authoring.compile import ManifestResolution, resolve_manifest
from signpost.workflow.authoring.json_schema import EXECUTOR_SETTINGS
from signpost.workflow.authoring.lint import guards, mappings, names, reachability
from signpost.workflow.authoring.lint.reachability import analyse_definition
from signpost.workflow.authoring.problems import LintFinding, Problem, warning
from signpost.workflow.authoring.source_tree import SourceNode, SourcePlace, to_json
from signpost.workflow.definition import Definition

BUILT_IN_KINDS: Sequence[str] = tuple(EXECUTOR_SETTINGS)
"""The kinds of executors that `signpost check` knows in every deployment."""

type CheckProgress = Callable[[int, int], None]
"""Reports the number of definitions that have been checked, and the number of all."""


def check_manifest(manifest: SourceNode, kinds: Sequence[str], report_progress: CheckProgress) -> Sequence[Problem]:
    """Compile and lint a manifest, and return its problems in the order of their places in the files."""
    workflows = manifest.get("workflows")
    report_progress(0, len(workflows.members) if workflows else 0)
    resolution = resolve_manifest(manifest)
    found = [*resolution.problems, *names.check_names(manifest, kinds), *_check_ambiguous_names(resolution)]
    for index, (name, definition) in enumerate(resolution.definitions.items()):
        report_progress(index, len(resolution.definitions))
        document = resolution.workflows[name]
        found += (to_problem(document, finding) for finding in _check_definition(definition, document))
    return sorted(_deduplicate(found, names.check_schema(manifest)), key=lambda problem: problem.place)


def to_problem(document: SourceNode, finding: LintFinding) -> Problem:
    return Problem("warning", document.place_of(finding.at), finding.message, finding.path)


def _check_definition(definition: Definition, document: SourceNode) -> Iterator[LintFinding]:
    if definition.id != PROXY_WORKFLOW:
        yield from reachability.check_reachability(analyse_definition(definition, as_object(to_json(document))))
        yield from mappings.check_mappings(definition)
    yield from guards.check_guards(definition)


def _check_ambiguous_names(resolution: ManifestResolution) -> Iterator[Problem]:
    """Warn about a workflow and an exposure with the same name: `gateway.describe` and the search use the id alone."""
    proxy = resolution.definitions.get(PROXY_WORKFLOW)
    for state in proxy.states.values() if proxy else ():
        for name in state.transitions:
            if name in resolution.workflows:
                place = resolution.workflows[PROXY_WORKFLOW].place_of(("states", state.name, "transitions", name))
                message = f"{name!r} is also the name of a workflow: rename one; `gateway.describe` shows only one"
                yield warning(place, message)


def _deduplicate(found: Sequence[Problem], schema_problems: Iterable[Problem]) -> Iterator[Problem]:
    """Drop repeated problems, warnings on a line with an error, and schema problems on a line with another problem."""
    errors = {_line_of(problem) for problem in found if problem.severity == "error"}
    kept = [problem for problem in found if problem.severity == "error" or _line_of(problem) not in errors]
    yield from dict.fromkeys(kept)
    lines = {_line_of(problem) for problem in kept}
    yield from (problem for problem in dict.fromkeys(schema_problems) if _line_of(problem) not in lines)


def _line_of(problem: Problem) -> SourcePlace:
    return replace(problem.place, column=0)
