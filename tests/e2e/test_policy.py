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
from tests.support.commands import Run
from tests.support.counted import counted_gateway
from tests.support.executors import Executors
from tests.support.governed import IN_THE_VAULT, IN_THE_YARD, Asked, everything, manifest
from tests.support.memory_gateway import MODERN

pytestmark = pytest.mark.cloud

GATEWAY = "calling"
A_RUN = re.compile(r"wf_[A-Za-z0-9]+")
DENIED: JsonObject = {
    "no-vault": {
        "kind": "deny",
        "who": ["role:guest"],
        "what": [
            "skill:vault.open", "vault__whisper", "vault__build", "vault://*", "ask_vault", "prompt:open-vault",
            "iii://vault/*", "workflow:Break In", "vault.read", "connection:vault_api",
        ],
    },
}  # fmt: skip


class Governor:
    """Publishes with a tenant's own credential, and asks with a guest's."""

    def __init__(self, executors: Executors, signpost: Run, folder: Path, name: str) -> None:
        self._executors = executors
        self._signpost = signpost
        self._folder = folder / name
        self._folder.mkdir()
        self.tenant = f"{name}-{time.time_ns()}"
        laptop, stack = executors.laptop, executors.gateway
        self._author = laptop.key(stack, self.tenant, "author", permissions=[ADMINISTRATION])
        self.guest = laptop.key(stack, self.tenant, "guest", roles=["guest"])
        self.staff = laptop.key(stack, self.tenant, "staff", roles=["staff"])
        executors.set(self.tenant, shipped_content=0)

    def has(self, *, with_vault: bool, policies: JsonObject) -> None:
        hosted = [*IN_THE_YARD, *(IN_THE_VAULT if with_vault else ())]
        self._executors.place("stub", hosted, self.tenant)
        documents = {"yard/guide": "greeting", **({"vault/manual": "open-vault"} if with_vault else {})}
        prompts: list[JsonObject] = [
            {"name": name, "description": "Asks.", "function_id": "yard::echo", "arguments": []}
            for name in documents.values()
        ]
        skills = {name: f"# {name}\n\nHow to.\n" for name in documents}
        self.publish({**manifest(with_vault=with_vault), "skills": skills, "prompts": prompts, "policies": policies})

    def publish(self, said: Any) -> None:
        path = self._folder / "manifest.json"
        path.write_text(json.dumps({"version": 1, **said}))
        done = self._signpost("publish", str(path), "--stack", GATEWAY, SIGNPOST_AUTHORIZATION=self._author)
        assert done.returncode == 0, done.stderr
        time.sleep(REVALIDATION_INTERVAL)

    def answer(self, asked: Asked, key: str) -> str:
        answer = self._executors.gateway.ask(key, asked.method, asked.params, asked.path)
        return f"{answer.status} {A_RUN.sub('wf_', answer.text)}"


@pytest.mark.invariant(70)
def test_what_is_denied_is_not_there_in_a_deployed_stack(executors: Executors, signpost: Run, tmp_path: Path) -> None:
    denied, without = (Governor(executors, signpost, tmp_path, name) for name in ("denied", "without"))
    denied.has(with_vault=True, policies=DENIED)
    without.has(with_vault=False, policies={})
    for asked in everything(MODERN):
        assert denied.answer(asked, denied.guest) == without.answer(asked, without.guest), asked
    listed = denied.answer(Asked("/mcp/flat", "tools/list", {}), denied.staff)
    assert "skill:vault.open" in listed
    assert "workflow:Break In" in listed
    explained = signpost(
        "policy", "explain", "vault::open", "--role", "guest", "--tenant", denied.tenant, "--stack", GATEWAY
    )
    assert json.loads(explained.stdout)["for_clients"]["rule"] == "no-vault"


def test_a_start_under_rules_is_one_read_and_one_transaction(
    executors: Executors, signpost: Run, tmp_path: Path
) -> None:
    governor = Governor(executors, signpost, tmp_path, "counted")
    governor.has(with_vault=True, policies=DENIED)
    start: JsonObject = {"name": "workflow.start", "arguments": {"definitionId": "tour"}}
    search: JsonObject = {"name": "gateway.search", "arguments": {"query": "tour"}}
    with counted_gateway(executors.laptop, executors.gateway) as gateway:
        gateway.ask(governor.guest, "tools/call", start)
        assert gateway.ask(governor.guest, "tools/call", start)[1] == {"BatchGetItem": 1, "TransactWriteItems": 1}
        assert gateway.ask(governor.guest, "tools/call", search)[1] == {}
        gateway.clock.turn(REVALIDATION_INTERVAL)
        _, calls = gateway.ask(governor.guest, "tools/call", search)
        assert calls == {"GetItem": 1, "BatchGetItem": 1}  # the key's row, and what has changed
