"""What is read out of a folder or a manifest, and everything that can be wrong with it."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from signpost.cli.failure import CommandFailed
from signpost.cli.publication_files import Publication, publication_at

GREET = {"name": "greet", "description": "Greets.", "function_id": "demo::greet"}


def folder(root: Path, files: Mapping[str, str | bytes]) -> Path:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return root


def refusal(path: Path) -> str:
    with pytest.raises(CommandFailed) as refused:
        publication_at(path)
    return str(refused.value)


def test_a_path_is_an_id_and_the_index_of_a_folder_is_the_folder(tmp_path: Path) -> None:
    files = {
        "skills/resend/index.md": "# R",
        "skills/resend/email/send.md": "# S\r\n",
        "skills/.x.md": "",
        "skills/a.txt": "",
    }
    assert publication_at(folder(tmp_path, files)).bodies == {"resend": "# R", "resend/email/send": "# S\r\n"}


@pytest.mark.parametrize("name", ["prompts.json", "prompts.yaml", "prompts.yml"])
def test_prompts_are_read_from_json_and_yaml(tmp_path: Path, name: str) -> None:
    found = publication_at(folder(tmp_path, {name: json.dumps([GREET])}))
    assert found == Publication(bodies=None, prompts=[GREET])


def test_everything_that_is_wrong_is_said_at_once_with_the_file(tmp_path: Path) -> None:
    files = {
        "skills/Upper.md": "# U",
        "skills/empty.md": "",
        "skills/index.md": "# no id",
        "skills/latin.md": b"\xe9",
        "skills/twice.md": "# T",
        "skills/twice/index.md": "# T",
        "skills/large.md": "x" * 262_145,
        "prompts.json": json.dumps([{**GREET, "description": " "}, GREET, GREET]),
    }
    said = refusal(folder(tmp_path, files))
    for expected in (
        "Upper.md (Upper): id 'Upper'", "empty.md (empty): skill must be", "index.md (): id must be non-empty",
        "latin.md: is no UTF-8", "twice.md: ", "large.md (large): skill is too large", "prompt greet: description",
    ):  # fmt: skip
        assert expected in said
    assert "8 to be put right" in said


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ({"readme.md": "# R"}, "neither a folder skills nor a file prompts"),
        ({"prompts.json": "[]", "prompts.yaml": "[]"}, "keep one of them"),
        ({"prompts.yaml": "a: [\n"}, "prompts.yaml cannot be understood"),
        ({"prompts.json": '{"a": 1, "a": 2}'}, "'a' is there twice"),
        ({"prompts.yaml": "greet: {}\n"}, "this must be a list"),
    ],
)
def test_a_folder_that_cannot_be_read_is_said_in_a_sentence(tmp_path: Path, files: dict[str, str], says: str) -> None:
    assert says in refusal(folder(tmp_path, files))


def test_what_lies_outside_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    outside = folder(tmp_path, {"secret.md": "# S", "site/skills/a.md": "# A"})
    (tmp_path / "site/skills/b.md").symlink_to(outside / "secret.md")
    assert publication_at(tmp_path / "site").bodies == {"a": "# A"}


def test_a_manifest_has_texts_and_paths(tmp_path: Path) -> None:
    folder(tmp_path, {"a.md": "# From a file", "m.yaml": "skills:\n  a: a.md\n  b: |\n    # B\n    ends in b.md\n"})
    assert publication_at(tmp_path / "m.yaml") == Publication({"a": "# From a file", "b": "# B\nends in b.md\n"}, None)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("skills: {a: ../outside.md}\n", "lies outside"),
        ("skills: {a: none.md}\n", "cannot be read"),
        ("skills: {1: x}\n", "put them into quotes"),
        ("skills: [a]\n", "are a mapping of ids"),
        ("skill: {}\n", "there is no field 'skill'"),
        ("skills: {a: x, a: y}\n", "'a' is there twice"),
        ("- a\n", "a manifest is a mapping"),
        ("a: !!python/object/apply:os.getcwd []\n", "cannot be understood"),
    ],
)
def test_a_manifest_that_cannot_be_used_is_refused(tmp_path: Path, text: str, says: str) -> None:
    folder(tmp_path, {"here/m.yaml": text, "outside.md": "# O"})
    assert says in refusal(tmp_path / "here/m.yaml")


def test_a_path_that_is_not_there_is_said(tmp_path: Path) -> None:
    assert "There is no file" in refusal(tmp_path / "nowhere")
