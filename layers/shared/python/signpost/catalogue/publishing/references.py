"""The references of bodies: the functions, kinds of executors and documents that a definition or a document names. They
are found when the body is received and kept in its part, and judged when a publication names the body."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple
from typing import TYPE_CHECKING, Any, Literal

from signpost.hazards.model import EntryKind
from signpost.model import Json
from signpost.records import dataclass

if TYPE_CHECKING:
    from signpost.workflow.definition import Definition

type BodyKey = tuple[EntryKind, str, str]
"""The kind, the id or path, and the digest of a body."""


@dataclass(frozen=True, slots=True)
class Reference:
    kind: Literal["function", "executor", "link"]
    name: str
    """The id of the function, the kind of the executor, or the URI."""
    place: str = ""
    """The step that names it, for people."""
    line: int = 0
    """The line of a document that names it; 0 for a definition."""


type BodyReferences = Mapping[BodyKey, Sequence[Reference]]


def find_links(body: str) -> Sequence[Reference]:
    """Find the references of a document."""
    from signpost.content.document_links import find_document_links  # noqa: PLC0415 - only publications need it

    return list(dict.fromkeys(Reference("link", link, line=line) for line, link in find_document_links(body)))


def list_step_references(definition: "Definition") -> Iterator[tuple[str, Reference]]:
    """Yield the references of each step of a definition, with the name of the step."""
    # Imported on first use: only publications of workflows need it.
    from signpost.workflow.executor_uses import function_of, list_executors  # noqa: PLC0415

    for use in list_executors(definition):
        place = f"{use.state}.{use.step}"
        yield use.step, Reference("executor", use.executor.kind)
        if (function := function_of(use.executor)) is not None:
            yield use.step, Reference("function", function, place)


def to_rows(references: BodyReferences) -> list[Json]:
    """Write references as JSON, for a part."""
    return [[*key, [astuple(reference) for reference in listed]] for key, listed in references.items()]


def from_rows(rows: Sequence[Any]) -> BodyReferences:
    return {(kind, name, digest): [Reference(*row) for row in listed] for kind, name, digest, listed in rows}
