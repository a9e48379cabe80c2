"""What `signpost policy` prints: the rules of a tenant, and which of them decides."""

import json
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from signpost.calling.lookup import FunctionLists
from signpost.catalogue.cache import CatalogueView
from signpost.cli import main, stack
from signpost.ports import TextStore
from tests.support.guest_gateway import GuestGateway

RULES: Mapping[str, Any] = {
    "default": "deny",
    "vault": {"kind": "deny", "who": ["role:guest"], "what": ["skill:vault.*", "vault://*"]},
    "all": {"kind": "allow", "who": ["*"], "what": ["*"]},
    "no-whispers": {"kind": "mcp_restriction", "what": ["skill:whisper"]},
    "beta": {"kind": "show", "who": ["permission:beta"], "what": ["skill:whisper"]},
}


@dataclass(frozen=True, slots=True)
class MemoryAdapters:
    """The adapters of a stack that `signpost policy` uses."""

    catalogue: CatalogueView
    definitions: TextStore
    function_lists: FunctionLists


type RunPolicy = Callable[..., Sequence[Any]]


@pytest.fixture
def governed() -> GuestGateway:
    return GuestGateway(with_vault=True, policies=RULES)


@pytest.fixture
def run_policy(
    governed: GuestGateway, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> RunPolicy:
    composition, adapters = governed.gateway.composition, governed.gateway.adapters
    read = MemoryAdapters(composition.catalogue, adapters.definitions, composition.function_lists)

    @contextmanager
    def open_memory(_name: str) -> Generator[MemoryAdapters]:
        yield read

    monkeypatch.setattr(stack, "open_adapters", open_memory)

    def asked(*arguments: str, fails: bool = False) -> Sequence[Any]:
        capsys.readouterr()
        assert main(["policy", *arguments]) == int(fails)
        printed = capsys.readouterr()
        return [printed.err] if fails else [json.loads(line) for line in printed.out.splitlines()]

    return asked


def test_rules_are_listed_by_name_after_the_default(run_policy: RunPolicy) -> None:
    default, *rules = run_policy("list")
    assert default == {"default": "deny"}
    assert [rule["id"] for rule in rules] == ["all", "beta", "no-whispers", "vault"]
    assert rules[-1] == {"id": "vault", "kind": "deny", "who": ["role:guest"], "what": ["skill:vault.*", "vault://*"]}


def test_a_tenant_without_rules_allows_everything(run_policy: RunPolicy) -> None:
    assert run_policy("list", "--tenant", "other") == [{"default": "allow"}]


def test_an_explanation_names_the_rule_that_decides_for_a_principal(run_policy: RunPolicy) -> None:
    (guests,) = run_policy("explain", "vault__open", "--role", "guest", "--subject", "agent-7")
    denied = {"allowed": False, "rule": "vault", "reason": "a rule denies it"}
    assert guests == {
        "names": ["vault::open", "vault__open", "skill:vault.open", "capability:vault.open", "vault.open"],
        "for_clients": denied,
        "for_functions": denied,
        "shown_by": None,
    }
    (others,) = run_policy("explain", "vault::open", "--role", "staff")
    assert others["for_clients"] == {"allowed": True, "rule": "all", "reason": "a rule allows it"}


def test_an_explanation_separates_restriction_and_visibility(run_policy: RunPolicy) -> None:
    (found,) = run_policy("explain", "skill:whisper", "--permission", "beta")
    assert (found["for_clients"]["rule"], found["for_functions"]["rule"]) == ("no-whispers", "all")
    assert found["shown_by"] == "beta"


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("workflow:Break In", "all"), ("vault.read", "all"), ("connection:vault_api", "all"),
        ("prompt:open-vault", "all"), ("ask_vault", "all"), ("iii://vault/manual", "all"), ("vault://pages/7", "vault"),
        ("vault://ledger", "vault"),
    ],
)  # fmt: skip
def test_every_item_is_explained_by_each_of_its_names(run_policy: RunPolicy, name: str, rule: str) -> None:
    (found,) = run_policy("explain", name, "--role", "guest")
    assert name in found["names"]
    assert found["for_clients"]["rule"] == rule


@pytest.mark.parametrize("name", ["capability:vault.open", "vault.open", "skill:vault.open", "vault::open"])
def test_a_callable_skill_that_a_rule_denies_is_explained_as_a_capability(
    governed: GuestGateway, run_policy: RunPolicy, name: str
) -> None:
    governed.publish_policies({"closed": {"kind": "deny", "who": ["role:guest"], "what": ["capability:vault.open"]}})
    (found,) = run_policy("explain", name, "--role", "guest")
    assert {"vault::open", "capability:vault.open"} <= {*found["names"]}
    assert (found["for_clients"]["allowed"], found["for_clients"]["rule"]) == (False, "closed")
    assert "error" in governed.call("skill:vault.open", "/mcp/flat")


def test_a_document_is_explained_with_the_functions_that_name_it(run_policy: RunPolicy) -> None:
    document, function = run_policy("explain", "iii://yard/opening", "--role", "guest")
    assert document["names"] == ["iii://yard/opening"]
    assert (function["names"][0], function["for_clients"]["rule"]) == ("vault::open", "vault")


def test_rules_about_an_identity_are_explained(governed: GuestGateway, run_policy: RunPolicy) -> None:
    governed.publish_policies({"ada": {"kind": "deny", "who": ["identity:https://login.test#ada"], "what": ["tour"]}})
    for issuer, is_allowed in (("https://login.test", False), ("https://other.test", True)):
        (found,) = run_policy("explain", "workflow:tour", "--subject", "ada", "--issuer", issuer)
        assert found["for_clients"]["allowed"] is is_allowed


def test_explained_decisions_match_the_lists_of_clients(governed: GuestGateway, run_policy: RunPolicy) -> None:
    for role in ("guest", "staff"):
        governed.log_in_as("agent-7", role)
        (found,) = run_policy("explain", "skill:vault.open", "--subject", "agent-7", "--role", role)
        listed = governed.list_names("tools/list", "tools", "/mcp/flat")
        assert ("skill:vault.open" in listed) is found["for_clients"]["allowed"]


def test_an_unknown_name_is_not_reported_as_denied(run_policy: RunPolicy) -> None:
    (said,) = run_policy("explain", "skill:vault.opne", fails=True)
    assert "has no item named 'skill:vault.opne'. Did you mean skill:vault.open?" in said
    (said,) = run_policy("explain", "skill://vault/manual/SKILL.md", fails=True)
    assert "use the name iii://" in said
