"""A manifest as it lies in files, with all that it includes."""

import re
from collections.abc import Sequence
from dataclasses import field
from pathlib import Path

from signpost.adapters.written_files import SUFFIXES, Unreadable, read
from signpost.cli.failure import CommandFailed
from signpost.records import dataclass
from signpost.workflow.configuration import MAPPINGS
from signpost.workflow.inclusion import INCLUDE, Inclusion, Source, names_in, whole
from signpost.workflow.problems import Problem, error
from signpost.workflow.written import Written

MOST_FILES = 200
SAYS_MANIFEST = (INCLUDE, *MAPPINGS)
"""A file in a folder is a manifest if it says one of these."""
_NAMES = "|".join(SAYS_MANIFEST)
_LOOKS_LIKE_ONE = re.compile(rf"""^(?:[ \t{{]*"(?:{_NAMES})"|(?:{_NAMES}))[ \t]*:""".encode(), re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Found:
    manifest: Written | None
    """None if nothing of it could be read."""
    problems: Sequence[Problem] = ()


def manifests_at(path: Path) -> Sequence[Path]:
    """A file itself; of a folder those that no other one includes."""
    if not path.exists():
        raise CommandFailed(f"There is no file {path}.")
    found = manifests_in(path) if path.is_dir() else [path]
    if not found:
        raise CommandFailed(f"There is no manifest in {path}: no file of YAML or JSON with {', '.join(SAYS_MANIFEST)}.")
    return found


def manifests_in(folder: Path) -> Sequence[Path]:
    """Those that no other one includes."""
    candidates = [one for one in sorted(folder.iterdir()) if one.suffix in SUFFIXES and one.is_file() and _is_one(one)]
    included = {file for one in candidates for file in _Files(one).load()[1:]}
    return [one for one in candidates if str(one) not in included]


def manifest_at(path: Path) -> Found:
    files = _Files(path)
    root = files.load()[0]
    if root not in files.sources:
        return Found(None, files.problems)
    manifest, problems = whole(root, files.sources)
    return Found(manifest, [*files.problems, *problems])


def _is_one(path: Path) -> bool:
    """What cannot be read is taken for one if it looks like one, so that it is said; a template of CloudFormation does
    not, whose tags mean nothing here."""
    try:
        return any(name in SAYS_MANIFEST for name in read(path).members)
    except Unreadable:
        return _looks_like_one(path)


def _looks_like_one(path: Path) -> bool:
    try:
        return _LOOKS_LIKE_ONE.search(path.read_bytes()) is not None
    except OSError:
        return True


@dataclass(slots=True)
class _Files:
    root: Path
    sources: dict[str, Source] = field(default_factory=dict[str, Source])
    problems: list[Problem] = field(default_factory=list[Problem])

    def load(self) -> Sequence[str]:
        """The names of all of them, the root's first."""
        seen, waiting = list[str](), [Inclusion(str(self.root), Written(None).place)]
        while waiting:
            inclusion = waiting.pop(0)
            if inclusion.file in seen:
                continue
            if len(seen) == MOST_FILES:
                self.problems.append(error(inclusion.place, f"there are more than {MOST_FILES} files"))
                break
            seen.append(inclusion.file)
            waiting += self._take(inclusion)
        return seen

    def _take(self, inclusion: Inclusion) -> Sequence[Inclusion]:
        try:
            document = read(Path(inclusion.file))
        except Unreadable as fault:
            is_there = fault.place.line or inclusion.file == str(self.root)
            self.problems.append(error(fault.place if is_there else inclusion.place, fault.fault.rstrip(".")))
            return ()
        includes = self._included(document, Path(inclusion.file))
        self.sources[inclusion.file] = Source(document, includes)
        return includes

    def _included(self, document: Written, file: Path) -> Sequence[Inclusion]:
        names = names_in(document)
        if isinstance(names, Problem):
            self.problems.append(names)
            return ()
        folder = self.root.resolve().parent
        found: list[Inclusion] = []
        for name in names:
            path = _joined(file.parent, str(name.text))
            # Whoever wrote the manifest may be somebody else than who checks or publishes it.
            if path.resolve().is_relative_to(folder):
                found.append(Inclusion(str(path), name.place))
            else:
                message = f"{name.text} lies outside of the folder of the manifest"
                self.problems.append(error(name.place, message))
        return found


def _joined(folder: Path, name: str) -> Path:
    """Spelled alike from wherever it is included."""
    parts: list[str] = []
    for part in (folder / name).parts:
        if part == ".." and parts and parts[-1] != "..":
            parts.pop()
        else:
            parts.append(part)
    return Path(*parts)
