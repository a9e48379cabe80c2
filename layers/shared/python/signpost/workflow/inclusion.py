"""Manifests that include others: what all of them say together."""

from collections.abc import Mapping, Sequence
from dataclasses import field

from signpost.records import dataclass
from signpost.workflow.problems import Problem, error
from signpost.workflow.written import Place, Written, merged

INCLUDE = "include"


@dataclass(frozen=True, slots=True)
class Inclusion:
    file: str
    place: Place
    """Where it is included."""


@dataclass(frozen=True, slots=True)
class Source:
    document: Written
    includes: Sequence[Inclusion] = ()


def names_in(document: Written) -> Sequence[Written] | Problem:
    """The names of the files that a document includes, as they are written."""
    listed = document.get(INCLUDE)
    if listed is None:
        return ()
    if not isinstance(listed.content, list) or any(entry.text is None for entry in listed.entries):
        return error(document.place_of((INCLUDE,)), "`include` must be a list of paths, relative to this file")
    return listed.entries


def whole(root: str, sources: Mapping[str, Source]) -> tuple[Written, Sequence[Problem]]:
    """Depth first, in order, with what a file says itself on top; a file that comes again counts where it was first."""
    merging = _Merging(sources)
    merging.take(root, ())
    return merging.manifest or sources[root].document, merging.problems


@dataclass(slots=True)
class _Merging:
    sources: Mapping[str, Source]
    manifest: Written | None = None
    problems: list[Problem] = field(default_factory=list[Problem])
    taken: set[str] = field(default_factory=set[str])

    def take(self, file: str, above: Sequence[str]) -> None:
        if file in self.taken or file not in self.sources:
            return
        source = self.sources[file]
        for inclusion in source.includes:
            if inclusion.file in (*above, file):
                self._refuse(inclusion, (*above, file))
            else:
                self.take(inclusion.file, (*above, file))
        self.taken.add(file)
        own = source.document.without(INCLUDE) if source.document.is_mapping else source.document
        self.manifest = merged(self.manifest, own) if self.manifest else own

    def _refuse(self, inclusion: Inclusion, above: Sequence[str]) -> None:
        circle = " → ".join((*above[above.index(inclusion.file) :], inclusion.file))
        self.problems.append(error(inclusion.place, f"the files include each other in a cycle: {circle}"))
