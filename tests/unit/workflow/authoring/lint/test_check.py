"""Every seeded fault is found in its line, nothing is found where nothing is wrong, and nothing breaks the check.

What is expected of a file in `tests/data/faults` stands in it, behind the line where it is: `#! error: …`."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from signpost.adapters.source_files import SUFFIXES, read_values
from signpost.cli import main
from signpost.cli.publish.manifest_files import read_manifest
from signpost.model import Json, as_object
from signpost.workflow import definition_reader
from signpost.workflow.authoring.compile import CompiledManifest, compile_manifest
from signpost.workflow.authoring.json_schema import manifest_schema
from signpost.workflow.authoring.lint.check import BUILT_IN_KINDS, check_manifest
from signpost.workflow.authoring.problems import Problem
from signpost.workflow.authoring.source_tree import SourceNode, SourcePlace, build_source_node, to_json
from signpost.workflow.definition import ACTORS, Definition
from signpost.workflow.definition_reader import parse_definition
from signpost.workflow.executor_kinds import ExecutorKinds
from signpost.workflow.guards import KINDS, MAX_GUARD_DEPTH
from tests.support.effort import count_examples

DATA = Path(__file__).resolve().parents[4] / "data"
FAULTS = sorted((DATA / "faults").glob("*.yaml"))
SOUND = sorted([*(DATA / "sound").glob("*.*"), DATA / "sound/whole/manifest.yaml"])
ADDED_KINDS = ["--executor", "rest", "--executor", "mcp", "--executor", "cli"]
EXPECTED = re.compile(r"#! (error|warning): (.*?)(?= #! |$)")


def ignore_progress(done: int, of_all: int) -> None:
    del done, of_all


def find_problems(manifest: SourceNode) -> Sequence[Problem]:
    return check_manifest(manifest, ExecutorKinds(BUILT_IN_KINDS, BUILT_IN_KINDS), ignore_progress)


def check_file(path: Path) -> Sequence[Problem]:
    at = read_manifest(path)
    return [*at.problems, *(find_problems(at.manifest) if at.manifest else ())]


def expected_problems(path: Path) -> Iterator[tuple[int, str, str]]:
    for number, line in enumerate(path.read_text().split("\n"), 1):
        for severity, words in EXPECTED.findall(line):
            yield number, severity, words.strip()


def message_with_path(problem: Problem) -> str:
    return problem.message + (f" (by {' → '.join(problem.path)})" if problem.path else "")


@pytest.mark.parametrize("path", FAULTS, ids=lambda path: path.stem)
def test_exactly_the_seeded_faults_are_found_in_their_lines(path: Path) -> None:
    expected = sorted(expected_problems(path))
    assert expected
    found = sorted((one.place.line, one.severity, message_with_path(one)) for one in check_file(path))
    assert [one[:2] for one in found] == [one[:2] for one in expected], found
    for line, severity, words in expected:
        assert [one for one in found if one[:2] == (line, severity) and words in one[2]], (words, found)
    assert {one.place.file for one in check_file(path)} == {str(path)}


def test_guards_nested_too_deeply_are_reported() -> None:
    guard: Json = {"kind": "role", "role": "admin"}
    for _ in range(MAX_GUARD_DEPTH):
        guard = {"kind": "not", "guard": guard}
    exposure: Json = {"name": "ping", "executor": {"kind": "noop"}, "guards": [guard]}
    (problem,) = find_problems(build_source_node({"version": 1, "proxy": {"expose": [exposure]}}))
    assert problem.message == f"the guard is nested more than {MAX_GUARD_DEPTH} levels deep: this guard never passes"


def test_the_manifest_schema_has_every_member_of_a_definition() -> None:
    source = Path(str(definition_reader.__file__)).read_text()
    read_there = set(re.findall(r'fields(?:\.get\(|\[|, )"(\w+)"', source))
    assert {"initialState", "onEnter", "decision"} < read_there
    assert read_there <= set(member_names(manifest_schema()))


def test_there_are_at_least_forty_seeded_faults() -> None:
    assert sum(len(list(expected_problems(path))) for path in FAULTS) >= 40


@pytest.mark.parametrize("path", SOUND, ids=lambda path: path.stem)
def test_a_sound_manifest_has_no_problems(path: Path) -> None:
    assert check_file(path) == []


class TestCommand:
    def test_check_prints_problems_like_a_compiler(self, capsys: pytest.CaptureFixture[str]) -> None:
        path = DATA / "faults/dead-end.yaml"
        assert main(["check", str(path)]) == 0
        printed = capsys.readouterr()
        message = "'stuck' is a dead end: give it a transition, or `terminal: true` (by a → c → stuck)"
        assert printed.out == f"{path}:9:7: warning: {message}\n"
        assert printed.err == "0 errors, 1 warning\n"

    def test_check_fails_on_errors_and_in_strict_mode_on_warnings(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["check", str(DATA / "faults/unknown-target.yaml")]) == 1
        assert main(["check", str(DATA / "faults/dead-end.yaml"), "--strict"]) == 1
        assert main(["check", str(DATA / "sound/approval.yaml"), "--strict"]) == 0
        assert capsys.readouterr().err.endswith("no problems found\n")

    def test_check_prints_problems_as_json(self, capsys: pytest.CaptureFixture[str]) -> None:
        path = DATA / "faults/no-way-out.yaml"
        assert main(["check", str(path), "--json"]) == 0
        (warning,) = json.loads(capsys.readouterr().out)["warnings"]
        assert (warning["file"], warning["line"], warning["path"]) == (str(path), 9, ["a", "maze"])

    def test_check_of_a_folder_checks_manifests_that_no_other_includes(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["check", str(DATA / "sound/whole"), "--strict", *ADDED_KINDS]) == 0
        assert main(["check", str(DATA / "sound/whole/parts")]) == 1
        assert capsys.readouterr().out.count("`version` is missing") == 1

    @pytest.mark.parametrize("arguments", [["check"], ["check", "/nowhere.yaml"], ["check", str(DATA.parent / "docs")]])
    def test_a_path_that_cannot_be_checked_is_refused_in_a_sentence(
        self, arguments: list[str], capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(arguments) == 1
        assert capsys.readouterr().err.startswith("signpost: ")

    def test_additional_executor_kinds_can_be_named(self, tmp_path: Path) -> None:
        path = tmp_path / "m.yaml"
        path.write_text("version: 1\nproxy: {expose: [{name: ping, executor: {kind: stub}}]}\n")
        assert main(["check", str(path), "--strict"]) == 1
        assert main(["check", str(path), "--strict", "--executor", "stub"]) == 0

    @pytest.mark.invariant(129)
    @pytest.mark.parametrize("kind", ["rest", "mcp", "cli"])
    def test_kinds_that_nothing_runs_are_named_and_refused_by_a_strict_check(
        self, kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        path, tool = tmp_path / "m.yaml", ", tool: list" if kind == "mcp" else ""
        path.write_text(
            f"version: 1\nconnections:\n  hub: {{kind: {kind}, url: https://example.com}}\ncapabilities:\n"
            f"  hub.list:\n    inputSchema: {{type: object}}\n"
            f"    executor: {{kind: {kind}, connection: hub{tool}}}\nproxy: {{expose: [{{capability: hub.list}}]}}\n"
        )
        assert main(["check", str(path)]) == 0
        connection, executor = capsys.readouterr().out.splitlines()
        assert connection.startswith(f"{path}:3:15: warning: no step can use the connection: nothing runs executors")
        assert executor.startswith(f"{path}:7:22: warning: nothing runs executors of the kind {kind!r}")
        assert executor.endswith("the kinds that run are noop, human, function, workflow [idle_kind]")
        assert main(["check", str(path), "--strict"]) == 1
        assert main(["check", str(path), "--strict", "--executor", kind]) == 0

    def test_the_printed_schema_accepts_sound_manifests_and_no_mistyped_name(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["check", "--schema"]) == 0
        printed = json.loads(capsys.readouterr().out)
        Draft202012Validator.check_schema(printed)
        validator = Draft202012Validator(printed)
        for path in SOUND:
            validator.validate(read_values(path))
        assert not validator.is_valid(read_values(DATA / "faults/unknown-names.yaml"))

    def test_check_of_many_workflows_shows_its_progress(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        path = tmp_path / "m.json"
        sound = {"initialState": "a", "states": {"a": {"terminal": True}}}
        path.write_text(json.dumps({"version": 1, "workflows": {f"w{number}": sound for number in range(200)}}))
        assert main(["check", str(path)]) == 0
        assert capsys.readouterr().err.startswith(f"{path}: 0 of 200 workflows\n")

    def test_control_characters_of_a_file_are_escaped(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        path = tmp_path / "m.yaml"
        path.write_text('version: 1\nworkflows: {"a\\e[31m": {}}\n')
        assert main(["check", str(path)]) == 1
        assert "\x1b" not in capsys.readouterr().out


def member_names(form: Json) -> Iterator[str]:
    """All that a manifest may contain anywhere."""
    if isinstance(form, Mapping):
        yield from as_object(form.get("properties"))
        for member in form.values():
            yield from member_names(member)
    elif isinstance(form, list):
        for entry in form:
            yield from member_names(entry)


EXPRESSIONS = [
    "$.context.n > 1",
    "$.context.n <= 1",
    "$.context.n == $.arguments.n",
    "$.workflow.input.s starts_with 'x'",
    "1e999 == 1",
    "$.context.n != null",
    "nonsense",
]
NAMES = st.sampled_from([*sorted(set(member_names(manifest_schema()))), "a", "b", "add", "set", "<<", ""])
WORDS = st.sampled_from(["a", "b", *EXPRESSIONS, *KINDS, *ACTORS, *BUILT_IN_KINDS, "byGuards", "$.output.x", "$"])
VALUES = st.one_of(WORDS, st.booleans(), st.none(), st.integers(), st.floats(allow_nan=False), st.text(max_size=5))
ANY_VALUES = st.recursive(
    VALUES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4), max_leaves=12
)
MALFORMED_TEXTS = st.lists(
    st.sampled_from(
        [
            *"{}[],:-&*!|>#%@`'\"\n\t? ~",
            "\n  ",
            "<<: ",
            "a: ",
            "&a ",
            "*a",
            "version: 1\n",
            "workflows:\n",
            "---",
            "1e9",
            '\\"',
        ]
    ),
    max_size=30,
).map("".join)
SAMPLES = [to_json(read_manifest(path).manifest) for path in [*SOUND, *FAULTS]]


def change_value(draw: st.DrawFn, value: Json) -> Json:
    """With something else somewhere in it, or something missing, or under another name."""
    if isinstance(value, Mapping) and value and draw(st.integers(0, 4)):
        name = draw(st.sampled_from(list(value)))
        member = change_value(draw, value[name])
        rest = {one: value[one] for one in value if one != name}
        return draw(st.sampled_from([{**value, name: member}, rest, {**rest, draw(NAMES): member}]))
    if isinstance(value, list) and value and draw(st.integers(0, 3)):
        place = draw(st.integers(0, len(value) - 1))
        return [*value[:place], change_value(draw, value[place]), *value[place + 1 :]]
    return draw(ANY_VALUES)


@st.composite
def manifests(draw: st.DrawFn) -> Json:
    manifest = draw(st.sampled_from(SAMPLES))
    for _ in range(draw(st.integers(1, 3))):
        manifest = change_value(draw, manifest)
    return manifest


@pytest.mark.invariant(45)
@settings(max_examples=count_examples(400))
@given(manifests())
def test_any_manifest_is_refused_or_compiles_to_valid_definitions(value: Json) -> None:
    manifest = build_source_node(value, SourcePlace("m.yaml", 1, 1))
    found = find_problems(manifest)
    configuration = compile_manifest(manifest)
    assert isinstance(configuration, CompiledManifest) != any(one.severity == "error" for one in found)
    if not isinstance(configuration, CompiledManifest):
        return
    for name, document in configuration.workflows.items():
        assert isinstance(parse_definition(name, json.loads(json.dumps(document))), Definition)
    again = compile_manifest(build_source_node(configuration.manifest))
    assert isinstance(again, CompiledManifest)
    assert again == configuration


@pytest.mark.invariant(45)
@settings(
    max_examples=count_examples(300), suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
@given(text=st.one_of(st.binary(max_size=200), MALFORMED_TEXTS.map(str.encode)), suffix=st.sampled_from(SUFFIXES))
def test_no_file_breaks_the_reader(tmp_path: Path, text: bytes, suffix: str) -> None:
    path = tmp_path / f"m{suffix}"
    path.write_bytes(text)
    found = check_file(path)
    assert all(problem.place.line >= 1 and problem.place.column >= 1 for problem in found)
