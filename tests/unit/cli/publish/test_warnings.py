"""The warnings of `signpost publish` and `signpost check` about files: each with its file, line and code. With
`--strict` they keep the command from sending anything."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from signpost.cli import main
from signpost.cli.failure import CommandFailed
from signpost.cli.publish.checking import CheckRules
from signpost.cli.publish.collection import CollectedPublication
from signpost.cli.publish.files import read_publication

HIDDEN = "# Mail\n\nSend\u200b mails.\n"
AGENT_SKILL = "---\nname: mail\ndescription: Sends mails.\n---\n# Mail\n\n<!-- hidden -->\n"
PROMPT = {"name": "greet", "description": "Greets.\u202e", "function_id": "demo::greet"}


def write(root: Path, files: Mapping[str, str]) -> Path:
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)
    return root


def read(path: Path, *, strict: bool = False) -> CollectedPublication:
    return read_publication(path, CheckRules(strict=strict, executors=["rest"]))


def test_a_document_is_named_with_its_file_and_line(tmp_path: Path) -> None:
    [warning] = read(write(tmp_path, {"skills/mail.md": HIDDEN})).warnings
    assert warning.startswith(f"{tmp_path}/skills/mail.md:3: warning: 1 invisible characters")
    assert warning.endswith("[invisible_character]")


def test_the_files_of_an_agent_skill_are_named(tmp_path: Path) -> None:
    files = {
        "skills/mail/SKILL.md": AGENT_SKILL,
        "skills/mail/scripts/send.py": "print('\u202e')\n",
        "skills/mail/\u0405KILL.md": "# Other\n",
    }
    warnings = read(write(tmp_path, files)).warnings
    assert [line.removeprefix(f"{tmp_path}/skills/mail/").partition(": warning")[0] for line in warnings] == [
        "SKILL.md:7",
        "scripts/send.py:1",
        "\u0405KILL.md",
        "\u0405KILL.md",
    ]
    assert [line.rpartition("[")[2] for line in warnings] == [
        "hidden_comment]",
        "bidirectional_control]",
        "mixed_scripts]",
        "look_alike_name]",
    ]


def test_documents_with_ids_that_look_alike_are_named(tmp_path: Path) -> None:
    [warning] = read(write(tmp_path, {"skills/web-search.md": "# A", "skills/web_search.md": "# B"})).warnings
    assert warning.startswith(f"{tmp_path}/skills/web_search.md: warning: looks like another skill, 'web-search'")


def test_a_prompt_is_named(tmp_path: Path) -> None:
    [warning] = read(write(tmp_path, {"prompts.json": json.dumps([PROMPT])})).warnings
    assert warning.startswith("prompt greet: warning: the description: 1 controls of the text direction")


def test_a_warning_shows_no_control_character_to_the_terminal(tmp_path: Path) -> None:
    [warning, *_] = read(
        write(tmp_path, {"prompts.json": json.dumps([{**PROMPT, "arguments": [{"name": "\x1b[2J"}]}])})
    ).warnings
    assert warning.isprintable()


@pytest.mark.invariant(89)
@pytest.mark.parametrize(
    "files",
    [
        {"skills/mail.md": HIDDEN},
        {"skills/mail/SKILL.md": AGENT_SKILL},
        {"prompts.json": json.dumps([PROMPT])},
        {"skills/web-search.md": "# A", "skills/web_search.md": "# B"},
        {"hub.yaml": "version: 1\nconnections: {hub: {kind: rest, headers: {X-Api-Key: 7d9f3b2a1c}}}\n"},
    ],
    ids=["document", "skill", "prompt", "names", "secret"],
)
def test_a_strict_publication_is_refused_before_anything_is_sent(tmp_path: Path, files: Mapping[str, str]) -> None:
    assert read(write(tmp_path, files)).warnings
    with pytest.raises(CommandFailed, match=r"Nothing was published\. Problems to fix: 1\n"):
        read(tmp_path, strict=True)


def test_check_prints_the_code_of_a_warning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    manifest = tmp_path / "hub.yaml"
    manifest.write_text("version: 1\nconnections: {hub: {kind: rest, headers: {X-Api-Key: 7d9f3b2a1c}}}\n")
    assert main(["check", str(manifest), "--executor", "rest"]) == 0
    shown = capsys.readouterr().out
    assert "[literal_secret]" in shown
    assert "7d9f3b2a1c" not in shown
    assert main(["check", str(manifest), "--strict", "--json", "--executor", "rest"]) == 1
    assert [warning["code"] for warning in json.loads(capsys.readouterr().out)["warnings"]] == ["literal_secret"]
