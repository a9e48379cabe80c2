"""`signpost check`: collect the errors of a manifest and the warnings of all lint checks."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from signpost.model import PROXY_WORKFLOW, JsonObject, as_object
from signpost.workflow.authoring.compile import ManifestResolution, resolve_manifest
from signpost.workflow.authoring.json_schema import EXECUTOR_SETTINGS
from signpost.workflow.authoring.lint import arguments, guards, hazards, mappings, names, reachability
from signpost.workflow.authoring.lint.reachability import analyse_definition
from signpost.workflow.authoring.problems import LintFinding, Problem, warning
from signpost.workflow.authoring.source_tree import SourceNode, SourcePlace, to_json
from signpost.workflow.definition import Definition
from signpost.workflow.executor_kinds import ExecutorKinds
from signpost.workflow.proxy_default import READY

BUILT_IN_KINDS: Sequence[str] = tuple(EXECUTOR_SETTINGS)
"""The kinds of executors whose settings `signpost check` knows. A deployment may not run all of them."""

type CheckProgress = Callable[[int, int], None]
"""Reports the number of definitions that have been checked, and the number of all."""


def check_manifest(
    manifest: SourceNode, kinds: ExecutorKinds, report_progress: CheckProgress, other_workflows: Collection[str] = ()
) -> Sequence[Problem]:
    """Compile and lint a manifest, and return its problems in the order of their places in the files.
    `other_workflows` has the ids of the workflows that are published with it."""
    workflows = manifest.get("workflows")
    report_progress(0, len(workflows.members) if workflows else 0)
    resolution = resolve_manifest(manifest)
    found = [
        *resolution.problems,
        *names.check_names(manifest, kinds, other_workflows),
        *_check_ambiguous_names(resolution),
    ]
    for index, (name, definition) in enumerate(resolution.definitions.items()):
        report_progress(index, len(resolution.definitions))
        document = resolution.workflows[name]
        found += (to_problem(document, finding) for finding in _check_definition(definition, document))
    found += _check_hazards(manifest, resolution)
    return sorted(_deduplicate(found, names.check_schema(manifest)), key=lambda problem: problem.place)


def to_problem(document: SourceNode, finding: LintFinding) -> Problem:
    return Problem("warning", document.place_of(finding.at), finding.message, finding.path, finding.code)


def find_hazards(name: str, definition: Definition | None, document: JsonObject) -> Iterator[LintFinding]:
    """Find the hazards of one workflow. Those with a code are found by the registry too when it is published."""
    yield from hazards.check_document(name, document)
    if definition is not None:
        yield from arguments.check_arguments(definition)
        yield from mappings.check_mappings(definition)


def _check_definition(definition: Definition, document: SourceNode) -> Iterator[LintFinding]:
    if definition.id != PROXY_WORKFLOW:
        yield from reachability.check_reachability(analyse_definition(definition, as_object(to_json(document))))
    yield from guards.check_guards(definition)


def _check_hazards(manifest: SourceNode, resolution: ManifestResolution) -> Iterator[Problem]:
    for name, document in resolution.workflows.items():
        for finding in find_hazards(name, resolution.definitions.get(name), as_object(to_json(document))):
            problem = to_problem(document, finding)
            yield problem if finding.at else replace(problem, place=_place_of_workflow(resolution, name))
    connections = manifest.get("connections") or SourceNode({})
    for finding in hazards.check_settings(to_json(connections)):
        yield to_problem(connections, finding)
    places = _entry_places(resolution, connections)
    for name, finding in hazards.check_entry_names(places):
        yield Problem("warning", places[name], finding.message, code=finding.code)


def _entry_places(resolution: ManifestResolution, connections: SourceNode) -> Mapping[str, SourcePlace]:
    """Return the places of the names that `gateway.search` lists: workflows, capabilities and connections."""
    documents = resolution.workflows
    capabilities = documents.get(PROXY_WORKFLOW, SourceNode({}))
    for step in ("states", READY, "transitions"):
        capabilities = capabilities.get(step) or SourceNode({})
    return {
        **{name: connections.place_of_name(name) for name in connections.members},
        **{name: capabilities.place_of_name(name) for name in capabilities.members},
        **{name: _place_of_workflow(resolution, name) for name in documents if name != PROXY_WORKFLOW},
    }


def _place_of_workflow(resolution: ManifestResolution, name: str) -> SourcePlace:
    return resolution.manifest.members.get("workflows", resolution.workflows[name]).place_of_name(name)


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
