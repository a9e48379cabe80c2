"""What has changed in the repository since a revision, as definitions and as files that are no modules."""

import subprocess
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from local.affected.definitions import BODY, Definition, Module, changed_names, names_of, read_module
from local.affected.graph import Graph, Key, is_code, module_names
from local.errors import CloudError

_EVERYTHING = frozenset({".python-version", "pyproject.toml", "requirements/dev.txt"})
"""What configures every test."""


@dataclass(frozen=True, slots=True)
class Repository:
    """A work tree of git, and the revision that it is compared with."""

    root: Path
    base: str = "HEAD"

    def files(self) -> Sequence[str]:
        """The files that git knows or would take, as far as they exist."""
        named = self._lines("ls-files", "-z", "--cached", "--others", "--exclude-standard")
        return sorted({name for name in named if (self.root / name).is_file()})

    def changed_files(self) -> Sequence[str]:
        changed = self._lines("diff", "--name-only", "--no-renames", "-z", self.base, "--")
        new = self._lines("ls-files", "-z", "--others", "--exclude-standard")
        return sorted({*changed, *new})

    def before(self, path: str) -> str | None:
        """The text of a file at the revision."""
        shown = self._git("show", f"{self.base}:{path}")
        return shown.stdout.decode(errors="replace") if shown.returncode == 0 else None

    def after(self, path: str) -> str | None:
        file = self.root / path
        return file.read_text("utf-8", errors="replace") if file.is_file() else None

    def _lines(self, *arguments: str) -> Sequence[str]:
        done = self._git(*arguments)
        if done.returncode:
            raise CloudError(f"git {arguments[0]} failed: {done.stderr.decode(errors='replace').strip()}")
        return [line for line in done.stdout.decode().split("\0") if line]

    def _git(self, *arguments: str) -> "subprocess.CompletedProcess[bytes]":
        return subprocess.run(["git", *arguments], cwd=self.root, capture_output=True, check=False)


def changed_definitions(repository: Repository, graph: Graph, files: Sequence[str]) -> Mapping[Key, str]:
    """Where the changed files meet the graph, each with what changed there."""
    found: dict[Key, str] = {}
    for path in files:
        if path in _EVERYTHING:
            found |= dict.fromkeys(graph.needs, f"{path} configures every test")
        elif is_code(path):
            before, after = _read(repository.before(path), path), _read(repository.after(path), path)
            found |= {(path, name): f"{path} {name or 'at its import'}" for name in changed_names(before, after)}
            gone = changed_names(before, after) - names_of(after)
            found |= {key: f"{path} {name}, which is gone" for key, name in _importing(graph, path, gone)}
    # Second, so that a definition which has changed itself is said to have changed.
    for path in files:
        for key in _naming(graph, path):
            found.setdefault(key, f"{path}, which it names")
    return found


def _read(source: str | None, path: str) -> Module | None:
    if source is None:
        return None
    try:
        return read_module(path, path, source)
    except SyntaxError as fault:
        raise CloudError(f"{path} cannot be read, at line {fault.lineno}: {fault.msg}.") from fault


def _importing(graph: Graph, path: str, names: AbstractSet[str]) -> Iterator[tuple[Key, str]]:
    """The modules whose import fails without these names of another one."""
    for module in graph.modules.values():
        for target in (one for targets in module.imports.values() for one in targets):
            if target.name is not None and target.name in names and target.module in module_names(path):
                yield (module.path, BODY), target.name


def _naming(graph: Graph, path: str) -> Iterator[Key]:
    """The definitions that name a file or a folder that it lies in."""
    for module in graph.modules.values():
        for definition in module.definitions.values():
            if _names(definition, module.path, path):
                yield module.path, definition.name


def _names(definition: Definition, own_path: str, path: str) -> bool:
    if own_path == path:
        return False
    if any(_means(text.strip("/"), path) for text in definition.texts if "/" in text or definition.handles_paths):
        return True
    # A module that asks where it lies may read the files beside it.
    beside = PurePosixPath(path).parent == PurePosixPath(own_path).parent
    return beside and not path.endswith(".py") and ("__file__", None) in definition.refers


def _means(text: str, path: str) -> bool:
    if not text:
        return False  # a lone slash
    file = PurePosixPath(path)
    folders = [str(folder) for folder in file.parents if str(folder) != "."]
    if text == path or text in folders or ("/" in text and path.endswith(f"/{text}")):
        return True
    if path.endswith(".py"):
        return False  # a module is imported; its name alone is a word like others
    return text in (file.name, file.parent.name) or (_is_pattern(text) and fnmatchcase(path, text))


def _is_pattern(text: str) -> bool:
    """Whether a text is a pattern of files: `examples/*/manifest.yaml`, and not `*/*` as a client accepts it."""
    return "*" in text and "/" in text and any(part.isidentifier() for part in PurePosixPath(text).parts)
