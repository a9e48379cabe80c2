"""A folder with an app.py: its template, its name, and what is said when the SAM CLI does not deploy it."""

import re
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import pytest

from local.intrinsics import parse_template, section
from signpost.adapters.memory import FunctionTable, MemoryDirectory
from signpost.cli import executor_folders, main, stack
from signpost.cli.failure import CommandFailed
from signpost.contract import Executor, HostedFunction


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "yard"
    made.mkdir()
    (made / "app.py").write_text("handler = None\n")
    return made


def write_fake_sam(says: str, ends: int, programs: Path) -> Path:
    """A program of the name that notes what it is asked."""
    programs.mkdir()
    sam = programs / "sam"
    sam.write_text(f'#!/bin/sh\necho "$PWD $@" >> {programs}/asked\necho "{says}"\nexit {ends}\n')
    sam.chmod(0o755)
    return programs / "asked"


def test_a_template_is_written_once_and_never_overwritten(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["executors", "template", str(folder)]) == 0
    assert (folder / "template.yaml").read_text() == executor_folders.read_template()
    (folder / "template.yaml").write_text("mine")
    assert main(["executors", "template", str(folder)]) == 0
    assert (folder / "template.yaml").read_text() == "mine"
    assert capsys.readouterr().out == (
        f"+ {folder}/template.yaml\n= {folder}/template.yaml exists already and was not changed.\n"
    )


def test_a_folder_without_an_app_is_no_executor(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["executors", "template", str(tmp_path)]) == 1
    assert "There is no app.py" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_the_template_needs_only_parameters_that_a_stack_outputs() -> None:
    document = parse_template(executor_folders.read_template())
    parameters = section(document, "Parameters")
    needed = [name for name in parameters if "Default" not in section(document, "Parameters", name)]
    assert needed == ["LayerArn", "NestedCallsFunctionArn"]
    assert section(document, "Resources", "ExecutorFunction", "Properties")["Handler"] == "app.handler"


@pytest.mark.parametrize(
    ("named", "called"), [("yard", "signpost-executor-yard"), ("My_Tools", "signpost-executor-my-tools")]
)
def test_an_executor_is_named_after_its_folder(tmp_path: Path, named: str, called: str) -> None:
    assert executor_folders.stack_name(tmp_path / named, "signpost") == called


@pytest.mark.parametrize("named", ["1st", "a.b", "ä", "a" * 33])
def test_a_folder_name_that_no_stack_can_have_is_refused(tmp_path: Path, named: str) -> None:
    with pytest.raises(CommandFailed, match="is not valid"):
        executor_folders.stack_name(tmp_path / named, "signpost")


def test_a_name_that_is_too_long_for_a_lambda_function_is_refused(tmp_path: Path) -> None:
    beside = "s" * (64 - len("-executor-yard"))
    assert len(executor_folders.stack_name(tmp_path / "yard", beside)) == 64
    with pytest.raises(CommandFailed, match="longer than 64 characters"):
        executor_folders.stack_name(tmp_path / "yard", beside + "s")


ARN_PREFIX = "arn:aws:lambda:eu-west-1:123456789012:function:"
GATEWAY = f"{ARN_PREFIX}signpost-gateway"


@pytest.mark.parametrize(
    "allowed",
    [
        f"{ARN_PREFIX}signpost-executor-yard",
        f"{ARN_PREFIX}other, {ARN_PREFIX}signpost-executor-*",
        "arn:aws:lambda:*:123456789012:function:signpost-*",
    ],
)
def test_an_executor_that_the_stack_may_call_is_allowed(allowed: str) -> None:
    executor_folders.check_allowed("signpost-executor-yard", GATEWAY, allowed)


