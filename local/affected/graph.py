"""The graph of definitions: which definition of the repository depends on which others."""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from local.affected.definitions import BODY, EVERYTHING, Definition, Import, Module, dotted_names, read_module
from local.affected.pages import imports_of_page

type Key = tuple[str, str]
"""The path of a file, and the name of a definition in it."""

ROOTS = ("layers/shared/python", "functions/executor_core", "tests", "")
"""Folders from which modules are imported. A file has a module name for each of them that it lies in."""
CODE = ("layers/shared/python/signpost", "functions", "local", "bench", "examples", "tests")
_TESTS = "tests"


@dataclass(frozen=True, slots=True)
class Graph:
    modules: Mapping[str, Module]
    """By path."""
    paths: Mapping[str, str]
    """By the names under which they are imported."""
    pages: Mapping[str, frozenset[Import]]
    """What the examples of pages import, by path."""
    needs: dict[Key, set[Key]] = field(default_factory=dict[Key, set[Key]])

    def definition(self, key: Key) -> Definition | None:
        module = self.modules.get(key[0])
        return module.definitions.get(key[1]) if module else None

    def dependents(self, changed: Mapping[Key, str]) -> Mapping[Key, Key | None]:
        """Everything that needs what changed, each with the next step on a shortest way there."""
        needed_by: dict[Key, list[Key]] = {}
        for key in sorted(self.needs):
            for needed in self.needs[key]:
                needed_by.setdefault(needed, []).append(key)
        found: dict[Key, Key | None] = dict.fromkeys(sorted(changed))
        waiting = deque(found)
        while waiting:
            reached = waiting.popleft()
            for dependent in needed_by.get(reached, ()):
                if dependent not in found:
                    found[dependent] = reached
                    waiting.append(dependent)
        return found


def read_graph(root: Path, sources: Sequence[str]) -> Graph:
    """Of the Python files among these paths under `root`. Raises SyntaxError."""
    modules = {path: read_module(path, module_names(path)[0], _text(root / path)) for path in sources if is_code(path)}
    pages = {path: frozenset(imports_of_page(_text(root / path))) for path in sources if path.endswith(".md")}
    graph = Graph(modules, {name: path for path in modules for name in module_names(path)}, pages)
    for module in modules.values():
        for definition in module.definitions.values():
            key = (module.path, definition.name)
            graph.needs[key] = {needed for needed in _needs(graph, module, definition) if needed != key}
    return graph


def is_code(path: str) -> bool:
    return path.endswith(".py") and path.startswith(tuple(f"{folder}/" for folder in CODE))


def is_test_file(path: str) -> bool:
    return path.startswith(f"{_TESTS}/") and PurePosixPath(path).name.startswith("test_") and path.endswith(".py")


def module_names(path: str) -> list[str]:
    within = [root for root in ROOTS if not root or path.startswith(f"{root}/")]
    return [_dotted(path.removeprefix(f"{root}/") if root else path) for root in within]


def conftests(path: str) -> list[str]:
    """The paths of the conftest files, present or not, whose fixtures a test of this path can ask for."""
    folders = [str(folder) for folder in PurePosixPath(path).parents if str(folder) != "."]
    return [f"{folder}/conftest.py" for folder in folders]


def _needs(graph: Graph, module: Module, definition: Definition) -> Iterator[Key]:
    if definition.name != BODY:
        yield module.path, BODY
    for imported in definition.imports:
        yield from _bodies(graph, imported)
    for name, attribute in definition.refers:
        yield from _named(graph, module, name, attribute)
    for text in definition.texts:
        for dotted in dotted_names(text):
            yield from _dotted_target(graph, dotted)
        for target in graph.pages.get(text, ()):
            yield from _imported(graph, target, None)
    if module.path.startswith(f"{_TESTS}/"):
        yield from _fixtures(graph, module, definition)


def _bodies(graph: Graph, imported: str) -> Iterator[Key]:
    """Importing a module runs its packages first."""
    parts = imported.split(".")
    for length in range(1, len(parts) + 1):
        path = graph.paths.get(".".join(parts[:length]))
        if path is not None:
            yield path, BODY


def _named(graph: Graph, module: Module, name: str, attribute: str | None) -> Iterator[Key]:
    if name in module.definitions or name in module.imports:
        yield module.path, name
    for target in module.imports.get(name, ()):
        yield from _imported(graph, target, attribute)


def _imported(
    graph: Graph, target: Import, attribute: str | None, seen: frozenset[Import] = frozenset()
) -> Iterator[Key]:
    submodule = f"{target.module}.{target.name}"
    if target.name is None:
        yield from _member(graph, target.module, attribute or EVERYTHING, seen | {target})
    elif submodule in graph.paths:
        yield from _member(graph, submodule, attribute or EVERYTHING, seen | {target})
    else:
        yield from _member(graph, target.module, target.name, seen | {target})


def _member(graph: Graph, module_name: str, name: str, seen: frozenset[Import]) -> Iterator[Key]:
    """The definitions that a name of a module stands for, through modules that only import it. A name that was removed
    is included, so that its importers are selected."""
    path = graph.paths.get(module_name)
    if path is None:
        return
    module = graph.modules[path]
    yield path, BODY
    if name == EVERYTHING:
        yield from ((path, defined) for defined in module.definitions)
        passed_on = {one for targets in module.imports.values() for one in targets} if module.is_lazy else set[Import]()
    else:
        yield path, name
        passed_on = module.imports.get(name, set())
    for target in passed_on - seen:
        yield from _imported(graph, target, None, seen)


def _dotted_target(graph: Graph, dotted: str) -> Iterator[Key]:
    """What a text names that a program may import or replace: `signpost.toolkit.harness.CHECK_TIMEOUT`."""
    if dotted.endswith("."):
        inside = [name for name in graph.paths if name.startswith(dotted)]
        for name in inside if dotted[:-1] in graph.paths else ():
            yield from _member(graph, name, EVERYTHING, frozenset())
        return
    parts = dotted.split(".")
    for length in range(len(parts), 0, -1):
        module = ".".join(parts[:length])
        if module in graph.paths:
            name = parts[length] if length < len(parts) else EVERYTHING
            yield from _member(graph, module, name, frozenset())
            return


def _fixtures(graph: Graph, module: Module, definition: Definition) -> Iterator[Key]:
    """Fixtures by their names, from the module and the conftest files around it, and the automatic fixtures."""
    around = [module, *(graph.modules[path] for path in conftests(module.path) if path in graph.modules)]
    if definition.is_test or definition.is_fixture:
        for name in definition.requests:
            yield from _requested(graph, around, definition, name)
    if definition.is_test and is_test_file(module.path):
        yield from _always(around)


def _requested(graph: Graph, around: Sequence[Module], definition: Definition, name: str) -> Iterator[Key]:
    """The nearest fixture of this name. A fixture that requests its own name gets the one of the next outer file."""
    for place in around:
        found = place.definitions.get(name)
        if found is definition:
            continue
        yield from _named(graph, place, name, None)
        if found is not None and found.is_fixture:
            return


def _always(around: Iterable[Module]) -> Iterator[Key]:
    for place in around:
        yield place.path, BODY
        for name, definition in place.definitions.items():
            if definition.is_automatic or name.startswith("pytest"):
                yield place.path, name


def _dotted(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _text(path: Path) -> str:
    return path.read_text("utf-8")
