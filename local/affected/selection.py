"""Selects the tests to run after a change, with the reason for each of them."""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass

from local.affected.changes import Repository, changed_definitions
from local.affected.graph import Graph, Key, is_test_file, read_graph

_WIRING = "layers/shared/python/signpost/wiring/"
_GATEWAY = "gateway"
_LAPTOP = ("tests/conftest.py", "laptop")
"""The fixture that every test with a stack of its own, or with a shared one, depends on."""


@dataclass(frozen=True, slots=True)
class SelectedFile:
    """A test file and its selected tests."""

    path: str
    tests: tuple[str, ...]
    """The names of the selected tests."""
    is_whole: bool
    """Whether all tests of the file are selected."""
    why: str
    """The shortest of the ways from its tests to a change, as steps with arrows."""

    @property
    def arguments(self) -> Sequence[str]:
        """The selected tests as arguments of pytest."""
        return [self.path] if self.is_whole else [f"{self.path}::{test}" for test in self.tests]


@dataclass(frozen=True, slots=True)
class Selection:
    changed: Sequence[str]
    """The changed files."""
    selected: Sequence[SelectedFile]
    left_out: Sequence[SelectedFile]
    """The files with affected tests on the cloud, if `select` was called without `cloud`."""
    total: int
    """The number of test functions in the repository."""

    @property
    def arguments(self) -> Sequence[str]:
        return [argument for file in self.selected for argument in file.arguments]


def select(repository: Repository, *, cloud: bool = False, folders: Mapping[str, str] | None = None) -> Selection:
    """Select the tests that the change can affect.

    With `cloud`, tests on the cloud are selected too, and so are the tests with a stack that use a changed Lambda
    function. `folders` maps the folder of each function to its logical id in the template.
    """
    files = repository.changed_files()
    graph = read_graph(repository.root, repository.files())
    changed = changed_definitions(repository, graph, files)
    reached = graph.dependents(changed)
    tests = [key for key in sorted(graph.needs) if _is_test(graph, key)]
    reasons = {key: _describe_way(key, reached, changed) for key in tests if key in reached}
    if cloud:
        reasons |= _tests_of_functions(graph, tests, reasons, _changed_functions(reached, folders or {}))
    on_cloud = {key: why for key, why in reasons.items() if is_cloud(graph, key)}
    selected = reasons if cloud else {key: why for key, why in reasons.items() if key not in on_cloud}
    return Selection(
        changed=files,
        selected=_group_by_file(tests, selected),
        left_out=() if cloud else _group_by_file(tests, on_cloud),
        total=len(tests),
    )


def is_cloud(graph: Graph, key: Key) -> bool:
    """Return whether the test, or its module, has the mark `cloud`."""
    definitions = (graph.definition(key), graph.definition((key[0], "pytestmark")))
    return any("cloud" in definition.marks for definition in definitions if definition is not None)


def _is_test(graph: Graph, key: Key) -> bool:
    definition = graph.definition(key)
    return definition is not None and definition.is_test and is_test_file(key[0])


def _group_by_file(tests: Iterable[Key], reasons: Mapping[Key, str]) -> Sequence[SelectedFile]:
    """Group the tests that have a reason by file. Files with tests nearer to the change come first, so that a
    failure shows early."""
    names_by_path: dict[str, list[str]] = {}
    for path, name in tests:
        names_by_path.setdefault(path, []).append(name)
    files: list[SelectedFile] = []
    for path, names in names_by_path.items():
        selected = [name for name in names if (path, name) in reasons]
        if selected:
            why = min((reasons[path, name] for name in selected), key=_distance)
            files.append(SelectedFile(path, tuple(selected), len(selected) == len(names), why))
    return sorted(files, key=lambda file: (_distance(file.why), file.path))


def _distance(why: str) -> int:
    return why.count("→")


def _describe_way(test: Key, reached: Mapping[Key, Key | None], changed: Mapping[Key, str]) -> str:
    """Describe the way from a test to the change that it depends on, as steps with arrows."""
    steps, key = [test[1]], test
    while (following := reached[key]) is not None:
        key = following
        steps.append(_label(key))
    return " → ".join([*steps[:-1], changed[key]] if len(steps) > 1 else [test[1], changed[key]])


def _label(key: Key) -> str:
    path = key[0].removeprefix("layers/shared/python/").removesuffix(".py").removesuffix("/__init__")
    return ".".join(filter(None, [path.replace("/", "."), key[1]]))


def _changed_functions(reached: Iterable[Key], folders: Mapping[str, str]) -> Mapping[str, str]:
    """Return the Lambda functions of the template that run changed code, as folders with their logical ids."""
    paths = {path for path, _ in reached}
    return {
        folder: logical_id
        for folder, logical_id in folders.items()
        if any(path.startswith((f"{_WIRING}{folder}", f"functions/{folder}/")) for path in paths)
    }


def _tests_of_functions(
    graph: Graph, tests: Iterable[Key], selected: Container[Key], functions: Mapping[str, str]
) -> Mapping[Key, str]:
    """Find the other tests with a stack that use a changed Lambda function. All of them use the gateway; any other
    function counts if the test, or test code that it depends on, names its logical id."""
    reasons: dict[Key, str] = {}
    for key in tests if functions else ():
        needs = _all_needs(graph, key)
        if key in selected or _LAPTOP not in needs:
            continue
        texts = {text for needed in needs if needed[0].startswith("tests/") for text in _texts(graph, needed)}
        for folder, logical_id in functions.items():
            if folder == _GATEWAY or any(logical_id in text for text in texts):
                reasons[key] = f"{key[1]} → the stack → functions/{folder}"
    return reasons


def _all_needs(graph: Graph, key: Key) -> set[Key]:
    """Return the definition and all definitions that it depends on, directly or not."""
    found, queue = {key}, [key]
    while queue:
        for needed in graph.needs.get(queue.pop(), ()):
            if needed not in found:
                found.add(needed)
                queue.append(needed)
    return found


def _texts(graph: Graph, key: Key) -> Iterable[str]:
    definition = graph.definition(key)
    return definition.texts if definition else ()
