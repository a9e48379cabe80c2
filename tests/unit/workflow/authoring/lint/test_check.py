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
from signpost.workflow import definition
from signpost.workflow.authoring.compile import CompiledManifest, compile_manifest
from signpost.workflow.authoring.json_schema import manifest_schema
from signpost.workflow.authoring.lint.check import BUILT_IN_KINDS, check_manifest
from signpost.workflow.authoring.problems import Problem
from signpost.workflow.authoring.source_tree import SourceNode, SourcePlace, build_source_node, to_json
from signpost.workflow.definition import ACTORS, Definition, parse_definition
from signpost.workflow.guards import KINDS, MAX_GUARD_DEPTH
from tests.support.effort import examples

DATA = Path(__file__).resolve().parents[4] / "data"
FAULTS = sorted((DATA / "faults").glob("*.yaml"))
SOUND = sorted([*(DATA / "sound").glob("*.*"), DATA / "sound/whole/manifest.yaml"])
EXPECTED = re.compile(r"#! (error|warning): (.*?)(?= #! |$)")


def silent(done: int, of_all: int) -> None:
    del done, of_all


def found_in(manifest: SourceNode) -> Sequence[Problem]:
    return check_manifest(manifest, BUILT_IN_KINDS, silent)


def found_at(path: Path) -> Sequence[Problem]:
    at = read_manifest(path)
    return [*at.problems, *(found_in(at.manifest) if at.manifest else ())]


def expected_in(path: Path) -> Iterator[tuple[int, str, str]]:
    for number, line in enumerate(path.read_text().split("\n"), 1):
        for severity, words in EXPECTED.findall(line):
            yield number, severity, words.strip()


def said(problem: Problem) -> str:
    return problem.message + (f" (by {' → '.join(problem.path)})" if problem.path else "")


@pytest.mark.parametrize("path", FAULTS, ids=lambda path: path.stem)
def test_a_seeded_fault_is_found_in_its_line_and_nothing_else(path: Path) -> None:
    expected = sorted(expected_in(path))
    assert expected
    found = sorted((one.place.line, one.severity, said(one)) for one in found_at(path))
    assert [one[:2] for one in found] == [one[:2] for one in expected], found
    for line, severity, words in expected:
        assert [one for one in found if one[:2] == (line, severity) and words in one[2]], (words, found)
    assert {one.place.file for one in found_at(path)} == {str(path)}


def test_guards_that_are_too_deep_are_said() -> None:
    guard: Json = {"kind": "role", "role": "admin"}
    for _ in range(MAX_GUARD_DEPTH):
        guard = {"kind": "not", "guard": guard}
    exposure: Json = {"name": "ping", "executor": {"kind": "noop"}, "guards": [guard]}
    (problem,) = found_in(build_source_node({"version": 1, "proxy": {"expose": [exposure]}}))
    assert problem.message == f"the guard is nested more than {MAX_GUARD_DEPTH} levels deep: this guard never passes"


def test_the_form_knows_everything_that_a_definition_is_read_from() -> None:
    source = Path(str(definition.__file__)).read_text()
    read_there = set(re.findall(r'fields(?:\.get\(|\[|, )"(\w+)"', source))
    assert {"initialState", "onEnter", "decision"} < read_there
    assert read_there <= set(names_of(manifest_schema()))


def test_there_are_enough_faults() -> None:
    assert sum(len(list(expected_in(path))) for path in FAULTS) >= 40


@pytest.mark.parametrize("path", SOUND, ids=lambda path: path.stem)
def test_nothing_is_found_in_a_sound_manifest(path: Path) -> None:
    assert found_at(path) == []


