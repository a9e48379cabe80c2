"""Files that people write: what they say, and where."""

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from signpost.adapters.source_files import UnreadableFile, read_source, read_values
from signpost.model import Json
from signpost.workflow.definition import Pointer

EXPECTED_VALUES: Json = {"a": [1, {"b": [[], [2, "x"]], "c": {}}], "d": None, "é": "😀"}
AS_JSON = '{\n\t"a": [1, {"b": [[], [2, "x"]],\n  "c": {}}],\n "d": null, "é":"\\ud83d\\ude00"}'
AS_YAML = "a:\n  - 1\n  - b: [[], [2, x]]\n    c: {}\nd:\né: 😀\n"
DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
)


def write_file(folder: Path, text: str, suffix: str = ".yaml") -> Path:
    path = folder / f"m{suffix}"
    path.write_text(text)
    return path


def read_refusal(path: Path) -> UnreadableFile:
    with pytest.raises(UnreadableFile) as refused:
        read_source(path)
    return refused.value


@pytest.mark.parametrize(
    ("suffix", "text", "places"),
    [
        (".json", AS_JSON, {("a",): (2, 2), ("a", 1, "b", 1, 1): (2, 26), ("a", 1, "c"): (3, 3), ("d",): (4, 7)}),
        (".yaml", AS_YAML, {("a",): (1, 1), ("a", 1, "b", 1, 1): (3, 17), ("a", 1, "c"): (4, 5), ("é",): (6, 4)}),
    ],
)
def test_every_value_has_its_line_and_column(
    tmp_path: Path, suffix: str, text: str, places: dict[Pointer, tuple[int, int]]
) -> None:
    path = write_file(tmp_path, text, suffix)
    assert read_values(path) == EXPECTED_VALUES
    found = read_source(path, "shown")
    assert {at: (found.place_of(at).line, found.place_of(at).column) for at in places} == places
    assert found.place.file == "shown"


def test_a_missing_value_has_the_place_of_its_parent(tmp_path: Path) -> None:
    found = read_source(write_file(tmp_path, "a:\n  b: 1\n"))
    assert found.place_of(("a", "c", 3)).line == 1


def test_words_are_texts_as_in_yaml_1_2(tmp_path: Path) -> None:
    path = write_file(tmp_path, "on: no\nat: 2026-11-18\nis: true\nn: 0x10\ns: '1'\n")
    assert read_values(path) == {"on": "no", "at": "2026-11-18", "is": True, "n": 16, "s": "1"}


def test_aliases_and_merges_are_resolved(tmp_path: Path) -> None:
    path = write_file(tmp_path, "x: &x {a: 1, b: 2}\ny: {<<: *x, b: 3}\nz: {<<: [{a: 0}, *x]}\nq: {'<<': 1}\n")
    assert read_values(path) == {"x": {"a": 1, "b": 2}, "y": {"a": 1, "b": 3}, "z": {"a": 0, "b": 2}, "q": {"<<": 1}}
    path = write_file(tmp_path, "x: &x\n  a:\n    b: 1\ny:\n  <<: *x\n  c: 1\n")
    assert read_source(path).place_of(("y", "a")).line == 2


BOMB = "a: &a [1,1,1,1,1,1,1,1,1,1]\n" + "".join(
    f"{chr(98 + n)}: &{chr(98 + n)} [{','.join([f'*{chr(97 + n)}'] * 10)}]\n" for n in range(8)
)
DEEP_BY_ALIASES = "a0: &a0 [1]\n" + "".join(f"a{n}: &a{n} [{'[' * 39}*a{n - 1}{']' * 39}, 1]\n" for n in range(1, 9))


@pytest.mark.parametrize(
    ("suffix", "text", "line", "says"),
    [
        (".yaml", "a: 1\nb: 2\na: 3\n", 3, "'a' occurs twice"),
        (".json", '{"a": 1,\n"a": 2}', 2, "'a' occurs twice"),
        (".yaml", "1: x\n", 1, "put it into quotes"),
        (".yaml", "? [a]\n: x\n", 1, "a mapping or a list"),
        (".yaml", "a: b: c\n", 1, "mapping values are not allowed"),
        (".json", "{\n,}", 2, "expecting property name"),
        (".yaml", "a:\n  - &x [*x]\n", 2, "contains itself"),
        (".yaml", "a: *x\n", 1, "the anchor &x is not defined before"),
        (".yaml", "a: {<<: 1}\n", 1, "must be a mapping or a list of mappings"),
        (".yaml", "a: !!python/name:os.system x\n", 1, "is not supported"),
        (".yaml", "a: .nan\n", 1, "is not a JSON number"),
        (".json", '{"a": NaN}', 1, "is not a JSON number"),
        (".json", '{"a": "\\ud800"}', 1, "half of a surrogate pair"),
        (".yaml", "a\n---\nb\n", 2, "a second document"),
        (".yaml", "a: \x00", 1, "does not allow"),
        (".yaml", "[" * 100_000, 1, "values are nested more than 100 deep"),
        (".json", "[" * 150 + "]" * 150, 1, "values are nested more than 100 deep"),
        (".json", "[" * 100_000 + "]" * 100_000, 1, "values are nested more than 100 deep"),
        (".yaml", DEEP_BY_ALIASES, 4, "values are nested more than 100 deep"),
        (".yaml", BOMB, 6, "more than 1000000 values"),
    ],
    ids=lambda value: str(value)[:12],
)
def test_an_unreadable_file_is_refused_with_its_line(
    tmp_path: Path, suffix: str, text: str, line: int, says: str
) -> None:
    refused = read_refusal(write_file(tmp_path, text, suffix))
    assert (refused.place.line, says in refused.fault) == (line, True), refused.fault
    assert str(refused).startswith(f"{tmp_path}/m{suffix} is not valid: ")


def test_a_missing_or_binary_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "m.yaml").write_bytes(b"\xe9")
    assert "not valid UTF-8" in str(read_refusal(tmp_path / "m.yaml"))
    assert "There is no file" in str(read_refusal(tmp_path / "n.yaml"))
    assert "cannot be read" in str(read_refusal(tmp_path))


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(DOCUMENTS, st.booleans())
def test_a_json_text_reads_the_same_as_json_and_as_yaml(tmp_path: Path, document: Json, is_spread: bool) -> None:
    text = json.dumps(document, indent=1 if is_spread else None)
    assert read_values(write_file(tmp_path, text, ".json")) == document
    if "\\ud" not in text:  # YAML knows no pairs of surrogates
        assert read_values(write_file(tmp_path, text)) == document
