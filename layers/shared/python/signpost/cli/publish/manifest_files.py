"""Reads a manifest from its files: the file itself, and all files that it includes."""

import re
from collections.abc import Sequence
from dataclasses import field
from pathlib import Path

from signpost.adapters.regular_files import read_regular_file
from signpost.adapters.source_files import LARGEST_SOURCE, SUFFIXES, UnreadableFile, read_source
from signpost.cli.failure import CommandFailed
from signpost.records import dataclass
from signpost.workflow.authoring.compile import MAPPING_PARTS
from signpost.workflow.authoring.includes import (
    INCLUDE,
    Inclusion,
    ManifestSource,
    merge_includes,
    read_include_paths,
)
from signpost.workflow.authoring.problems import Problem, error
from signpost.workflow.authoring.source_tree import SourceNode

MOST_FILES = 200
MANIFEST_FIELDS = (INCLUDE, *MAPPING_PARTS)
"""A file in a folder is a manifest if it has one of these fields."""
_NAMES = "|".join(MANIFEST_FIELDS)
_MANIFEST_LINE = re.compile(rf"""^(?:[ \t{{]*"(?:{_NAMES})"|(?:{_NAMES}))[ \t]*:""".encode(), re.MULTILINE)


@dataclass(frozen=True, slots=True)
class FoundManifest:
    """A manifest with its includes as read from files, and the problems of reading it."""

    manifest: SourceNode | None
    """None if its file could not be read."""
    problems: Sequence[Problem] = ()


def find_manifests(path: Path) -> Sequence[Path]:
    """Return the path itself for a file, or the manifests in a folder. Raises CommandFailed if there are none."""
    if not path.exists():
        raise CommandFailed(f"There is no file {path}.")
    manifests = manifests_in(path) if path.is_dir() else [path]
    if not manifests:
        raise CommandFailed(
            f"There is no manifest in {path}: no YAML or JSON file with one of the fields {', '.join(MANIFEST_FIELDS)}."
        )
    return manifests


def manifests_in(folder: Path) -> Sequence[Path]:
    """Return the manifests in a folder that no other manifest there includes."""
    candidates = [
        path for path in sorted(folder.iterdir()) if path.suffix in SUFFIXES and path.is_file() and _is_manifest(path)
    ]
    included = {file for path in candidates for file in _IncludedFiles(path).load()[1:]}
    return [path for path in candidates if str(path) not in included]


def read_manifest(path: Path) -> FoundManifest:
    files = _IncludedFiles(path)
    root = files.load()[0]
    if root not in files.sources:
        return FoundManifest(None, files.problems)
    manifest, problems = merge_includes(root, files.sources)
    return FoundManifest(manifest, [*files.problems, *problems])


def _is_manifest(path: Path) -> bool:
    """Return whether a file is a manifest.

    A file that cannot be parsed counts as a manifest if it looks like one, so that the problem is reported. A
    CloudFormation template, whose tags cannot be parsed here, does not look like one."""
    try:
        return any(name in MANIFEST_FIELDS for name in read_source(path).members)
    except UnreadableFile:
        return _looks_like_manifest(path)


def _looks_like_manifest(path: Path) -> bool:
    try:
        return _MANIFEST_LINE.search(read_regular_file(path, LARGEST_SOURCE)) is not None
    except OSError:
        return True


@dataclass(slots=True)
class _IncludedFiles:
    """Reads a manifest file and, one after another, the files that it includes."""

    root: Path
    sources: dict[str, ManifestSource] = field(default_factory=dict[str, ManifestSource])
    problems: list[Problem] = field(default_factory=list[Problem])

    def load(self) -> Sequence[str]:
        """Read all files, and return their names. The root comes first."""
        names, queue = list[str](), [Inclusion(str(self.root), SourceNode(None).place)]
        while queue:
            inclusion = queue.pop(0)
            if inclusion.file in names:
                continue
            if len(names) == MOST_FILES:
                self.problems.append(error(inclusion.place, f"the manifest has more than {MOST_FILES} files"))
                break
            names.append(inclusion.file)
            queue += self._read_file(inclusion)
        return names

    def _read_file(self, inclusion: Inclusion) -> Sequence[Inclusion]:
        try:
            document = read_source(Path(inclusion.file))
        except UnreadableFile as fault:
            is_own_fault = fault.place.line or inclusion.file == str(self.root)
            self.problems.append(error(fault.place if is_own_fault else inclusion.place, fault.fault.rstrip(".")))
            return ()
        includes = self._find_includes(document, Path(inclusion.file))
        self.sources[inclusion.file] = ManifestSource(document, includes)
        return includes

    def _find_includes(self, document: SourceNode, file: Path) -> Sequence[Inclusion]:
        names = read_include_paths(document)
        if isinstance(names, Problem):
            self.problems.append(names)
            return ()
        folder = self.root.resolve().parent
        inclusions: list[Inclusion] = []
        for name in names:
            path = _join_path(file.parent, str(name.text))
            # The author of the manifest may be another person than the one who checks or publishes it, and must not
            # make that person read other files of the machine.
            if path.resolve().is_relative_to(folder):
                inclusions.append(Inclusion(str(path), name.place))
            else:
                message = f"{name.text} is outside the folder of the manifest"
                self.problems.append(error(name.place, message))
        return inclusions


def _join_path(folder: Path, name: str) -> Path:
    """Join the paths and resolve `..`, so that a file has the same path in every manifest that includes it."""
    parts: list[str] = []
    for part in (folder / name).parts:
        if part == ".." and parts and parts[-1] != "..":
            parts.pop()
        else:
            parts.append(part)
    return Path(*parts)
