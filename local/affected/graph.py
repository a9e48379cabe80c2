"""The graph of the definitions in the repository, with the other definitions that each of them depends on."""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path, PurePosixPath

from local.affected.definitions import BODY, EVERYTHING, Definition, Import, Module, dotted_names, read_module
from local.affected.pages import imports_of_page

type Key = tuple[str, str]
"""The path of a file, and the name of a definition in it."""

ROOTS = ("layers/shared/python", "functions/executor_core", "tests", "")
"""Folders from which modules are imported. A file has one module name for each of these folders around it."""
CODE = ("layers/shared/python/signpost", "functions", "local", "bench", "examples", "tests")
_TESTS = "tests"


@dataclass(frozen=True, slots=True)
class Graph:
    modules: Mapping[str, Module]
    """The modules by path."""
    paths: Mapping[str, str]
    """The paths of modules, by the names under which they are imported."""
    pages: Mapping[str, frozenset[Import]]
    """The imports of the examples of a page, by the path of the page."""
    needs: dict[Key, set[Key]] = field(default_factory=dict[Key, set[Key]])
    """The definitions that each definition depends on directly."""

    def definition(self, key: Key) -> Definition | None:
        module = self.modules.get(key[0])
        return module.definitions.get(key[1]) if module else None

    def dependents(self, changed: Mapping[Key, str]) -> Mapping[Key, Key | None]:
        """Find all definitions that depend on the changed ones.

        The value is the next step on a shortest way to a changed definition, and None for a changed definition itself.
        """
        needed_by: dict[Key, list[Key]] = {}
        for key in sorted(self.needs):
            for needed in self.needs[key]:
                needed_by.setdefault(needed, []).append(key)
        next_steps: dict[Key, Key | None] = dict.fromkeys(sorted(changed))
        queue = deque(next_steps)
        while queue:
            key = queue.popleft()
            for dependent in needed_by.get(key, ()):
                if dependent not in next_steps:
                    next_steps[dependent] = key
                    queue.append(dependent)
        return next_steps


def read_graph(root: Path, sources: Sequence[str]) -> Graph:
    """Build the graph of the Python files and pages among these paths below `root`. Raises SyntaxError."""
    modules = {path: read_module(path, module_names(path)[0], _text(root / path)) for path in sources if is_code(path)}
    pages = {path: frozenset(imports_of_page(_text(root / path))) for path in sources if path.endswith(".md")}
    graph = Graph(modules, {name: path for path in modules for name in module_names(path)}, pages)
    for module in modules.values():
        for definition in module.definitions.values():
            key = (module.path, definition.name)
            graph.needs[key] = {needed for needed in _find_needs(graph, module, definition) if needed != key}
    return graph


def is_code(path: str) -> bool:
    return path.endswith(".py") and path.startswith(tuple(f"{folder}/" for folder in CODE))


def is_test_file(path: str) -> bool:
    return path.startswith(f"{_TESTS}/") and PurePosixPath(path).name.startswith("test_") and path.endswith(".py")


def module_names(path: str) -> list[str]:
    """Return all names under which the file can be imported."""
    roots = [root for root in ROOTS if not root or path.startswith(f"{root}/")]
    return [_dotted_name(path.removeprefix(f"{root}/") if root else path) for root in roots]


def conftests(path: str) -> list[str]:
    """Return the paths of the conftest files, existing or not, that can have fixtures for a test of this path."""
    folders = [str(folder) for folder in PurePosixPath(path).parents if str(folder) != "."]
    return [f"{folder}/conftest.py" for folder in folders]


def _find_needs(graph: Graph, module: Module, definition: Definition) -> Iterator[Key]:
    """Find the definitions that this definition depends on directly."""
    if definition.name != BODY:
        yield module.path, BODY
    for imported in definition.imports:
        yield from _bodies(graph, imported)
    for name, attribute in definition.references:
        yield from _name_targets(graph, module, name, attribute)
    for text in definition.texts:
        for dotted in dotted_names(text):
            yield from _dotted_targets(graph, dotted)
        for target in graph.pages.get(text, ()):
            yield from _import_targets(graph, target, None)
    if module.path.startswith(f"{_TESTS}/"):
        yield from _fixtures(graph, module, definition)


