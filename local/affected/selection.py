"""The tests to run after a change, and why each of them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from local.affected.changes import Repository, changed_definitions
from local.affected.graph import Graph, Key, is_test_file, read_graph

_WIRING = "layers/shared/python/signpost/wiring/"
_GATEWAY = "gateway"
_LAPTOP = ("tests/conftest.py", "laptop")
"""The fixture that every test with a stack of its own, or a shared one, goes through."""


@dataclass(frozen=True, slots=True)
class Selected:
    """One file of tests."""

    path: str
    tests: tuple[str, ...]
    """The names of those to run."""
    is_whole: bool
    why: str
    """How the first of them reaches what changed."""

    @property
    def arguments(self) -> Sequence[str]:
        """As pytest takes them."""
        return [self.path] if self.is_whole else [f"{self.path}::{test}" for test in self.tests]


@dataclass(frozen=True, slots=True)
class Selection:
    changed: Sequence[str]
    """Files."""
    selected: Sequence[Selected]
    left_out: Sequence[Selected]
    """On the cloud."""
    total: int
    """All test functions of the repository."""

    @property
    def arguments(self) -> Sequence[str]:
        return [argument for one in self.selected for argument in one.arguments]


def select(repository: Repository, *, cloud: bool = False, folders: Mapping[str, str] | None = None) -> Selection:
    """The tests that the change can affect. With `cloud` those on the cloud too, and those of changed functions, of
    which `folders` says by which logical id the template knows each folder."""
    files = repository.changed_files()
    graph = read_graph(repository.root, repository.files())
    changed = changed_definitions(repository, graph, files)
    reached = graph.dependents(changed)
    tests = [key for key in sorted(graph.needs) if _is_test(graph, key)]
    chosen = {key: _why(key, reached, changed) for key in tests if key in reached}
    if cloud:
        chosen |= _of_functions(graph, tests, chosen, _functions(reached, folders or {}))
    on_the_cloud = {key: why for key, why in chosen.items() if is_cloud(graph, key)}
    here = chosen if cloud else {key: why for key, why in chosen.items() if key not in on_the_cloud}
    return Selection(
        changed=files,
        selected=_by_file(tests, here),
        left_out=() if cloud else _by_file(tests, on_the_cloud),
        total=len(tests),
    )


def is_cloud(graph: Graph, key: Key) -> bool:
    """Whether the whole test is marked so, by itself or by its module."""
    marked = (graph.definition(key), graph.definition((key[0], "pytestmark")))
    return any("cloud" in one.marks for one in marked if one is not None)


def _is_test(graph: Graph, key: Key) -> bool:
    definition = graph.definition(key)
    return definition is not None and definition.is_test and is_test_file(key[0])


def _by_file(tests: Iterable[Key], chosen: Mapping[Key, str]) -> Sequence[Selected]:
    """Files whose tests are nearer to the change come first: what it breaks shows early."""
    every: dict[str, list[str]] = {}
    for path, name in tests:
        every.setdefault(path, []).append(name)
    found: list[Selected] = []
    for path, names in every.items():
        some = [name for name in names if (path, name) in chosen]
        if some:
            why = min((chosen[path, name] for name in some), key=_distance)
            found.append(Selected(path, tuple(some), len(some) == len(names), why))
    return sorted(found, key=lambda one: (_distance(one.why), one.path))


def _distance(why: str) -> int:
    return why.count("→")


def _why(key: Key, reached: Mapping[Key, Key | None], changed: Mapping[Key, str]) -> str:
    steps, at = [key[1]], key
    while (following := reached[at]) is not None:
        at = following
        steps.append(_label(at))
    return " → ".join([*steps[:-1], changed[at]] if len(steps) > 1 else [key[1], changed[at]])


def _label(key: Key) -> str:
    path = key[0].removeprefix("layers/shared/python/").removesuffix(".py").removesuffix("/__init__")
    return ".".join(filter(None, [path.replace("/", "."), key[1]]))


def _functions(reached: Iterable[Key], folders: Mapping[str, str]) -> Mapping[str, str]:
    """The functions of the template that run something of what changed: folders and their logical ids."""
    paths = {path for path, _ in reached}
    return {
        folder: logical_id
        for folder, logical_id in folders.items()
        if any(path.startswith((f"{_WIRING}{folder}", f"functions/{folder}/")) for path in paths)
    }


def _of_functions(
    graph: Graph, tests: Iterable[Key], chosen: Mapping[Key, str], functions: Mapping[str, str]
) -> Mapping[Key, str]:
    """The tests on the cloud that meet a changed function: all meet the gateway; others they have to name."""
    found: dict[Key, str] = {}
    for key in tests if functions else ():
        needed = _needed(graph, key)
        if key in chosen or _LAPTOP not in needed:
            continue
        texts = {text for one in needed if one[0].startswith("tests/") for text in _texts(graph, one)}
        for folder, logical_id in functions.items():
            if folder == _GATEWAY or any(logical_id in text for text in texts):
                found[key] = f"{key[1]} → the stack → functions/{folder}"
    return found


def _needed(graph: Graph, key: Key) -> set[Key]:
    found, waiting = {key}, [key]
    while waiting:
        for one in graph.needs.get(waiting.pop(), ()):
            if one not in found:
                found.add(one)
                waiting.append(one)
    return found


def _texts(graph: Graph, key: Key) -> Iterable[str]:
    definition = graph.definition(key)
    return definition.texts if definition else ()
