"""Rows and objects that an earlier release wrote, in the tables of a stack of this release: nothing of them is lost.

`make prove` upgrades a whole stack (`test_upgrade.py`) and compares its rows with these.
"""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from signpost.cli.doctor.readers.partial_reads import PartialReads
from signpost.cli.doctor.readers.rollback import read_rollback_facts
from signpost.cli.doctor.rules.rollback import judge_rollback
from signpost.cli.stack import open_adapters
from tests.support.laptop import Laptop, Stack
from tests.support.stored_rows import StoredTenant, put_tenant, read_file
from tests.support.tenant_client import TenantClient
from tests.support.waiting import wait_for

pytestmark = pytest.mark.cloud


@dataclass(frozen=True, slots=True)
class InheritedTenant:
    """A tenant of a stack of this release, with everything that the earlier release had stored."""

    laptop: Laptop
    stack: Stack
    name: str
    stored: StoredTenant

    @property
    def client(self) -> TenantClient:
        return TenantClient(self.stack, self.stored.key)

    @property
    def runs(self) -> Mapping[str, str]:
        return self.stored.runs

    def make_person_token(self, subject: str, person: str = "approver") -> str:
        return self.laptop.issuer.access_token(person, self.stack.url, tenant=self.name, sub=subject)

    def read(self, uri: str) -> str:
        (content,) = self.client.request("resources/read", uri=uri)["contents"]
        return content["text"]


@pytest.fixture(scope="module")
def inherited(laptop: Laptop, product_stack: Stack) -> InheritedTenant:
    name = f"t-{uuid.uuid4().hex[:12]}"
    return InheritedTenant(laptop, product_stack, name, put_tenant(laptop, product_stack, read_file(), name))


@pytest.mark.invariant(113)
def test_documents_prompts_and_workflows_of_an_earlier_release_are_served(inherited: InheritedTenant) -> None:
    assert inherited.read("iii://handbook").startswith("# Handbook\n\nRead before the first day.")
    assert inherited.read("iii://handbook/mail").count("Ä long line.") == 400
    assert inherited.read("skill://office/references/FORMS.md") == "Form 7, Form 8.\n"
    assert [prompt["name"] for prompt in inherited.client.request("prompts/list")["prompts"]] == ["hello"]
    listed = {item["id"] for item in inherited.client.call("gateway.home")["items"]}
    assert sorted(listed - inherited.stack.list_skill_names(inherited.stored.key)) == [
        "bundle", "checks", "fire", "lease", "notes.add", "order", "purchase", "review"
    ]  # fmt: skip


@pytest.mark.invariant(113)
def test_a_run_that_waits_for_a_second_person_goes_on(inherited: InheritedTenant) -> None:
    assert inherited.client.get(inherited.runs["purchase"])["approval"]["approvedBy"] == ["ann"]
    assert (
        inherited.client.submit(inherited.runs["purchase"], "approve", inherited.make_person_token("bob"))["state"]
        == "bought"
    )


@pytest.mark.invariant(113)
def test_a_run_that_waits_for_another_run_goes_on(inherited: InheritedTenant) -> None:
    assert inherited.client.get(inherited.runs["bundle"])["pending"]["workflowId"] == inherited.runs["child"]
    assert inherited.client.submit(inherited.runs["child"], "finish")["state"] == "done"
    wait_for(
        "the parent to go on",
        lambda: inherited.client.get(inherited.runs["bundle"])["state"],
        lambda state: state == "shipped",
    )


@pytest.mark.invariant(113)
def test_a_step_in_doubt_is_resolved(inherited: InheritedTenant) -> None:
    operator = inherited.make_person_token("operator", "operator")
    shown = inherited.client.get(inherited.runs["fire"], operator)
    assert shown["inDoubt"]["transition"] == "burn"
    (link,) = [link for link in shown["links"] if link["args"].get("transition") == "$resolve"]
    arguments = {**link["args"]["arguments"], "happened": True}
    assert (
        inherited.client.call("workflow.submit", operator, **{**link["args"], "arguments": arguments})["state"]
        == "burnt"
    )


@pytest.mark.invariant(113)
def test_a_deadline_of_an_earlier_release_passes(inherited: InheritedTenant) -> None:
    wait_for(
        "the deadline to be noticed",
        lambda: inherited.client.get(inherited.runs["lease"])["state"],
        lambda state: state == "lapsed",
    )


@pytest.mark.invariant(113)
def test_a_session_of_capabilities_goes_on(inherited: InheritedTenant) -> None:
    assert inherited.client.submit(inherited.runs["session"], "notes.add", note="x")["state"] == "ready"


@pytest.mark.invariant(114)
def test_a_tenant_can_go_back_until_a_key_with_an_owner_is_stored(
    inherited: InheritedTenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in inherited.laptop.emulator.environment().items():
        monkeypatch.setenv(name, value)

    def list_obstacles() -> list[str]:
        with open_adapters(inherited.stack.deployed.name) as adapters:
            found = judge_rollback(
                read_rollback_facts(adapters, [inherited.name], PartialReads()), inherited.stack.deployed.name
            )
        return [obstacle.code for obstacle in found if inherited.name in obstacle.subject]

    assert list_obstacles() == []
    inherited.laptop.make_key(inherited.stack, inherited.name, owner="ann")
    assert list_obstacles() == ["owned_key"]
