"""`signpost executors deploy`: the order of its steps, and its messages if one of them fails."""

import json
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from signpost.catalogue.publishing.publish_functions import PublishFunctions
from signpost.catalogue.publishing.publisher import Publisher
from signpost.catalogue.publishing.reference_warnings import ReferenceJudge
from signpost.cli import executor_folders, main, remote, stack
from signpost.cli.failure import CommandFailed
from signpost.content.api.errors import RegistryRefusal
from signpost.content.callers import Caller
from signpost.contract import HostedFunction
from signpost.directory.placement import PlacementError
from signpost.entrypoints.registry_dispatch import RegistryDispatcher
from signpost.identity.permissions import ADMINISTRATION
from signpost.model import JsonObject, Principal, as_object
from signpost.wiring.registry_documents import read_executor_kinds
from tests.interaction.test_registry_invoke import OPERATORS, RegistryStage
from tests.support.catalogues import build_catalogue_publisher
from tests.support.registry import CountingTimestamps

NESTED_CALLS = "arn:aws:lambda:eu-west-1:123456789012:function:nested"
YARD = NESTED_CALLS.rpartition(":")[0] + ":signpost-executor-yard"
GUIDE = "# Yard\n\nHow to buy trees.\n"
PROMPTS = "- { name: plant, description: Plants a tree., function_id: yard::plant }\n"
MANIFEST = """
version: 1
workflows:
  planting:
    initialState: open
    states:
      open: { transitions: { go: { target: shut } } }
      shut: { terminal: true }
"""


@dataclass
class PlayedStack:
    """A stack whose registry is real, and of which the account is played: SAM and the placement note that they ran."""

    registry: RegistryStage = field(default_factory=RegistryStage)
    steps: list[str] = field(default_factory=list[str])
    failing: str = ""
    """The step that fails."""
    functions: Sequence[str] = ("yard::plant",)
    """The functions of the folder."""

    def __post_init__(self) -> None:
        registry = self.registry.registry
        self.manifests = PublishFunctions(
            Publisher(
                content=registry.content,
                catalogues=build_catalogue_publisher(registry.content),
                bodies=registry.bodies,
                timestamps=CountingTimestamps(),
                references=ReferenceJudge(functions=registry.function_lists, kinds=read_executor_kinds),
            )
        )

    @property
    def placer(self) -> "PlayedStack":
        return self

    @property
    def directory(self) -> "PlayedStack":
        return self

    @property
    def executor_tags(self) -> "PlayedStack":
        return self

    def find_tag(self, executor_arn: str, name: str) -> None: ...

    def list_placed(self) -> Sequence[object]:
        return ()

    def place(self, function: str, tenant: str, *, strict: bool) -> Sequence[HostedFunction]:
        del tenant, strict
        self._note("place")
        if self.failing == "place":
            raise PlacementError(f"{function} did not answer.", "not_reached")
        for hosted in self.functions:
            self.registry.registry.host(hosted, "done", tenant=OPERATORS)
        return [HostedFunction(hosted) for hosted in self.functions]

    def deploy(self, *_: object) -> None:
        self._note("deploy")
        if self.failing == "deploy":
            raise CommandFailed("`sam build` failed")

    @contextmanager
    def connect(self, *_: object) -> Generator[Callable[[str, JsonObject], JsonObject]]:
        def call(function_id: str, payload: JsonObject) -> JsonObject:
            step = "dry run" if payload.get("dry_run") else function_id
            self._note(step)
            if step == self.failing:
                raise CommandFailed("The table does not answer.")
            return self.ask(function_id, payload)

        yield call

    def ask(self, function_id: str, payload: JsonObject) -> JsonObject:
        """Call a function of the registry as the operator."""
        operator = Principal("operator", OPERATORS, "signpost:operator", permissions=frozenset({ADMINISTRATION}))
        caller = Caller(OPERATORS, operator, self.registry.clock.now() + 20, fresh=True)
        dispatcher = RegistryDispatcher(self.registry.registry.functions, [self.manifests])
        answer = dispatcher.call(function_id, payload, caller)
        if isinstance(answer, RegistryRefusal):
            raise CommandFailed(answer.message)
        return as_object(answer)

    def _note(self, step: str) -> None:
        if self.steps[-1:] != [step]:
            self.steps.append(step)

    def list_documents(self) -> Sequence[str]:
        return [skill.id for skill in self.registry.registry.content.skills(OPERATORS)]


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> PlayedStack:
    played = PlayedStack()
    known = {"McpUrl": "https://a.test/mcp", "NestedCallsFunctionArn": NESTED_CALLS, "ExecutorFunctions": YARD}
    monkeypatch.setattr(stack, "read_executor_parameters", {"signpost": known}.get)
    monkeypatch.setattr(stack, "open_adapters", {"signpost": nullcontext(played)}.get)
    monkeypatch.setattr(remote, "connect_registry", played.connect)
    monkeypatch.setattr(executor_folders, "deploy", played.deploy)
    return played


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "yard"
    (made / "skills").mkdir(parents=True)
    (made / "app.py").write_text("handler = None\n")
    (made / "skills" / "yard.md").write_text(GUIDE)
    (made / "prompts.yaml").write_text(PROMPTS)
    (made / "manifest.yaml").write_text(MANIFEST)
    return made


