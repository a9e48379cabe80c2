"""A folder with an app.py: its template, its name, and what is said when the SAM CLI does not deploy it."""

from pathlib import Path

import pytest

from local.intrinsics import parse_template, section
from signpost.cli import executor_folders, main
from signpost.cli.failure import CommandFailed


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "yard"
    made.mkdir()
    (made / "app.py").write_text("handler = None\n")
    return made


def sam_that(says: str, ends: int, programs: Path) -> Path:
    """A program of the name that notes what it is asked."""
    programs.mkdir()
    sam = programs / "sam"
    sam.write_text(f'#!/bin/sh\necho "$PWD $@" >> {programs}/asked\necho "{says}"\nexit {ends}\n')
    sam.chmod(0o755)
    return programs / "asked"


def test_a_template_is_written_once_and_is_its_authors_from_then_on(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["executors", "template", str(folder)]) == 0
    assert (folder / "template.yaml").read_text() == executor_folders.template()
    (folder / "template.yaml").write_text("mine")
    assert main(["executors", "template", str(folder)]) == 0
    assert (folder / "template.yaml").read_text() == "mine"
    assert capsys.readouterr().out == (
        f"+ {folder}/template.yaml\n= {folder}/template.yaml is there already; it is yours.\n"
    )


def test_a_folder_without_an_app_is_no_executor(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["executors", "template", str(tmp_path)]) == 1
    assert "There is no app.py" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_the_template_asks_for_nothing_but_what_a_stack_says_of_itself() -> None:
    document = parse_template(executor_folders.template())
    parameters = section(document, "Parameters")
    needed = [name for name in parameters if "Default" not in section(document, "Parameters", name)]
    assert needed == ["LayerArn", "GatewayFunctionArn"]
    assert section(document, "Resources", "ExecutorFunction", "Properties")["Handler"] == "app.handler"


@pytest.mark.parametrize(
    ("named", "called"), [("yard", "signpost-executor-yard"), ("My_Tools", "signpost-executor-my-tools")]
)
def test_an_executor_is_called_like_its_folder(tmp_path: Path, named: str, called: str) -> None:
    assert executor_folders.stack_name(tmp_path / named, "signpost") == called


@pytest.mark.parametrize("named", ["1st", "a.b", "ä", "a" * 33])
def test_a_folder_whose_name_is_none_for_a_stack_is_refused(tmp_path: Path, named: str) -> None:
    with pytest.raises(CommandFailed, match="is no name"):
        executor_folders.stack_name(tmp_path / named, "signpost")


def test_it_is_built_and_deployed_in_its_folder_with_what_is_known(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = sam_that("done", 0, tmp_path / "programs")
    monkeypatch.setenv("PATH", str(asked.parent))
    executor_folders.deploy(folder, "signpost-executor-yard", {"LayerArn": "arn:layer", "EndpointUrl": ""})
    build, deploy = asked.read_text().splitlines()
    assert build == f"{folder} build --template-file template.yaml --parameter-overrides LayerArn=arn:layer"
    assert deploy.startswith(f"{folder} deploy --stack-name signpost-executor-yard --capabilities CAPABILITY_IAM")
    assert deploy.endswith(" --parameter-overrides LayerArn=arn:layer")


def test_what_sam_says_is_said_when_it_fails(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = sam_that("no such region", 1, tmp_path / "programs")
    monkeypatch.setenv("PATH", str(asked.parent))
    with pytest.raises(CommandFailed, match=r"sam build failed in .*/yard:\nno such region"):
        executor_folders.deploy(folder, "any", {})
    assert len(asked.read_text().splitlines()) == 1


def test_without_the_sam_cli_it_says_so(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CommandFailed, match="The SAM CLI is not on the PATH"):
        executor_folders.deploy(folder, "any", {})
