"""Who stands behind an invocation of the registry function, and what a credential may do there."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import count
from typing import Any, cast

import pytest

from signpost.adapters.alarm import alarm
from signpost.adapters.memory import FixedKeySet, MemoryApiKeys, MemoryIssuerKeySets
from signpost.adapters.memory.deployment_lists import MemoryDeploymentLists
from signpost.catalogue.publishing.publish_functions import PublishFunctions
from signpost.catalogue.publishing.publisher import Publisher
from signpost.cli.keys import new_key, stored_key
from signpost.entrypoints.registry_dispatch import RegistryDispatcher
from signpost.entrypoints.registry_invoke import RegistryHandler
from signpost.errors import Unavailable
from signpost.identity.api_keys import ApiKeyAuthenticator
from signpost.identity.invocation import InvocationAuthenticator
from signpost.identity.permissions import ADMINISTRATION
from signpost.model import Json, JsonObject, Principal
from signpost.settings import identity_settings, problem_with
from signpost.telemetry import Telemetry
from signpost.testing.embedded_gateway import ENVIRONMENT
from signpost.wiring.identity import build_authenticator
from signpost.wiring.registry import RegistryFunction
from tests.support.catalogues import build_catalogue_publisher
from tests.support.registry import CountingTimestamps, MemoryRegistry
from tests.support.tokens import Signer, remove_signature, tamper_subject

OPERATORS = "operators"
_numbers = count()
"""A logger keeps the output it was made for: each door has a name of its own."""
HANDLED: JsonObject = {"name": "greet", "description": "Greets.", "function_id": "demo::greet"}
CHANGES: Mapping[str, JsonObject] = {
    "skills::register": {"id": "a", "skill": "# A"},
    "skills::unregister": {"id": "a"},
    "prompts::register": HANDLED,
    "prompts::unregister": {"name": "greet"},
    "manifest::bodies": {"skills": [{"id": "a", "skill": "# A"}]},
    "manifest::plan": {"skills": []},
    "manifest::publish": {"skills": [{"id": "a", "skill": "# A"}]},
}
READS: Mapping[str, JsonObject] = {
    "skills::list": {},
    "skills::resources-list": {},
    "skills::resources-read": {"uri": "iii://skills"},
    "skills::resources-templates": {},
    "skills::fetch_skill": {"uri": "iii://skills"},
    "skill::fetch": {"uri": "iii://skills"},
    "prompts::list": {},
    "prompts::mcp-list": {},
    "prompts::mcp-get": {"name": "greet"},
}


class RegistryStage:
    """The door of a registry function whose operator has a tenant of their own."""

    def __init__(self, **environment: str) -> None:
        self.registry = MemoryRegistry()
        self.clock = self.registry.clock
        self.signer = Signer()
        self.api_keys = MemoryApiKeys()
        self.source = FixedKeySet({self.signer.kid: self.signer.jwk})
        identity = identity_settings({**ENVIRONMENT, **environment})
        publisher = Publisher(
            content=self.registry.content,
            catalogues=build_catalogue_publisher(self.registry.content),
            bodies=self.registry.bodies,
            timestamps=CountingTimestamps(),
        )
        self.manifests = PublishFunctions(publisher)
        self.door = RegistryHandler(
            functions=RegistryDispatcher(self.registry.functions, [self.manifests]),
            identify=InvocationAuthenticator(
                operator=Principal("operator", OPERATORS, "signpost:operator", permissions=frozenset({ADMINISTRATION})),
                authenticator=build_authenticator(
                    identity,
                    api_keys=ApiKeyAuthenticator(keys=self.api_keys, clock=self.clock),
                    issuer_key_sets=MemoryIssuerKeySets(),
                    key_set_source=self.source,
                    deployment_lists=MemoryDeploymentLists,
                    clock=self.clock,
                    anonymous=None,
                ),
                problem=problem_with(identity),
            ),
            telemetry=Telemetry(f"door-{next(_numbers)}"),
            clock=self.clock,
            alarm=alarm,
        )

    def key(self, tenant: str, *permissions: str, **changes: Any) -> str:
        key = new_key(tenant)
        stored = stored_key(key, "a test", created_at=self.clock.now())
        assert self.api_keys.add(replace(stored, permissions=frozenset(permissions), **changes))
        return f"Bearer {key}"

    def token(self, **claims: Any) -> str:
        return f"Bearer {self.signer.make_token(self.clock.now(), **claims)}"

    def asks(self, function_id: str, payload: Json, *authorization: Json) -> Any:
        credential = {"authorization": authorization[0]} if authorization else {}
        event = {"function_id": function_id, "payload": payload, **credential}
        return json.loads(json.dumps(self.door.handle(event, 60_000, "request")))

    def ids(self, tenant: str) -> list[str]:
        return [skill.id for skill in self.registry.content.skills(tenant)]


@pytest.fixture
def stage() -> RegistryStage:
    return RegistryStage()


def test_an_invocation_without_a_credential_is_the_operator(stage: RegistryStage) -> None:
    stage.asks("skills::register", {"id": "a", "skill": "# A"})
    assert stage.ids(OPERATORS) == ["a"]


@pytest.mark.parametrize("kind", ["key", "token"])
def test_a_credential_selects_the_tenant(stage: RegistryStage, kind: str) -> None:
    def admin(tenant: str) -> str:
        return stage.key(tenant, ADMINISTRATION) if kind == "key" else stage.token(tenant=tenant, scope=ADMINISTRATION)

    for tenant in ("acme", "umbrella"):
        answer = stage.asks("skills::register", {"id": tenant, "skill": f"# {tenant}"}, admin(tenant))
        assert answer["id"] == tenant
        stage.asks("manifest::publish", {"skills": [{"id": "both", "skill": f"# {tenant}"}]}, admin(tenant))
    assert (stage.ids("acme"), stage.ids("umbrella"), stage.ids(OPERATORS)) == (
        ["acme", "both"],
        ["both", "umbrella"],
        [],
    )
    read = stage.asks("skills::resources-read", {"uri": "iii://both"}, admin("umbrella"))
    assert read["contents"][0]["text"] == "# umbrella"
    foreign = stage.asks("skills::resources-read", {"uri": "iii://acme"}, admin("umbrella"))
    assert foreign["error"]["code"] == "not_found"


def test_a_tenant_in_the_payload_is_ignored(stage: RegistryStage) -> None:
    payload: JsonObject = {"id": "a", "skill": "# A", "tenant": "umbrella", "authorization": "Bearer x"}
    stage.asks("skills::register", payload, stage.key("acme", ADMINISTRATION))
    assert (stage.ids("acme"), stage.ids("umbrella")) == (["a"], [])


def test_a_section_is_called_as_its_reader(stage: RegistryStage) -> None:
    stage.registry.host("demo::guide", "# Guide", tenant="acme")
    read = stage.asks("skills::resources-read", {"uri": "iii://fn/demo/guide"}, stage.token(tenant="acme", sub="ada"))
    assert read["contents"][0]["text"] == "# Guide"
    (request,) = stage.registry.executors.requests
    assert (request.principal.subject, request.principal.tenant) == ("ada", "acme")


@pytest.mark.invariant(40)
@pytest.mark.parametrize("function_id", CHANGES)
def test_a_function_that_changes_content_needs_the_admin_permission(stage: RegistryStage, function_id: str) -> None:
    for credential in (stage.key("acme"), stage.key("acme", "read"), stage.token(tenant="acme", scope="signpost.adm")):
        refused = stage.asks(function_id, CHANGES[function_id], credential)["error"]
        assert (refused["code"], ADMINISTRATION in refused["message"]) == ("forbidden", True)
    assert "apply" not in stage.registry.content.called_methods
    assert stage.registry.bodies.kept_digests == []
    assert "error" not in stage.asks(function_id, CHANGES[function_id], stage.key("acme", ADMINISTRATION))


@pytest.mark.parametrize("function_id", READS)
def test_a_function_that_reads_needs_no_permission(stage: RegistryStage, function_id: str) -> None:
    answer = stage.asks(function_id, READS[function_id], stage.key("acme"))
    assert "error" not in answer or answer["error"]["code"] == "not_found"
    assert "apply" not in stage.registry.content.called_methods


def test_every_function_is_listed_as_reading_or_changing(stage: RegistryStage) -> None:
    assert {*stage.registry.functions.ids, *stage.manifests.ids} >= {*CHANGES, *READS}
    assert set(stage.registry.functions.ids) == {name for name in (*CHANGES, *READS) if not name.startswith("manifest")}


type Make = Callable[[RegistryStage], Json]

BAD: Mapping[str, Make] = {
    "an unknown key": lambda _: "Bearer sp_operators_0a1b2c3d4e5f_" + "0" * 64,
    "the secret of another key": lambda door: door.key("acme")[:-64] + "1" * 64,
    "a revoked key": lambda door: door.key("acme", ADMINISTRATION, revoked_at=1.0),
    "an expired key": lambda door: door.key("acme", ADMINISTRATION, expires_at=door.clock.now() - 1),
    "the key of one tenant as another's": lambda door: door.key("acme", ADMINISTRATION).replace("_acme_", "_umbrella_"),
    "a token of another issuer": lambda door: door.token(iss="https://other.test", scope=ADMINISTRATION),
    "a token for another audience": lambda door: door.token(aud="https://other.test/mcp", scope=ADMINISTRATION),
    "an expired token": lambda door: door.token(exp=door.clock.now() - 60, scope=ADMINISTRATION),
    "a token with another subject": lambda door: f"Bearer {tamper_subject(door.token()[7:])}",
    "an unsigned token": lambda door: f"Bearer {remove_signature(door.token(scope=ADMINISTRATION)[7:])}",
    "a token of no tenant": lambda door: door.token(tenant="No Tenant", scope=ADMINISTRATION),
    "another scheme": lambda _: "Basic b3BlcmF0b3I6eA==",
    "no scheme": lambda door: door.key("acme", ADMINISTRATION)[7:],
    "two tokens": lambda door: f"{door.key('acme', ADMINISTRATION)} {door.token()[7:]}",
    "an empty text": lambda _: "",
    "a blank": lambda _: "  ",
    "the scheme alone": lambda _: "Bearer",
    "null": lambda _: None,
    "false": lambda _: False,
    "a list": lambda door: [door.key("acme", ADMINISTRATION)],
    "an object": lambda _: {},
}


@pytest.mark.invariant(40)
@pytest.mark.parametrize("mode", ["both", "local"])
@pytest.mark.parametrize("name", BAD)
def test_an_invalid_credential_is_refused_and_never_the_operator(name: str, mode: str) -> None:
    door = RegistryStage(AUTH_MODE=mode, AWS_ENDPOINT_URL="http://127.0.0.1:1")
    credential = BAD[name](door)
    for function_id in ("skills::register", "skills::list", "manifest::publish"):
        answer = door.asks(function_id, CHANGES.get(function_id, {}), credential)
        assert "error" in answer, function_id
        assert answer["error"]["code"] == "unauthorized"
        assert answer["error"]["message"].endswith(".")
        assert len(str(credential)) < 12 or str(credential)[7:] not in json.dumps(answer)
    assert door.registry.content.called_methods == []


@pytest.mark.parametrize(
    ("mode", "key", "token"), [("api-key", None, "not_accepted"), ("jwt", "not_accepted", None), ("both", None, None)]
)
def test_the_auth_mode_of_the_deployment_applies_to_invocations(mode: str, key: str | None, token: str | None) -> None:
    door = RegistryStage(AUTH_MODE=mode)
    for credential, reason in ((door.key("acme"), key), (door.token(tenant="acme"), token)):
        answer = door.asks("skills::list", {}, credential)
        assert answer.get("error", {}).get("data", {}).get("reason") == reason


def test_without_configured_authentication_every_credential_is_refused() -> None:
    door = RegistryStage(AUTH_MODE="none")
    refused = door.asks("skills::list", {}, door.key("acme", ADMINISTRATION))["error"]
    assert (refused["code"], "AuthMode" in refused["message"]) == ("unauthorized", True)
    assert "error" not in door.asks("skills::list", {})


def test_an_unreachable_issuer_is_unavailable_and_not_unauthorized(
    stage: RegistryStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreachable(_: str) -> Any:
        raise Unavailable("The issuer does not answer.")

    monkeypatch.setattr(stage.source, "fetch", unreachable)
    assert stage.asks("skills::list", {}, stage.token())["error"]["code"] == "unavailable"


def test_a_credential_beside_a_response_url_is_checked(stage: RegistryStage) -> None:
    function = RegistryFunction(stack_resource=cast("Any", None), handler=stage.door, nested=cast("Any", None))
    event = {"function_id": "skills::list", "ResponseURL": "https://x.test", "authorization": "Bearer x"}
    answer: Any = function.handle(event, 60_000, "request")
    assert answer["error"]["code"] == "unauthorized"


def test_the_log_names_the_principal_and_never_the_credential(capsys: pytest.CaptureFixture[str]) -> None:
    door = RegistryStage()
    good, bad = door.key("acme", ADMINISTRATION), door.key("acme")[:-64] + "1" * 64
    door.asks("skills::register", {"id": "a", "skill": "# A"}, good)
    door.asks("skills::register", {"id": "a", "skill": "# A"}, bad)
    printed = capsys.readouterr().out
    assert '"tenant":"acme"' in printed
    assert f'"principal":"api-key:{good.split("_")[2]}"' in printed
    for credential in (good, bad):
        assert credential.rpartition("_")[2] not in printed


def test_an_answer_too_large_for_an_invocation_is_refused(stage: RegistryStage) -> None:
    """Each quotation mark is two bytes of JSON: the text may be fetched, and its answer could not be carried."""
    body = f"# Q\n\n{'"' * 250_000}"
    for number in range(15):
        stage.asks("skills::register", {"id": f"q{number}", "skill": body})
    uris: list[Json] = [f"iii://q{number}" for number in range(15)]
    refused = stage.asks("skill::fetch", {"uris": uris})["error"]
    assert refused["code"] == "too_much"
    assert "at most 5900000" in refused["message"]
    assert len(stage.asks("skill::fetch", {"uris": uris[:10]})) > 2_500_000
