"""What is read out of a folder or a manifest, and everything that can be wrong with it."""

import json
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from signpost.cli.failure import CommandFailed
from signpost.cli.publish import files as publication_files
from signpost.cli.publish.checking import CheckRules
from signpost.cli.publish.collection import LISTS, SKILLS, CollectedPublication
from signpost.cli.publish.upload import NAME_PREFIXES
from signpost.content.changes import ENTRY_LISTS
from signpost.model import JsonObject

GREET = {"name": "greet", "description": "Greets.", "function_id": "demo::greet"}


def folder(root: Path, files: Mapping[str, str | bytes]) -> Path:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return root


def publication_at(path: Path, *, strict: bool = False) -> CollectedPublication:
    return publication_files.read_publication(path, CheckRules(strict=strict))


def refusal(path: Path, *, strict: bool = False) -> str:
    with pytest.raises(CommandFailed) as refused:
        publication_at(path, strict=strict)
    return str(refused.value)


def test_a_path_is_an_id_and_the_index_of_a_folder_has_the_id_of_the_folder(tmp_path: Path) -> None:
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
    assert found == CollectedPublication(bodies=None, prompts=[GREET])


TRIGGER: JsonObject = {"trigger_type": "skills::on-change", "function_id": "mail::index", "config": {}}
WEBHOOK: JsonObject = {"trigger_type": "skills::on-change", "url": "https://hooks.test/"}


def test_subscriptions_are_read_from_a_folder_and_from_a_manifest(tmp_path: Path) -> None:
    files = {
        "triggers.yaml": json.dumps([TRIGGER]),
        "webhooks.json": json.dumps([WEBHOOK]),
        "m.json": json.dumps({"triggers": [TRIGGER], "webhooks": []}),
    }
    found = publication_at(folder(tmp_path, files))
    assert found == CollectedPublication(None, None, triggers=[TRIGGER], webhooks=[WEBHOOK])
    assert found.lists == {"triggers": [TRIGGER], "webhooks": [WEBHOOK]}
    assert publication_at(tmp_path / "m.json") == CollectedPublication(None, None, triggers=[TRIGGER], webhooks=[])


def test_invalid_subscriptions_are_refused_without_a_call(tmp_path: Path) -> None:
    files = {
        "triggers.json": json.dumps([{**TRIGGER, "function_id": "state::get"}]),
        "webhooks.json": json.dumps([{**WEBHOOK, "url": "https://127.1/"}]),
    }
    said = refusal(folder(tmp_path, files))
    assert "trigger state::get: 'state::get' is in an internal namespace" in said
    assert "webhook https://127.1/: The host of the URL must be a name" in said


def test_all_problems_are_reported_at_once_with_their_files(tmp_path: Path) -> None:
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
        "latin.md: is not valid UTF-8", "twice.md: ", "large.md (large): skill is too large",
        "prompt greet: description",
    ):  # fmt: skip
        assert expected in said
    assert "Problems to fix: 8\n" in said


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ({"readme.md": "# R"}, "no folder skills, no SKILL.md, no file of prompts"),
        ({"prompts.json": "[]", "prompts.yaml": "[]"}, "keep one of them"),
        ({"prompts.yaml": "a: [\n"}, "prompts.yaml is not valid"),
        ({"prompts.json": '{"a": 1, "a": 2}'}, "'a' occurs twice"),
        ({"prompts.yaml": "greet: {}\n"}, "this must be a list"),
    ],
)
def test_an_invalid_folder_is_refused_in_a_sentence(tmp_path: Path, files: dict[str, str], says: str) -> None:
    assert says in refusal(folder(tmp_path, files))


def test_a_link_that_leads_out_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    outside = folder(tmp_path, {"secret.md": "# S", "site/skills/a.md": "# A"})
    (tmp_path / "site/skills/b.md").symlink_to(outside / "secret.md")
    assert publication_at(tmp_path / "site").bodies == {"a": "# A"}


def test_a_manifest_has_texts_and_paths(tmp_path: Path) -> None:
    folder(tmp_path, {"a.md": "# From a file", "m.yaml": "skills:\n  a: a.md\n  b: |\n    # B\n    ends in b.md\n"})
    assert publication_at(tmp_path / "m.yaml") == CollectedPublication(
        {"a": "# From a file", "b": "# B\nends in b.md\n"}, None
    )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("skills: {a: ../outside.md}\n", "is outside the folder"),
        ("skills: {a: none.md}\n", "cannot be read"),
        ("skills: {1: x}\n", "put it into quotes"),
        ("skills: [a]\n", "must be a mapping of ids"),
        ("skill: {}\n", "there is no field 'skill'"),
        ("skills: {a: x, a: y}\n", "'a' occurs twice"),
        ("- a\n", "a manifest must be a mapping"),
        ("a: !!python/object/apply:os.getcwd []\n", "m.yaml:1:4: error: the tag"),
    ],
)
def test_a_manifest_that_cannot_be_used_is_refused(tmp_path: Path, text: str, says: str) -> None:
    folder(tmp_path, {"here/m.yaml": text, "outside.md": "# O"})
    assert says in refusal(tmp_path / "here/m.yaml")


def test_a_missing_path_is_reported(tmp_path: Path) -> None:
    assert "There is no file" in refusal(tmp_path / "nowhere")


SKILL_MD = "---\nname: pdf\ndescription: Fills forms.\n---\n\n# PDF\n"


