"""Manifests that include others: read their `include` lists and merge the files into one document."""

from collections.abc import Mapping, Sequence
from dataclasses import field

from signpost.records import dataclass
from signpost.workflow.authoring.problems import Problem, error
from signpost.workflow.authoring.source_tree import SourceNode, SourcePlace, merge_nodes

INCLUDE = "include"


@dataclass(frozen=True, slots=True)
class Inclusion:
    """An entry of `include`: the included file and the place that names it."""

    file: str
    place: SourcePlace


@dataclass(frozen=True, slots=True)
class ManifestSource:
    """One manifest file as it was parsed, with the files that it includes."""

    document: SourceNode
    includes: Sequence[Inclusion] = ()


def read_include_paths(document: SourceNode) -> Sequence[SourceNode] | Problem:
    """Return the entries of a document's `include` as they are written, or the problem with them."""
    include = document.get(INCLUDE)
    if include is None:
        return ()
    if not isinstance(include.content, list) or any(entry.text is None for entry in include.entries):
        return error(document.place_of((INCLUDE,)), "`include` must be a list of paths, relative to this file")
    return include.entries


def merge_includes(root: str, sources: Mapping[str, ManifestSource]) -> tuple[SourceNode, Sequence[Problem]]:
    """Merge a manifest with the files that it includes, and collect the problems.

    Files are merged depth first, in the order in which they are included, and each file overrides the files that it
    includes. A file that is included more than once counts at its first place.
    """
    merger = _IncludeMerger(sources)
    merger.merge_file(root, ())
    return merger.manifest or sources[root].document, merger.problems


@dataclass(slots=True)
class _IncludeMerger:
    sources: Mapping[str, ManifestSource]
    manifest: SourceNode | None = None
    problems: list[Problem] = field(default_factory=list[Problem])
    merged_files: set[str] = field(default_factory=set[str])

    def merge_file(self, file: str, includers: Sequence[str]) -> None:
        if file in self.merged_files or file not in self.sources:
            return
        source = self.sources[file]
        for inclusion in source.includes:
            if inclusion.file in (*includers, file):
                self._refuse_cycle(inclusion, (*includers, file))
            else:
                self.merge_file(inclusion.file, (*includers, file))
        self.merged_files.add(file)
        document = source.document.without(INCLUDE) if source.document.is_mapping else source.document
        self.manifest = merge_nodes(self.manifest, document) if self.manifest else document

    def _refuse_cycle(self, inclusion: Inclusion, includers: Sequence[str]) -> None:
        cycle = " → ".join((*includers[includers.index(inclusion.file) :], inclusion.file))
        self.problems.append(error(inclusion.place, f"the files include each other in a cycle: {cycle}"))