def _bodies(graph: Graph, imported: str) -> Iterator[Key]:
    """Return the body of a module and those of the packages around it, which an import of the module runs first."""
    parts = imported.split(".")
    for length in range(1, len(parts) + 1):
        path = graph.paths.get(".".join(parts[:length]))
        if path is not None:
            yield path, BODY


def _name_targets(graph: Graph, module: Module, name: str, attribute: str | None) -> Iterator[Key]:
    """Find the definitions that a name in a module refers to, or the attribute that is read from the name."""
    if name in module.definitions or name in module.imports:
        yield module.path, name
    for target in module.imports.get(name, ()):
        yield from _import_targets(graph, target, attribute)


def _import_targets(
    graph: Graph, target: Import, attribute: str | None, seen: frozenset[Import] = frozenset()
) -> Iterator[Key]:
    submodule = f"{target.module}.{target.name}"
    if target.name is None:
        yield from _member_targets(graph, target.module, attribute or EVERYTHING, seen | {target})
    elif submodule in graph.paths:
        yield from _member_targets(graph, submodule, attribute or EVERYTHING, seen | {target})
    else:
        yield from _member_targets(graph, target.module, target.name, seen | {target})


def _member_targets(graph: Graph, module_name: str, name: str, seen: frozenset[Import]) -> Iterator[Key]:
    """Find the definitions of a name of a module, also through modules that only import the name. A removed name is
    included, so that its importers are selected."""
    path = graph.paths.get(module_name)
    if path is None:
        return
    module = graph.modules[path]
    yield path, BODY
    if name == EVERYTHING:
        yield from ((path, own_name) for own_name in module.definitions)
        imports = set(chain.from_iterable(module.imports.values())) if module.is_lazy else set[Import]()
    else:
        yield path, name
        imports = module.imports.get(name, set())
    for target in imports - seen:
        yield from _import_targets(graph, target, None, seen)


def _dotted_targets(graph: Graph, dotted: str) -> Iterator[Key]:
    """Find the definitions of a dotted name in a text, which a program may import or replace, such as
    `signpost.toolkit.harness.CHECK_TIMEOUT`."""
    if dotted.endswith("."):
        submodules = [name for name in graph.paths if name.startswith(dotted)]
        for name in submodules if dotted[:-1] in graph.paths else ():
            yield from _member_targets(graph, name, EVERYTHING, frozenset())
        return
    parts = dotted.split(".")
    for length in range(len(parts), 0, -1):
        module = ".".join(parts[:length])
        if module in graph.paths:
            name = parts[length] if length < len(parts) else EVERYTHING
            yield from _member_targets(graph, module, name, frozenset())
            return


def _fixtures(graph: Graph, module: Module, definition: Definition) -> Iterator[Key]:
    """Find the fixtures of a definition: those it requests by name, and for a test the automatic ones. They come from
    the module and the conftest files around it."""
    modules = [module, *(graph.modules[path] for path in conftests(module.path) if path in graph.modules)]
    if definition.is_test or definition.is_fixture:
        for name in definition.requests:
            yield from _requested_fixture(graph, modules, definition, name)
    if definition.is_test and is_test_file(module.path):
        yield from _automatic_fixtures(modules)


def _requested_fixture(graph: Graph, modules: Sequence[Module], definition: Definition, name: str) -> Iterator[Key]:
    """Find the nearest fixture of this name. A fixture that requests its own name gets that of the next outer file."""
    for module in modules:
        fixture = module.definitions.get(name)
        if fixture is definition:
            continue
        yield from _name_targets(graph, module, name, None)
        if fixture is not None and fixture.is_fixture:
            return


def _automatic_fixtures(modules: Iterable[Module]) -> Iterator[Key]:
    """Find the code that runs for every test below these modules: bodies, automatic fixtures and pytest hooks."""
    for module in modules:
        yield module.path, BODY
        for name, definition in module.definitions.items():
            if definition.is_automatic or name.startswith("pytest"):
                yield module.path, name


def _dotted_name(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _text(path: Path) -> str:
    return path.read_text("utf-8")
