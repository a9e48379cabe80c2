"""Credentials on the registry function of a deployed stack: whose content, what may be done, and what the log keeps."""

import json
from pathlib import Path
from typing import Any

import pytest

from signpost.identity.permissions import ADMINISTRATION
from tests.support.commands import ProcessRunner
from tests.support.laptop import Laptop, Stack
from tests.support.waiting import wait_for

pytestmark = pytest.mark.cloud

STACK = "credentials"
TENANTS = ("acme", "umbrella")
SHIPPED = ("core", "signpost")
"""Documents that every tenant sees."""


@pytest.fixture(scope="module")
def registry_stack(laptop: Laptop) -> Stack:
    return laptop.deploy(STACK, AuthMode="both")


def invoke_registry(laptop: Laptop, registry: Stack, function_id: str, payload: Any, authorization: Any) -> Any:
    event = {"function_id": function_id, "payload": payload, "authorization": authorization}
    name = registry.deployed.outputs["RegistryFunctionName"]
    answer = laptop.client("lambda").invoke(FunctionName=name, Payload=json.dumps(event).encode())
    assert "FunctionError" not in answer, answer["Payload"].read()
    return json.loads(answer["Payload"].read())


def create_key(signpost: ProcessRunner, tenant: str, *permissions: str) -> str:
    granted = [word for permission in permissions for word in ("--permission", permission)]
    created = signpost("keys", "create", "author", "--tenant", tenant, "--stack", STACK, *granted)
    assert created.returncode == 0, created.stderr
    return created.stdout.strip()


def list_documents(laptop: Laptop, registry: Stack, credential: str) -> list[str]:
    answer = invoke_registry(laptop, registry, "skills::list", {}, f"Bearer {credential}")
    return [skill["id"] for skill in answer["skills"] if not skill["id"].startswith(SHIPPED)]


@pytest.mark.invariant(40)
def test_a_key_or_token_selects_the_tenant_of_the_content(
    laptop: Laptop, registry_stack: Stack, signpost: ProcessRunner
) -> None:
    key = create_key(signpost, TENANTS[0], ADMINISTRATION)
    token = laptop.issuer.access_token("operator", registry_stack.url, tenant=TENANTS[1], scope=ADMINISTRATION)
    for tenant, credential in zip(TENANTS, (key, token), strict=True):
        stored = invoke_registry(
            laptop, registry_stack, "skills::register", {"id": tenant, "skill": "# T"}, f"Bearer {credential}"
        )
        assert stored.get("id") == tenant, stored
    assert list_documents(laptop, registry_stack, key) == [TENANTS[0]]
    assert list_documents(laptop, registry_stack, token) == [TENANTS[1]]
    uri = {"uri": f"iii://{TENANTS[0]}"}
    assert registry_stack.request(key, "resources/read", uri).json["result"]["contents"][0]["text"] == "# T"
    assert "error" in registry_stack.request(token, "resources/read", uri).json


def test_a_credential_without_the_permission_changes_nothing(
    laptop: Laptop, registry_stack: Stack, signpost: ProcessRunner
) -> None:
    for credential in (
        create_key(signpost, "readers"),
        laptop.issuer.access_token("reader", registry_stack.url, tenant="readers", scope=""),
    ):
        for function_id, payload in (
            ("skills::register", {"id": "a", "skill": "# A"}),
            ("manifest::publish", {"skills": [{"id": "a", "skill": "# A"}]}),
        ):
            refused = invoke_registry(laptop, registry_stack, function_id, payload, f"Bearer {credential}")
            assert refused["error"]["code"] == "forbidden"
        assert list_documents(laptop, registry_stack, credential) == []


def test_a_bad_credential_is_refused_and_not_logged(
    laptop: Laptop, registry_stack: Stack, signpost: ProcessRunner
) -> None:
    good = create_key(signpost, "logged", ADMINISTRATION)
    wrong = good[:-64] + "1" * 64
    forged = laptop.issuer.access_token("operator", registry_stack.url, scope=ADMINISTRATION)[:-8] + "AAAAAAAA"
    for credential in (wrong, forged):
        refused = invoke_registry(
            laptop, registry_stack, "skills::register", {"id": "a", "skill": "# A"}, f"Bearer {credential}"
        )
        assert refused["error"]["code"] == "unauthorized"
    assert "id" in invoke_registry(
        laptop, registry_stack, "skills::register", {"id": "a", "skill": "# A"}, f"Bearer {good}"
    )
    principal = f"api-key:{good.split('_')[2]}"
    log = wait_for_log(laptop, principal)
    for credential in (good, wrong, forged):
        assert credential[-40:] not in log


def wait_for_log(laptop: Laptop, text: str) -> str:
    """The log of the registry function, once it has this."""
    logs = laptop.client("logs")

    def read_log() -> str:
        pages = logs.get_paginator("filter_log_events").paginate(logGroupName=f"/signpost/{STACK}/registry")
        return "\n".join(event["message"] for page in pages for event in page["events"])

    return wait_for(f"{text} in the log", read_log, lambda log: text in log)


def test_an_author_publishes_for_their_tenant(
    laptop: Laptop, registry_stack: Stack, signpost: ProcessRunner, tmp_path: Path
) -> None:
    (tmp_path / "skills").mkdir()
    (tmp_path / "skills/manual.md").write_text("# Manual\n")
    author, stranger = create_key(signpost, "authors", ADMINISTRATION), create_key(signpost, "authors")
    token = laptop.issuer.access_token("operator", registry_stack.url, tenant="tokens", scope=ADMINISTRATION)
    for credential in (author, f"Bearer {token}"):
        done = signpost("publish", str(tmp_path), "--stack", STACK, SIGNPOST_AUTHORIZATION=credential)
        assert (done.returncode, done.stdout.splitlines()[0]) == (0, "+ manual"), done.stderr
        assert "using the credential in SIGNPOST_AUTHORIZATION" in done.stderr
    assert list_documents(laptop, registry_stack, author) == list_documents(laptop, registry_stack, token) == ["manual"]
    for credential, says in ((stranger, ADMINISTRATION), (f"{author}0", "invalid")):
        refused = signpost("publish", str(tmp_path), "--stack", STACK, SIGNPOST_AUTHORIZATION=credential)
        assert (refused.returncode, refused.stdout) == (1, "")
        assert says in refused.stderr
        assert credential not in refused.stderr
