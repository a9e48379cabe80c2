"""`signpost workflow enable|disable` of what is no workflow: nothing is switched, and the command says why."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

from signpost.adapters.memory import FunctionTable, MemoryContentStore, MemoryTextStore
from signpost.cli import main, remote
from signpost.cli.failure import CommandFailed
from signpost.cli.publish.upload import RegistryCall
from signpost.cli.terminal import ShowLine
from signpost.content.api.errors import RegistryRefusal
from signpost.model import CatalogueItem, JsonObject
from tests.support.catalogues import build_catalogue_publisher, store_catalogue

TENANT = "acme"
ITEMS = [
    CatalogueItem("free.form", "capability", "Write anything"),
    CatalogueItem("connection:crm", "connection", "Customers"),
    CatalogueItem("both", "capability", "Both"),
    CatalogueItem("both", "workflow", "Both"),
    CatalogueItem("expense_approval", "workflow", "Approve an expense"),
]


@dataclass(frozen=True, slots=True)
class Command:
    captured: pytest.CaptureFixture[str]
    content: MemoryContentStore

    def refusal(self, action: str, name: str) -> str:
        before = self.content.catalogue(TENANT)
        assert main(["workflow", action, name]) == 1
        assert self.content.catalogue(TENANT) == before
        return self.captured.readouterr().err

    def said(self, action: str, name: str) -> str:
        assert main(["workflow", action, name]) == 0
        return self.captured.readouterr().out


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Of a registry in memory."""
    content, texts = MemoryContentStore(FunctionTable()), MemoryTextStore()
    store_catalogue(content, texts, TENANT, ITEMS)
    publisher = build_catalogue_publisher(content, texts)

    def ask(function_id: str, payload: JsonObject) -> JsonObject:
        assert function_id == "manifest::switch"
        answer = publisher.switch(str(payload["id"]), TENANT, enabled=payload["enabled"] is True)
        if isinstance(answer, RegistryRefusal):
            raise CommandFailed(answer.message)
        return answer

    @contextmanager
    def registry(_stack: str, _url: str | None, _say: ShowLine) -> Generator[RegistryCall]:
        yield ask

    monkeypatch.setattr(remote, "connect_registry", registry)
    return Command(capsys, content)


@pytest.mark.parametrize("action", ["enable", "disable"])
@pytest.mark.parametrize(("name", "kind"), [("free.form", "capability"), ("connection:crm", "connection")])
def test_only_workflows_are_switched(command: Command, action: str, name: str, kind: str) -> None:
    assert (
        command.refusal(action, name) == f"signpost: '{name}' is a {kind}; only workflows can be switched off and on.\n"
    )


def test_a_mistyped_workflow_gets_a_suggestion(command: Command) -> None:
    said = command.refusal("disable", "expense_aproval")
    assert said == "signpost: There is no workflow 'expense_aproval'. Did you mean 'expense_approval'?\n"
    assert command.refusal("disable", "zzz") == "signpost: There is no workflow 'zzz'.\n"


def test_a_workflow_that_shares_its_name_with_a_capability_is_switched(command: Command) -> None:
    assert command.said("disable", "both").startswith("both is switched off")