@pytest.mark.parametrize(
    ("allowed", "wider"),
    [
        ("", f"{ARN_PREFIX}signpost-executor-yard"),
        (f"{ARN_PREFIX}other", f"{ARN_PREFIX}other,{ARN_PREFIX}signpost-executor-yard"),
    ],
)
def test_an_executor_that_the_stack_may_not_call_is_not_built(
    folder: Path,
    tmp_path: Path,
    allowed: str,
    wider: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked = write_fake_sam("done", 0, tmp_path / "programs")
    monkeypatch.setenv("PATH", str(asked.parent))
    known = {"McpUrl": "https://a.test/mcp", "NestedCallsFunctionArn": GATEWAY, "ExecutorFunctions": allowed}
    monkeypatch.setattr(stack, "read_executor_parameters", {"signpost": known}.get)
    assert main(["executors", "deploy", str(folder)]) == 1
    said = capsys.readouterr().err
    advice = f"Deploy the stack with the parameter ExecutorFunctions={wider}\n"
    assert f"may not call signpost-executor-yard. {advice}" in said
    assert not asked.exists()
    assert not (folder / "template.yaml").exists()


@dataclass(frozen=True, slots=True)
class TaggedExecutor:
    """The adapters of a stack, and the tag of an executor that may be deployed already."""

    directory: MemoryDirectory
    tag: str | None

    @property
    def executor_tags(self) -> "TaggedExecutor":
        return self

    def find_tag(self, executor_arn: str, name: str) -> str | None:
        return self.tag if (executor_arn, name) == (YARD, "signpost:tenants") else None


YARD = GATEWAY.rpartition(":")[0] + ":signpost-executor-yard"


@pytest.mark.invariant(85)
@pytest.mark.parametrize(
    ("tag", "named", "left_out"),
    [
        (None, "acme", ["hooli", "initech"]),
        ("", "acme", ["hooli", "initech"]),
        ("umbrella", '"acme umbrella"', ["hooli", "initech"]),
        ("initech acme", '"acme initech"', ["hooli"]),
        ("@all", '"@all acme"', []),
    ],
)
def test_a_deployment_names_no_tenant_that_has_only_loaded_the_executor(
    folder: Path,
    tmp_path: Path,
    tag: str | None,
    named: str,
    left_out: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    adapters = TaggedExecutor(MemoryDirectory(FunctionTable()), tag)
    for tenant, arn in (("initech", YARD), ("hooli", f"{YARD}:live"), ("acme", YARD), ("wayne", f"{YARD}-2")):
        assert adapters.directory.place(tenant, Executor(arn, "arn:keys", 1_000), [HostedFunction("yard::a")]) == []
    monkeypatch.setattr(stack, "open_adapters", {"signpost": nullcontext(adapters)}.get)
    asked = write_fake_sam("stops here", 1, tmp_path / "programs")
    monkeypatch.setenv("PATH", str(asked.parent))
    known = {"McpUrl": "https://a.test/mcp", "NestedCallsFunctionArn": GATEWAY, "ExecutorFunctions": YARD}
    monkeypatch.setattr(stack, "read_executor_parameters", {"signpost": known}.get)
    assert main(["executors", "deploy", str(folder), "--tenant", "acme"]) == 1
    (build,) = asked.read_text().splitlines()
    assert build.endswith(f" Tenants={named}")
    said = capsys.readouterr().err
    lines = [line for line in said.splitlines() if "does not name" in line]
    assert [re.findall(r"deploy it with --tenant (\w+) as well", line) for line in lines] == [
        [name] for name in left_out
    ]


def test_an_executor_is_built_and_deployed_in_its_folder_with_parameters(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = write_fake_sam("done", 0, tmp_path / "programs")
    monkeypatch.setenv("PATH", str(asked.parent))
    told: list[str] = []
    known = {"LayerArn": "arn:layer", "EndpointUrl": ""}
    executor_folders.deploy(folder, "signpost-executor-yard", known, told.append)
    assert told == ["done", "done"]
    build, deploy = asked.read_text().splitlines()
    assert build == f"{folder} build --template-file template.yaml --parameter-overrides LayerArn=arn:layer"
    assert deploy.startswith(f"{folder} deploy --stack-name signpost-executor-yard --capabilities CAPABILITY_IAM")
    assert deploy.endswith(" --parameter-overrides LayerArn=arn:layer")


def test_the_output_of_a_failed_sam_command_is_shown(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = write_fake_sam("no such region", 1, tmp_path / "programs")
    monkeypatch.setenv("PATH", str(asked.parent))
    told: list[str] = []
    with pytest.raises(CommandFailed, match=r"`sam build` failed in .*/yard\. See its output above"):
        executor_folders.deploy(folder, "any", {}, told.append)
    assert told == ["no such region"]
    assert len(asked.read_text().splitlines()) == 1


def test_a_missing_sam_cli_is_reported(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CommandFailed, match="The SAM CLI is not on the PATH"):
        executor_folders.deploy(folder, "any", {}, print)


def test_a_parameter_with_spaces_is_quoted_for_sam() -> None:
    assert executor_folders.override_of("Tenants", "acme initech") == 'Tenants="acme initech"'
    assert executor_folders.override_of("Tenants", "acme") == "Tenants=acme"
