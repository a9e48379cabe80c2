"""Rules that are published to a deployed stack: what they leave to whom over HTTP, and what asking them costs."""

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest

from signpost.identity.permissions import ADMINISTRATION
from signpost.list_revisions import REVALIDATION_INTERVAL
from signpost.model import JsonObject
from tests.support.commands import ProcessRunner
from tests.support.counted_gateway import counted_gateway
from tests.support.executors import Executors
from tests.support.guest_gateway import (
    VAULT_FUNCTIONS,
    YARD_FUNCTIONS,
    GuestRequest,
    build_manifest,
    list_guest_requests,
)
from tests.support.memory_gateway import MODERN

pytestmark = pytest.mark.cloud

GATEWAY = "calling"
RUN_ID_PATTERN = re.compile(r"wf_[A-Za-z0-9]+")
DENYING_POLICIES: JsonObject = {
    "no-vault": {
        "kind": "deny",
        "who": ["role:guest"],
        "what": [
            "skill:vault.open", "vault__whisper", "vault__build", "vault://*", "ask_vault", "prompt:open-vault",
            "iii://vault/*", "workflow:Break In", "vault.read", "connection:vault_api",
        ],
    },
}  # fmt: skip


class PolicyTenant:
    """Publishes with a tenant's own credential, and asks with a guest's."""

    def __init__(self, executors: Executors, signpost: ProcessRunner, folder: Path, name: str) -> None:
        self._executors = executors
        self._signpost = signpost
        self._folder = folder / name
        self._folder.mkdir()
        self.tenant = f"{name}-{time.time_ns()}"
        laptop, stack = executors.laptop, executors.gateway
        self._author = laptop.make_key(stack, self.tenant, "author", permissions=[ADMINISTRATION])
        self.guest = laptop.make_key(stack, self.tenant, "guest", roles=["guest"])
        self.staff = laptop.make_key(stack, self.tenant, "staff", roles=["staff"])
        executors.set_settings(self.tenant, shipped_content=0)

    def host_and_publish(self, *, with_vault: bool, policies: JsonObject) -> None:
        hosted = [*YARD_FUNCTIONS, *(VAULT_FUNCTIONS if with_vault else ())]
        self._executors.place("stub", hosted, self.tenant)
        documents = {"yard/guide": "greeting", **({"vault/manual": "open-vault"} if with_vault else {})}
        prompts: list[JsonObject] = [
            {"name": name, "description": "Asks.", "function_id": "yard::echo", "arguments": []}
            for name in documents.values()
        ]
        skills = {name: f"# {name}\n\nHow to.\n" for name in documents}
        self.publish(
            {**build_manifest(with_vault=with_vault), "skills": skills, "prompts": prompts, "policies": policies}
        )

    def publish(self, said: Any) -> None:
        path = self._folder / "manifest.json"
        path.write_text(json.dumps({"version": 1, **said}))
        done = self._signpost("publish", str(path), "--stack", GATEWAY, SIGNPOST_AUTHORIZATION=self._author)
        assert done.returncode == 0, done.stderr
        time.sleep(REVALIDATION_INTERVAL)

    def request_as(self, asked: GuestRequest, key: str) -> str:
        answer = self._executors.gateway.request(key, asked.method, asked.params, asked.path)
        return f"{answer.status} {RUN_ID_PATTERN.sub('wf_', answer.text.replace(self.tenant, 'the tenant'))}"


@pytest.mark.invariant(70)
def test_a_denied_item_is_answered_like_a_missing_one(
    executors: Executors, signpost: ProcessRunner, tmp_path: Path
) -> None:
    denied, without = (PolicyTenant(executors, signpost, tmp_path, name) for name in ("denied", "without"))
    denied.host_and_publish(with_vault=True, policies=DENYING_POLICIES)
    without.host_and_publish(with_vault=False, policies={})
    for asked in list_guest_requests(MODERN):
        assert denied.request_as(asked, denied.guest) == without.request_as(asked, without.guest), asked
    listed = denied.request_as(GuestRequest("/mcp/flat", "tools/list", {}), denied.staff)
    assert "skill:vault.open" in listed
    assert "workflow:Break In" in listed
    explained = signpost(
        "policy", "explain", "vault::open", "--role", "guest", "--tenant", denied.tenant, "--stack", GATEWAY
    )
    assert json.loads(explained.stdout)["for_clients"]["rule"] == "no-vault"


def test_a_start_under_policy_rules_costs_one_read_and_one_transaction(
    executors: Executors, signpost: ProcessRunner, tmp_path: Path
) -> None:
    governor = PolicyTenant(executors, signpost, tmp_path, "counted")
    governor.host_and_publish(with_vault=True, policies=DENYING_POLICIES)
    start: JsonObject = {"name": "workflow.start", "arguments": {"definitionId": "tour"}}
    search: JsonObject = {"name": "gateway.search", "arguments": {"query": "tour"}}
    with counted_gateway(executors.laptop, executors.gateway) as gateway:
        gateway.request(governor.guest, "tools/call", start)
        assert gateway.request(governor.guest, "tools/call", start)[1] == {"BatchGetItem": 1, "TransactWriteItems": 1}
        gateway.request(governor.guest, "tools/call", search)  # reads the lists of documents and prompts once
        assert gateway.request(governor.guest, "tools/call", search)[1] == {}
        gateway.clock.advance(REVALIDATION_INTERVAL)
        _, calls = gateway.request(governor.guest, "tools/call", search)
        assert calls == {"GetItem": 1, "BatchGetItem": 1}  # the key's row, and what has changed