def deploy(folder: Path, *options: str, tenant: str = OPERATORS) -> int:
    return main(["executors", "deploy", str(folder), "--tenant", tenant, *options])


@pytest.mark.invariant(132)
def test_a_deployment_checks_then_deploys_then_places_then_publishes(
    played: PlayedStack, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert deploy(folder) == 0
    assert played.steps == [
        "manifest::plan", "manifest::bodies", "dry run", "deploy", "place",
        "manifest::plan", "manifest::bodies", "manifest::publish",
    ]  # fmt: skip
    printed = capsys.readouterr()
    assert json.loads(printed.out) == {
        "tenant": OPERATORS,
        "functions": ["yard::plant"],
        "published": {"added": 3, "changed": 0, "same": 0, "removed": 0},
    }
    assert [line for line in printed.err.splitlines() if line.startswith("+ ") and "template" not in line] == [
        "+ prompt:plant", "+ workflow:planting", "+ yard",
    ]  # fmt: skip
    assert played.list_documents() == ["yard"]


@pytest.mark.invariant(132)
@pytest.mark.parametrize(
    ("failing", "advice"),
    [
        ("manifest::plan", ["The table does not answer.", "Nothing was deployed. Fix it, and deploy again."]),
        ("dry run", ["The table does not answer.", "Nothing was deployed. Fix it, and deploy again."]),
        ("deploy", ["`sam build` failed.", "Nothing was placed or published. Fix it, and deploy again."]),
        ("place", ["did not answer.", "Its functions were not placed, and nothing was published."]),
        ("manifest::publish", ["The table does not answer.", "deployed and placed", "signpost publish"]),
    ],
)
def test_a_failed_step_is_named_with_what_is_done_and_deploying_again_completes_it(
    played: PlayedStack, folder: Path, failing: str, advice: Sequence[str], capsys: pytest.CaptureFixture[str]
) -> None:
    played.failing = failing
    assert deploy(folder) == 1
    printed = capsys.readouterr()
    assert (printed.out, played.steps[-1]) == ("", failing)
    for words in advice:
        assert words in printed.err
    assert played.list_documents() == []
    played.failing = ""
    assert deploy(folder) == 0
    assert played.list_documents() == ["yard"]


@pytest.mark.invariant(132)
@pytest.mark.parametrize(
    ("file", "text", "problem"),
    [
        ("manifest.yaml", MANIFEST.replace("target: shut", "target: shutt"), "shutt"),
        ("skills/Bad.md", GUIDE, "Bad"),
        ("prompts.yaml", "- { name: plant }\n", "description"),
    ],
)
def test_invalid_content_is_refused_before_anything_is_deployed(
    played: PlayedStack, folder: Path, file: str, text: str, problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / file).write_text(text)
    assert deploy(folder) == 1
    assert problem in capsys.readouterr().err
    assert played.steps == []


@pytest.mark.invariant(132)
def test_a_warning_refuses_a_strict_deployment_before_anything_is_deployed(
    played: PlayedStack, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "skills" / "yard.md").write_text(GUIDE + "\n<!-- hidden -->\n")
    assert deploy(folder, "--strict") == 1
    assert "hidden_comment" in capsys.readouterr().err
    assert played.steps == []
    assert deploy(folder) == 0
    assert "hidden_comment" in capsys.readouterr().err


UNKNOWN_WORKFLOW = "- { trigger_type: 'skills::on-change', workflow: plantin, config: {} }\n"


@pytest.mark.invariant(132)
def test_content_that_the_registry_refuses_is_refused_before_anything_is_deployed(
    played: PlayedStack, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only the registry knows what is published already."""
    (folder / "triggers.yaml").write_text(UNKNOWN_WORKFLOW)
    assert deploy(folder) == 1
    printed = capsys.readouterr().err
    assert "plantin" in printed
    assert "Nothing was deployed." in printed
    assert played.steps == ["manifest::plan", "manifest::bodies", "dry run"]
    assert played.list_documents() == []


OWN = """
version: 1
workflows:
  planting:
    initialState: open
    states:
      open:
        transitions:
          go:
            target: shut
            inputSchema: { type: object, additionalProperties: false }
            executor: { kind: function, function: %s }
      shut: { terminal: true }
policies:
  no-guests: { kind: deny, who: ["role:guest"], what: ["skill:plant", "yard::plant"] }
"""
OWN_SECTION = GUIDE + "\nSee iii://fn/yard/plant.\n"


@pytest.mark.invariant(132)
def test_the_functions_of_the_folder_count_as_hosted_in_its_first_strict_deployment(
    played: PlayedStack, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "manifest.yaml").write_text(OWN % "yard::plant")
    (folder / "skills" / "yard.md").write_text(OWN_SECTION)
    tools = folder / "skills" / "tools"
    tools.mkdir()
    (tools / "SKILL.md").write_text("---\nname: tools\ndescription: Spades.\n---\n# Tools\n")
    (tools / "list.txt").write_text("A spade.\n")
    assert deploy(folder, "--strict") == 0, capsys.readouterr().err
    assert "warning" not in capsys.readouterr().err
    assert played.list_documents() == ["tools", "yard"]


@pytest.mark.invariant(132)
def test_a_function_that_is_not_hosted_after_the_placement_refuses_a_strict_publication(
    played: PlayedStack, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "manifest.yaml").write_text(OWN % "yard::plan")
    assert deploy(folder, "--strict") == 1
    printed = capsys.readouterr().err
    assert "did you mean 'yard::plant'?" in printed
    assert "The functions are deployed and placed." in printed
    assert played.list_documents() == []
    (folder / "manifest.yaml").write_text(OWN % "yard::plant")
    assert deploy(folder, "--strict") == 0


@pytest.mark.invariant(132)
@pytest.mark.parametrize(
    ("file", "text", "code"),
    [
        ("skills/yard.md", GUIDE + "\nSee iii://yard/trees.\n", "leads nowhere: there is no such document"),
        (
            "manifest.yaml",
            OWN.replace("skill:plant", "workflow:plantin") % "yard::plant",
            "its `what` names 'workflow:plantin', which does not exist",
        ),
    ],
)
def test_a_warning_that_the_placement_cannot_remove_refuses_a_strict_deployment(
    played: PlayedStack, folder: Path, file: str, text: str, code: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / file).write_text(text)
    assert deploy(folder, "--strict") == 1
    printed = capsys.readouterr().err
    assert code in printed
    assert "Nothing was deployed." in printed
    assert "deploy" not in played.steps


@pytest.mark.invariant(132)
def test_content_is_published_for_the_tenant_of_the_functions_or_not_at_all(
    played: PlayedStack, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert deploy(folder, tenant="acme") == 1
    assert f"published for the tenant {OPERATORS}, and the functions are for acme" in capsys.readouterr().err
    assert played.steps == ["manifest::plan"]
    assert deploy(folder, "--no-publish", tenant="acme") == 0
    assert played.steps == ["manifest::plan", "deploy", "place"]
    assert played.list_documents() == []


def test_content_of_others_is_removed_only_with_prune(played: PlayedStack, folder: Path) -> None:
    other: JsonObject = {"id": "other", "skill": "# Other"}
    played.ask("skills::register", other)
    assert deploy(folder) == 0
    assert played.list_documents() == ["other", "yard"]
    assert deploy(folder, "--prune") == 0
    assert played.list_documents() == ["yard"]


def test_a_folder_without_content_publishes_nothing(
    played: PlayedStack, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "yard").mkdir()
    (tmp_path / "yard" / "app.py").write_text("handler = None\n")
    (tmp_path / "yard" / "SKILL.md").write_text("---\nname: yard\ndescription: Trees.\n---\n# Yard\n")
    assert deploy(tmp_path / "yard") == 0
    assert played.steps == ["deploy", "place"]
    assert json.loads(capsys.readouterr().out) == {"tenant": OPERATORS, "functions": ["yard::plant"]}


def test_a_folder_without_an_app_is_refused_before_its_content_is_read(
    played: PlayedStack, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "app.py").unlink()
    assert deploy(folder) == 1
    assert "There is no app.py" in capsys.readouterr().err
    assert played.steps == []
