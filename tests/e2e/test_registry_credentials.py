"""Credentials on the registry function of a deployed stack: whose content, what may be done, and what the log keeps."""

import json
from pathlib import Path
from typing import Any

import pytest

from signpost.identity.permissions import ADMINISTRATION
from tests.support.commands import Run
from tests.support.laptop import Laptop, Stack
from tests.support.waiting import wait_for

pytestmark = pytest.mark.cloud

STACK = "credentials"
TENANTS = ("acme", "umbrella")
SHIPPED = ("core", "signpost")
"""Documents that every tenant sees."""


@pytest.fixture(scope="module")
def registry(laptop: Laptop) -> Stack:
    return laptop.deploy(STACK, AuthMode="both")


def invoke(laptop: Laptop, registry: Stack, function_id: str, payload: Any, authorization: Any) -> Any:
    event = {"function_id": function_id, "payload": payload, "authorization": authorization}
    name = registry.deployed.outputs["RegistryFunctionName"]
    answer = laptop.client("lambda").invoke(FunctionName=name, Payload=json.dumps(event).encode())
    assert "FunctionError" not in answer, answer["Payload"].read()
    return json.loads(answer["Payload"].read())


def key_of(signpost: Run, tenant: str, *permissions: str) -> str:
    granted = [word for permission in permissions for word in ("--permission", permission)]
    created = signpost("keys", "create", "author", "--tenant", tenant, "--stack", STACK, *granted)
    assert created.returncode == 0, created.stderr
    return created.stdout.strip()


def listed(laptop: Laptop, registry: Stack, credential: str) -> list[str]:
    answer = invoke(laptop, registry, "skills::list", {}, f"Bearer {credential}")
    return [skill["id"] for skill in answer["skills"] if not skill["id"].startswith(SHIPPED)]


@pytest.mark.invariant(40)
def test_keys_and_tokens_say_whose_content_it_is(laptop: Laptop, registry: Stack, signpost: Run) -> None:
    key = key_of(signpost, TENANTS[0], ADMINISTRATION)
    token = laptop.issuer.access_token("operator", registry.url, tenant=TENANTS[1], scope=ADMINISTRATION)
    for tenant, credential in zip(TENANTS, (key, token), strict=True):
        stored = invoke(laptop, registry, "skills::register", {"id": tenant, "skill": "# T"}, f"Bearer {credential}")
        assert stored.get("id") == tenant, stored
    assert listed(laptop, registry, key) == [TENANTS[0]]
    assert listed(laptop, registry, token) == [TENANTS[1]]
    uri = {"uri": f"iii://{TENANTS[0]}"}
    assert registry.ask(key, "resources/read", uri).json["result"]["contents"][0]["text"] == "# T"
    assert "error" in registry.ask(token, "resources/read", uri).json


def test_a_credential_without_the_permission_reads_and_changes_nothing(
    laptop: Laptop, registry: Stack, signpost: Run
) -> None:
    for credential in (
        key_of(signpost, "readers"),
        laptop.issuer.access_token("reader", registry.url, tenant="readers", scope=""),
    ):
        for function_id, payload in (
            ("skills::register", {"id": "a", "skill": "# A"}),
            ("manifest::publish", {"skills": [{"id": "a", "skill": "# A"}]}),
        ):
            refused = invoke(laptop, registry, function_id, payload, f"Bearer {credential}")
            assert refused["error"]["code"] == "forbidden"
        assert listed(laptop, registry, credential) == []


def test_a_bad_credential_is_refused_and_in_no_log(laptop: Laptop, registry: Stack, signpost: Run) -> None:
    good = key_of(signpost, "logged", ADMINISTRATION)
    wrong = good[:-64] + "1" * 64
    forged = laptop.issuer.access_token("operator", registry.url, scope=ADMINISTRATION)[:-8] + "AAAAAAAA"
    for credential in (wrong, forged):
        refused = invoke(laptop, registry, "skills::register", {"id": "a", "skill": "# A"}, f"Bearer {credential}")
        assert refused["error"]["code"] == "unauthorized"
    assert "id" in invoke(laptop, registry, "skills::register", {"id": "a", "skill": "# A"}, f"Bearer {good}")
    principal = f"api-key:{good.split('_')[2]}"
    log = log_with(laptop, principal)
    for credential in (good, wrong, forged):
        assert credential[-40:] not in log


def log_with(laptop: Laptop, text: str) -> str:
    """The log of the registry function, once it has this."""
    logs = laptop.client("logs")

    def read_log() -> str:
        pages = logs.get_paginator("filter_log_events").paginate(logGroupName=f"/signpost/{STACK}/registry")
        return "\n".join(event["message"] for page in pages for event in page["events"])

    return wait_for(f"{text} in the log", read_log, lambda log: text in log)


def test_an_author_publishes_for_their_tenant(laptop: Laptop, registry: Stack, signpost: Run, tmp_path: Path) -> None:
    (tmp_path / "skills").mkdir()
    (tmp_path / "skills/manual.md").write_text("# Manual\n")
    author, stranger = key_of(signpost, "authors", ADMINISTRATION), key_of(signpost, "authors")
    token = laptop.issuer.access_token("operator", registry.url, tenant="tokens", scope=ADMINISTRATION)
    for credential in (author, f"Bearer {token}"):
        done = signpost("publish", str(tmp_path), "--stack", STACK, SIGNPOST_AUTHORIZATION=credential)
        assert (done.returncode, done.stdout.splitlines()[0]) == (0, "+ manual"), done.stderr
        assert "using the credential in SIGNPOST_AUTHORIZATION" in done.stderr
    assert listed(laptop, registry, author) == listed(laptop, registry, token) == ["manual"]
    for credential, says in ((stranger, ADMINISTRATION), (f"{author}0", "invalid")):
        refused = signpost("publish", str(tmp_path), "--stack", STACK, SIGNPOST_AUTHORIZATION=credential)
        assert (refused.returncode, refused.stdout) == (1, "")
        assert says in refused.stderr
        assert credential not in refused.stderr
