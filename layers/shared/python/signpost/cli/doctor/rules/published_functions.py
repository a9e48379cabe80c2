"""The functions that published content names: whether an executor hosts each of them."""

from collections.abc import Iterator, Mapping, Sequence

from signpost.cli.doctor.findings import Finding, error
from signpost.records import dataclass
from signpost.workflow.definition import Definition
from signpost.workflow.executor_uses import function_of, list_executors


@dataclass(frozen=True, slots=True)
class FunctionReference:
    """A place in the content of a tenant that names a function."""

    tenant: str
    source: str
    """The entry that names it, for people."""
    function: str


@dataclass(frozen=True, slots=True)
class UnreadableText:
    """A text of a catalogue that cannot be read."""

    tenant: str
    workflow: str | None
    """None if it is the catalogue itself."""
    reason: str


@dataclass(frozen=True, slots=True)
class PublishedFacts:
    stack: str
    references: Sequence[FunctionReference]
    hosted: Mapping[str, frozenset[str]]
    """The ids of the functions that each tenant can call."""
    unreadable: Sequence[UnreadableText] = ()


def judge_published(facts: PublishedFacts) -> Iterator[Finding]:
    for text in facts.unreadable:
        yield _find_unreadable(text)
    for reference in facts.references:
        if reference.function not in facts.hosted.get(reference.tenant, frozenset()):
            yield error(
                "function_not_found",
                f"{reference.source} of tenant {reference.tenant}",
                f"It names the function {reference.function}, which no executor hosts for the tenant.",
                f"`signpost executors place FUNCTION --tenant {reference.tenant} --stack {facts.stack}` with the "
                "Lambda function that hosts it, or publish the entry without it (docs/executors.md#deploy-it).",
            )


def list_references(tenant: str, definition: Definition) -> Iterator[FunctionReference]:
    """Yield the functions that the steps of a workflow run, each once for a state."""
    uses = [(use.state, function_of(use.executor)) for use in list_executors(definition)]
    for state, function in sorted({(state, function) for state, function in uses if function is not None}):
        yield FunctionReference(tenant, f"workflow {definition.id}, state {state}", function)


def _find_unreadable(text: UnreadableText) -> Finding:
    publish = "Publish the manifest of the tenant again (docs/workflows.md)"
    if text.workflow is None:
        problem = f"The catalogue of tenant {text.tenant} cannot be read: {text.reason}"
        return error("catalogue_unreadable", f"catalogue of tenant {text.tenant}", problem, f"{publish}.")
    subject = f"workflow {text.workflow} of tenant {text.tenant}"
    problem = f"Its definition cannot be read: {text.reason}"
    remedy = f"{publish}; runs need a definition with the same digest (docs/operations.md#restore)."
    return error("definition_unreadable", subject, problem, remedy)
