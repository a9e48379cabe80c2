"""Finds the definitions, and the files other than modules, that have changed in the repository since a revision."""

import subprocess
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import chain
from pathlib import Path, PurePosixPath

from local.affected.definitions import BODY, Definition, Module, changed_names, importable_names, read_module
from local.affected.graph import Graph, Key, is_code, module_names
from local.errors import CloudError

_CONFIGURES_ALL_TESTS = frozenset({".python-version", "pyproject.toml", "requirements/dev.txt"})
"""Files on which every test depends."""


@dataclass(frozen=True, slots=True)
class Repository:
    """A git work tree and the revision that it is compared with."""

    root: Path
    base: str = "HEAD"

    def files(self) -> Sequence[str]:
        """Return the existing files that git tracks or would add."""
        names = self._lines("ls-files", "-z", "--cached", "--others", "--exclude-standard")
        return sorted({name for name in names if (self.root / name).is_file()})

    def changed_files(self) -> Sequence[str]:
        changed = self._lines("diff", "--name-only", "--no-renames", "-z", self.base, "--")
        new = self._lines("ls-files", "-z", "--others", "--exclude-standard")
        return sorted({*changed, *new})

    def before(self, path: str) -> str | None:
        """Return the text of a file at the revision, or None if it did not exist."""
        process = self._git("show", f"{self.base}:{path}")
        return process.stdout.decode(errors="replace") if process.returncode == 0 else None

    def after(self, path: str) -> str | None:
        """Return the text of a file in the work tree, or None if it does not exist."""
        file = self.root / path
        return file.read_text("utf-8", errors="replace") if file.is_file() else None

    def _lines(self, *arguments: str) -> Sequence[str]:
        process = self._git(*arguments)
        if process.returncode:
            raise CloudError(f"git {arguments[0]} failed: {process.stderr.decode(errors='replace').strip()}")
        return [line for line in process.stdout.decode().split("\0") if line]

    def _git(self, *arguments: str) -> "subprocess.CompletedProcess[bytes]":
        return subprocess.run(["git", *arguments], cwd=self.root, capture_output=True, check=False)


def changed_definitions(repository: Repository, graph: Graph, files: Sequence[str]) -> Mapping[Key, str]:
    """Return the definitions that the changed files change, each with the change as the first step of a reason."""
    reasons: dict[Key, str] = {}
    for path in files:
        if path in _CONFIGURES_ALL_TESTS:
            reasons |= dict.fromkeys(graph.needs, f"{path} configures every test")
        elif is_code(path):
            before, after = _read(repository.before(path), path), _read(repository.after(path), path)
            reasons |= {(path, name): f"{path} {name or 'at its import'}" for name in changed_names(before, after)}
            removed = changed_names(before, after) - importable_names(after)
            reasons |= {key: f"{path} {name}, which was removed" for key, name in _find_importers(graph, path, removed)}
    # After the loop above, so that the reason of a definition which has changed itself is its own change.
    for path in files:
        for key in _find_mentions(graph, path):
            reasons.setdefault(key, f"{path}, which is named in it")
    return reasons


def _read(source: str | None, path: str) -> Module | None:
    if source is None:
        return None
    try:
        return read_module(path, path, source)
    except SyntaxError as error:
        raise CloudError(f"{path} cannot be read, at line {error.lineno}: {error.msg}.") from error


def _find_importers(graph: Graph, path: str, names: AbstractSet[str]) -> Iterator[tuple[Key, str]]:
    """Find the modules that import one of these removed names, so that their own import fails."""
    for module in graph.modules.values():
        for target in chain.from_iterable(module.imports.values()):
            if target.name is not None and target.name in names and target.module in module_names(path):
                yield (module.path, BODY), target.name


def _find_mentions(graph: Graph, path: str) -> Iterator[Key]:
    """Find the definitions with a text that names this file or one of the folders around it."""
    for module in graph.modules.values():
        for definition in module.definitions.values():
            if _mentions(definition, module.path, path):
                yield module.path, definition.name


def _mentions(definition: Definition, own_path: str, path: str) -> bool:
    if own_path == path:
        return False
    if any(_is_name_of(text.strip("/"), path) for text in definition.texts if "/" in text or definition.handles_paths):
        return True
    # A module that reads `__file__` may read the files in its folder.
    is_in_same_folder = PurePosixPath(path).parent == PurePosixPath(own_path).parent
    return is_in_same_folder and not path.endswith(".py") and ("__file__", None) in definition.references


def _is_name_of(text: str, path: str) -> bool:
    """Return whether a text is the path, a part of it, or a pattern of files that it matches."""
    if not text:
        return False  # the text was a single slash
    file = PurePosixPath(path)
    folders = [str(folder) for folder in file.parents if str(folder) != "."]
    if text == path or text in folders or ("/" in text and path.endswith(f"/{text}")):
        return True
    if path.endswith(".py"):
        return False  # modules are reasons by their imports; the name of one alone may be any word
    return text in (file.name, file.parent.name) or (_is_pattern(text) and fnmatchcase(path, text))


def _is_pattern(text: str) -> bool:
    """Return whether a text is a pattern of files, such as `examples/*/manifest.yaml`. The media type `*/*` is not."""
    return "*" in text and "/" in text and any(part.isidentifier() for part in PurePosixPath(text).parts)