class TestTheCommand:
    def test_it_prints_what_is_wrong_like_a_compiler(self, capsys: pytest.CaptureFixture[str]) -> None:
        path = DATA / "faults/dead-end.yaml"
        assert main(["check", str(path)]) == 0
        printed = capsys.readouterr()
        message = "'stuck' is a dead end: give it a transition, or `terminal: true` (by a → c → stuck)"
        assert printed.out == f"{path}:9:7: warning: {message}\n"
        assert printed.err == "0 errors, 1 warning\n"

    def test_errors_fail_and_warnings_do_when_it_is_strict(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["check", str(DATA / "faults/unknown-target.yaml")]) == 1
        assert main(["check", str(DATA / "faults/dead-end.yaml"), "--strict"]) == 1
        assert main(["check", str(DATA / "sound/approval.yaml"), "--strict"]) == 0
        assert capsys.readouterr().err.endswith("no problems found\n")

    def test_it_says_it_to_programs(self, capsys: pytest.CaptureFixture[str]) -> None:
        path = DATA / "faults/no-way-out.yaml"
        assert main(["check", str(path), "--json"]) == 0
        (warning,) = json.loads(capsys.readouterr().out)["warnings"]
        assert (warning["file"], warning["line"], warning["path"]) == (str(path), 9, ["a", "maze"])

    def test_of_a_folder_it_checks_what_nothing_else_includes(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["check", str(DATA / "sound/whole"), "--strict"]) == 0
        assert main(["check", str(DATA / "sound/whole/parts")]) == 1
        assert capsys.readouterr().out.count("`version` is missing") == 1

    @pytest.mark.parametrize("arguments", [["check"], ["check", "/nowhere.yaml"], ["check", str(DATA.parent / "docs")]])
    def test_what_cannot_be_checked_is_said_in_a_sentence(
        self, arguments: list[str], capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(arguments) == 1
        assert capsys.readouterr().err.startswith("signpost: ")

    def test_kinds_of_executors_that_a_deployment_has_besides_can_be_named(self, tmp_path: Path) -> None:
        path = tmp_path / "m.yaml"
        path.write_text("version: 1\nproxy: {expose: [{name: ping, executor: {kind: stub}}]}\n")
        assert main(["check", str(path), "--strict"]) == 1
        assert main(["check", str(path), "--strict", "--executor", "stub"]) == 0

    def test_its_schema_takes_every_sound_manifest_and_no_mistyped_name(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["check", "--schema"]) == 0
        printed = json.loads(capsys.readouterr().out)
        Draft202012Validator.check_schema(printed)
        validator = Draft202012Validator(printed)
        for path in SOUND:
            validator.validate(read_values(path))
        assert not validator.is_valid(read_values(DATA / "faults/unknown-names.yaml"))

    def test_of_many_workflows_it_says_how_far_it_is(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        path = tmp_path / "m.json"
        sound = {"initialState": "a", "states": {"a": {"terminal": True}}}
        path.write_text(json.dumps({"version": 1, "workflows": {f"w{number}": sound for number in range(200)}}))
        assert main(["check", str(path)]) == 0
        assert capsys.readouterr().err.startswith(f"{path}: 0 of 200 workflows\n")

    def test_a_file_that_breaks_the_terminal_does_not(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        path = tmp_path / "m.yaml"
        path.write_text('version: 1\nworkflows: {"a\\e[31m": {}}\n')
        assert main(["check", str(path)]) == 1
        assert "\x1b" not in capsys.readouterr().out


def names_of(form: Json) -> Iterator[str]:
    """All that a manifest may contain anywhere."""
    if isinstance(form, Mapping):
        yield from as_object(form.get("properties"))
        for member in form.values():
            yield from names_of(member)
    elif isinstance(form, list):
        for entry in form:
            yield from names_of(entry)


EXPRESSIONS = [
    "$.context.n > 1",
    "$.context.n <= 1",
    "$.context.n == $.arguments.n",
    "$.workflow.input.s starts_with 'x'",
    "1e999 == 1",
    "$.context.n != null",
    "nonsense",
]
NAMES = st.sampled_from([*sorted(set(names_of(manifest_schema()))), "a", "b", "add", "set", "<<", ""])
WORDS = st.sampled_from(["a", "b", *EXPRESSIONS, *KINDS, *ACTORS, *BUILT_IN_KINDS, "byGuards", "$.output.x", "$"])
VALUES = st.one_of(WORDS, st.booleans(), st.none(), st.integers(), st.floats(allow_nan=False), st.text(max_size=5))
ANYTHING = st.recursive(
    VALUES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4), max_leaves=12
)
MESSES = st.lists(
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


def changed(draw: st.DrawFn, value: Json) -> Json:
    """With something else somewhere in it, or something missing, or under another name."""
    if isinstance(value, Mapping) and value and draw(st.integers(0, 4)):
        name = draw(st.sampled_from(list(value)))
        member = changed(draw, value[name])
        rest = {one: value[one] for one in value if one != name}
        return draw(st.sampled_from([{**value, name: member}, rest, {**rest, draw(NAMES): member}]))
    if isinstance(value, list) and value and draw(st.integers(0, 3)):
        place = draw(st.integers(0, len(value) - 1))
        return [*value[:place], changed(draw, value[place]), *value[place + 1 :]]
    return draw(ANYTHING)


@st.composite
def manifests(draw: st.DrawFn) -> Json:
    manifest = draw(st.sampled_from(SAMPLES))
    for _ in range(draw(st.integers(1, 3))):
        manifest = changed(draw, manifest)
    return manifest


@pytest.mark.invariant(45)
@settings(max_examples=examples(400))
@given(manifests())
def test_whatever_is_written_is_either_refused_or_can_be_run(value: Json) -> None:
    manifest = build_source_node(value, SourcePlace("m.yaml", 1, 1))
    found = found_in(manifest)
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
@settings(max_examples=examples(300), suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(text=st.one_of(st.binary(max_size=200), MESSES.map(str.encode)), suffix=st.sampled_from(SUFFIXES))
def test_no_file_breaks_the_reader(tmp_path: Path, text: bytes, suffix: str) -> None:
    path = tmp_path / f"m{suffix}"
    path.write_bytes(text)
    found = found_at(path)
    assert all(problem.place.line >= 1 and problem.place.column >= 1 for problem in found)
