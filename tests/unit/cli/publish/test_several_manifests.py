"""Several manifests in one folder: they are published together, so each may name what another one has."""

from pathlib import Path

import pytest

from signpost.cli import main
from signpost.cli.failure import CommandFailed
from signpost.cli.publish.checking import CheckRules
from signpost.cli.publish.files import read_folder_publication

PARENT = """
version: 1
workflows:
  parent:
    initialState: a
    states:
      a:
        transitions:
          go:
            target: b
            inputSchema: { type: object, additionalProperties: false }
            executor: { kind: workflow, definitionId: %s }
      b: { terminal: true }
schedules:
  daily: { rate: 1 day, workflow: %s }
"""
CHILD = """
version: 1
workflows:
  child: { initialState: a, states: { a: { terminal: true } } }
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "child.yaml").write_text(CHILD)
    return tmp_path


def test_a_workflow_of_another_manifest_of_the_folder_is_known(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "parent.yaml").write_text(PARENT % ("child", "child"))
    publication = read_folder_publication(folder, CheckRules(strict=True))
    assert publication is not None
    assert sorted(publication.definitions["workflows"]) == ["child", "parent"]
    assert main(["check", str(folder), "--strict"]) == 0
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(("child", "scheduled"), [("chld", "child"), ("child", "chld")])
def test_a_workflow_of_no_manifest_of_the_folder_is_named(
    folder: Path, child: str, scheduled: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "parent.yaml").write_text(PARENT % (child, scheduled))
    with pytest.raises(CommandFailed, match="no workflow 'chld' is in this manifest"):
        read_folder_publication(folder, CheckRules(strict=True))
    assert main(["check", str(folder), "--strict"]) == 1
    assert "no workflow 'chld'" in capsys.readouterr().out


def test_a_manifest_checked_alone_knows_its_own_workflows_only(folder: Path) -> None:
    (folder / "parent.yaml").write_text(PARENT % ("child", "child"))
    assert main(["check", str(folder / "parent.yaml"), "--strict"]) == 1


DEEP = "version: 1\nworkflows: { deep: { initialState: a, x-note: %s, states: { a: { terminal: true } } } }\n"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (CHILD.replace("terminal: true", "terminal: true, title: Other"), "is defined differently in"),
        (DEEP % ("[" * 60 + "]" * 60), "is nested more than"),
    ],
)
def test_a_check_finds_what_a_publication_would_be_refused_for(
    folder: Path, text: str, problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "other.yaml").write_text(text)
    with pytest.raises(CommandFailed, match=problem):
        read_folder_publication(folder, CheckRules())
    assert main(["check", str(folder)]) == 1
    assert problem in capsys.readouterr().out
