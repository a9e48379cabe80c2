"""Files and fields that nothing reads: `signpost check` and `signpost publish` name them, and a strict one refuses."""

import json
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from signpost.cli import main
from signpost.cli.failure import CommandFailed
from signpost.cli.publish.checking import CheckRules
from signpost.cli.publish.collection import LISTS
from signpost.cli.publish.files import read_publication
from signpost.cli.publish.list_entries import ENTRY_FIELDS
from signpost.model import JsonObject

MANIFEST = "version: 1\nproxy: {expose: [{name: ping, executor: {kind: noop}}]}\n"
PROMPT: Mapping[str, object] = {"name": "ask", "description": "Asks.", "function_id": "demo::ask"}


def write(root: Path, files: Mapping[str, str]) -> Path:
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)
    return root


UNREAD: Mapping[str, tuple[str, str]] = {
    "skills/PAGE.MD": ("# Page", "1:1: warning: this file is not read; did you mean 'PAGE.md'?"),
    "skills/notes.txt": ("Notes", "1:1: warning: this file is not read: documents end in .md, and other files belong"),
    "skills/a/logo.png": ("png", "1:1: warning: this file is not read: documents end in .md, and other files belong"),
    "prompt.yaml": ("[]", "1:1: warning: this file is not read; did you mean 'prompts.yaml'?"),
    "Prompts.yml": ("[]", "1:1: warning: this file is not read; did you mean 'prompts.yml'?"),
    "triggers.YAML": ("[]", "1:1: warning: this file is not read; did you mean 'triggers.yaml'?"),
    "one.yaml": (
        "a: 1\nworkflow: {}\n",
        "2:1: warning: this file is not read: 'workflow' is no field of a manifest; did you mean 'workflows'?",
    ),
    "two.json": (
        '{"Workflows": {}}',
        "1:2: warning: this file is not read: 'Workflows' is no field of a manifest; did you mean 'workflows'?",
    ),
    "Skills/a.md": ("# A", "1:1: warning: this folder is not read; did you mean 'skills'?"),
}


@pytest.mark.parametrize("name", UNREAD)
def test_a_file_that_nothing_reads_is_named_by_both_commands(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    content, message = UNREAD[name]
    write(tmp_path, {"manifest.yaml": MANIFEST, "skills/ok.md": "# Fine", name: content})
    shown = "Skills" if name.startswith("Skills") else name
    [warning] = read_publication(tmp_path, CheckRules()).warnings
    assert warning.startswith(f"{tmp_path}/{shown}:{message}")
    assert warning.endswith("[unread_setting]")
    assert main(["check", str(tmp_path)]) == 0
    assert capsys.readouterr().out.splitlines() == [warning]
    assert main(["check", str(tmp_path), "--strict"]) == 1
    with pytest.raises(CommandFailed, match="Problems to fix: 1"):
        read_publication(tmp_path, CheckRules(strict=True))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("prompts.yaml", "[]"),
        ("config.yaml", "scopes: {}"),
        ("template.yaml", "AWSTemplateFormatVersion: '2010-09-09'\nConditions: {}\nParameters: {}\nOutputs: {}\n"),
        ("compose.yml", "version: 3\nservices: {}\n"),
        ("app.py", "x = 1"),
        ("skills/.hidden.txt", ""),
        ("skills/pdf/SKILL.md", "---\nname: pdf\ndescription: Reads.\n---\n# Pdf\n"),
        (".Workflows.yaml", "Workflows: {}"),
        ("tests/skill.yaml", "workflow: {}"),
    ],
)
def test_a_file_that_is_read_or_belongs_to_something_else_is_not_named(tmp_path: Path, name: str, content: str) -> None:
    write(tmp_path, {"manifest.yaml": MANIFEST, "skills/ok.md": "# Fine", name: content})
    assert read_publication(tmp_path, CheckRules()).warnings == ()


def test_the_files_of_an_agent_skill_are_all_read(tmp_path: Path) -> None:
    skill = "---\nname: pdf\ndescription: Reads.\n---\n# Pdf\n"
    write(tmp_path, {"skills/pdf/SKILL.md": skill, "skills/pdf/notes.txt": "Notes"})
    assert read_publication(tmp_path, CheckRules()).warnings == ()


@pytest.mark.parametrize(
    ("file", "entry", "message"),
    [
        ("prompts", {**PROMPT, "argumnets": []}, "nothing reads the field 'argumnets'; did you mean 'arguments'?"),
        (
            "prompts",
            {**PROMPT, "arguments": [{"name": "item", "requierd": True}]},
            "nothing reads the field 'requierd'; did you mean 'required'?",
        ),
        (
            "triggers",
            {"trigger_type": "skills::on-change", "function_id": "demo::go", "configs": {}},
            "nothing reads the field 'configs'; did you mean 'config'?",
        ),
        (
            "webhooks",
            {"trigger_type": "skills::on-change", "url": "https://example.com/hook", "secret_name": "x"},
            "nothing reads the field 'secret_name'",
        ),
    ],
)
@pytest.mark.parametrize("is_in_manifest", [True, False], ids=["manifest", "file"])
def test_a_field_of_an_entry_that_nothing_reads_is_named_by_both_commands(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    file: str,
    entry: Mapping[str, object],
    message: str,
    *,
    is_in_manifest: bool,
) -> None:
    files = {"manifest.json": json.dumps({"version": 1, file: [entry]})} if is_in_manifest else {}
    write(tmp_path, files or {"manifest.yaml": MANIFEST, f"{file}.json": json.dumps([entry])})
    path = tmp_path / "manifest.json" if is_in_manifest else tmp_path
    [warning] = read_publication(path, CheckRules()).warnings
    assert warning.endswith(f"warning: {message} [unread_setting]")
    assert main(["check", str(path)]) == 0
    assert capsys.readouterr().out.splitlines() == [warning]
    with pytest.raises(CommandFailed, match="Problems to fix: 1"):
        read_publication(path, CheckRules(strict=True))


def test_an_entry_as_the_registry_lists_it_can_be_published_again(tmp_path: Path) -> None:
    trigger: JsonObject = {
        "trigger_type": "skills::on-change",
        "function_id": "demo::go",
        "config": {},
        "registered_at": "2027",
    }
    write(tmp_path, {"triggers.json": json.dumps([trigger])})
    assert read_publication(tmp_path, CheckRules()).warnings == ()


def test_the_form_of_a_list_that_errors_show_names_its_fields() -> None:
    for name, form in LISTS.items():
        assert set(re.findall(r"\w+", form)) - {"or"} == {*ENTRY_FIELDS[name]} - {"registered_at"}