class TestAgentSkills:
    def test_a_folder_with_a_skill_md_is_a_skill_with_all_its_files(self, tmp_path: Path) -> None:
        files: dict[str, str | bytes] = {
            "skills/guide.md": "# Guide",
            "skills/office/pdf/SKILL.md": SKILL_MD,
            "skills/office/pdf/FORMS.md": "# Forms",
            "skills/office/pdf/assets/logo.png": b"\x89PNG\0",
            "skills/office/pdf/.env": "secret",
            "skills/office/pdf/deep/SKILL.md": SKILL_MD.replace("pdf", "deep"),
            "skills/office/pdf/deep/a": "A",
        }
        found = publication_at(folder(tmp_path, files))
        assert found.bodies == {
            "guide": "# Guide",
            "office/pdf": SKILL_MD,
            "office/pdf/deep": SKILL_MD.replace("pdf", "deep"),
        }
        assert found.files == {
            "office/pdf": {"FORMS.md": b"# Forms", "assets/logo.png": b"\x89PNG\0"},
            "office/pdf/deep": {"a": b"A"},
        }

    def test_the_published_folder_may_be_a_skill_itself(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        folder(tmp_path, {"pdf/SKILL.md": SKILL_MD, "pdf/a/b.txt": "B", "pdf/prompts.yaml": "a file like any other"})
        expected = CollectedPublication(
            {"pdf": SKILL_MD}, None, files={"pdf": {"a/b.txt": b"B", "prompts.yaml": b"a file like any other"}}
        )
        assert publication_at(tmp_path / "pdf") == expected
        monkeypatch.chdir(tmp_path / "pdf")
        assert publication_at(Path()) == expected

    def test_an_archive_is_published_like_a_folder(self, tmp_path: Path) -> None:
        with zipfile.ZipFile(tmp_path / "pdf.zip", "w") as archive:
            archive.writestr("pdf/SKILL.md", SKILL_MD)
            archive.writestr("pdf/a.txt", "A")
        assert publication_at(tmp_path / "pdf.zip") == CollectedPublication(
            {"pdf": SKILL_MD}, None, files={"pdf": {"a.txt": b"A"}}
        )

    def test_an_archive_in_a_skill_is_a_file(self, tmp_path: Path) -> None:
        files: dict[str, str | bytes] = {"skills/pdf/SKILL.md": SKILL_MD, "skills/pdf/data.zip": b"PK"}
        assert publication_at(folder(tmp_path, files)).files == {"pdf": {"data.zip": b"PK"}}

    def test_all_problems_of_skills_are_reported_at_once(self, tmp_path: Path) -> None:
        files: dict[str, str | bytes] = {
            "skills/pdf/SKILL.md": SKILL_MD,
            "skills/pdf/ab:c": "",
            "skills/pdf/skill.md": "",
            "skills/other/SKILL.md": SKILL_MD,
            "skills/large/SKILL.md": SKILL_MD.replace("pdf", "large"),
            "skills/large/x": b"\0" * 3_000_001,
            "skills/latin/SKILL.md": b"\xe9",
            "skills/Bad.md": "# B",
        }
        said = refusal(folder(tmp_path, files))
        assert "Problems to fix: 6\n" in said
        for expected in (
            "pdf: 'ab:c' has one of", "pdf: 'skill.md' has the name SKILL.md", "other: the name in SKILL.md is 'pdf'",
            "large: 'x' has 3000001 bytes", "latin: SKILL.md is not valid UTF-8", "id 'Bad'",
        ):  # fmt: skip
            assert expected in said

    def test_links_and_pipes_in_a_skill_are_refused(self, tmp_path: Path) -> None:
        folder(tmp_path, {"secret": "s", "skills/pdf/SKILL.md": SKILL_MD, "skills/pdf/there": "x"})
        (tmp_path / "skills/pdf/id_rsa.example").symlink_to(tmp_path / "secret")
        (tmp_path / "skills/pdf/inside").symlink_to("there")
        (tmp_path / "skills/pdf/up").symlink_to(tmp_path, target_is_directory=True)
        os.mkfifo(tmp_path / "skills/pdf/pipe.fifo")
        said = refusal(tmp_path)
        assert "Problems to fix: 4\n" in said
        assert said.count("is a link") == 3
        assert "'pipe.fifo' is neither a file nor a folder" in said

    def test_a_skill_md_that_is_a_link_is_refused(self, tmp_path: Path) -> None:
        folder(tmp_path, {"secret": SKILL_MD, "skills/pdf/a": "A"})
        (tmp_path / "skills/pdf/SKILL.md").symlink_to(tmp_path / "secret")
        assert "'SKILL.md' is a link" in refusal(tmp_path)

    def test_a_skill_md_directly_in_the_skills_folder_is_refused(self, tmp_path: Path) -> None:
        assert "put the skill into a folder of its own" in refusal(folder(tmp_path, {"skills/SKILL.md": SKILL_MD}))

    def test_a_file_with_the_path_of_another_skill_is_refused(self, tmp_path: Path) -> None:
        with zipfile.ZipFile(tmp_path / "m.zip", "w") as archive:
            archive.writestr("pdf/SKILL.md", SKILL_MD)
            archive.writestr("pdf/sub", "a file")
            archive.writestr("pdf/sub/SKILL.md", SKILL_MD.replace("pdf", "sub"))
        assert "is both a file and a folder" in refusal(tmp_path / "m.zip")


def test_the_lists_that_are_read_and_planned_are_those_of_the_registry() -> None:
    assert [SKILLS, *LISTS] == list(ENTRY_LISTS)
    assert [name for name in NAME_PREFIXES if name in ENTRY_LISTS] == list(ENTRY_LISTS)
