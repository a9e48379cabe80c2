"""Who is let in, in every mode. The scenarios S56 to S63 stand here under their numbers."""

import json
from collections.abc import Callable, Mapping

import pytest

from signpost.adapters.memory import MemoryApiKeys
from signpost.identity.api_keys import CACHE_SIZE, ApiKeyAuthenticator
from signpost.identity.credentials import ApiKey
from signpost.identity.denial import Denial
from signpost.mcp.surface import Surface
from tests.support.memory_gateway import CallRecorder, GatewayAnswer, ManualClock, MemoryGateway, build_modern_request
from tests.support.tokens import Signer, append_claims, remove_signature, sign_with_public_key, tamper_subject

METADATA = "https://gateway.test/.well-known/oauth-protected-resource/mcp"


class GatewayClient:
    """A gateway, and the witness of whatever gets past its door."""

    def __init__(self, **environment: str) -> None:
        self.witness = CallRecorder()
        self.gateway = MemoryGateway(Surface("test", "", tools=(self.witness,)), **environment)

    def knock(
        self,
        authorization: str | None,
        *,
        source_ip: str = "198.51.100.7",
        query: Mapping[str, str] | None = None,
    ) -> GatewayAnswer:
        message, headers = build_modern_request("tools/list", {})
        if authorization is not None:
            headers["authorization"] = authorization
        return self.gateway.send(body=json.dumps(message), headers=headers, source_ip=source_ip, query=query)

    def subject_of(self, authorization: str | None, *, source_ip: str = "198.51.100.7") -> str:
        answer = self.knock(authorization, source_ip=source_ip)
        assert answer.status == 200, answer.text
        return self.witness.calls[-1].principal.subject


def repeat_claim(client: GatewayClient, claim: str) -> str:
    return append_claims(client.gateway.signer, client.gateway.make_token(), claim)


REFUSED_TOKENS: Mapping[str, tuple[Callable[[GatewayClient], str], str]] = {
    "garbage": (lambda _: "x.y.z", "invalid"),
    "expired": (lambda door: door.gateway.make_token(exp=door.gateway.clock.now() - 10), "expired"),
    "not yet valid": (lambda door: door.gateway.make_token(nbf=door.gateway.clock.now() + 11), "invalid"),
    "wrong issuer": (lambda door: door.gateway.make_token(iss="https://other.test"), "invalid"),
    "wrong audience": (lambda door: door.gateway.make_token(aud="https://other.test/mcp"), "invalid"),
    "no audience": (lambda door: door.gateway.make_token(aud=None), "invalid"),
    "no expiry": (lambda door: door.gateway.make_token(exp=None), "invalid"),
    "expiry of another kind": (lambda door: door.gateway.make_token(exp="9999999999"), "invalid"),
    "expiry that is true": (lambda door: door.gateway.make_token(exp=True), "invalid"),
    "expiry without end": (lambda door: door.gateway.make_token(exp=float("inf")), "invalid"),
    "expiry that is no number": (lambda door: door.gateway.make_token(exp=float("nan")), "invalid"),
    "beginning that is no number": (lambda door: door.gateway.make_token(nbf=float("nan")), "invalid"),
    "no subject": (lambda door: door.gateway.make_token(sub=None), "invalid"),
    "algorithm none": (lambda door: remove_signature(door.gateway.make_token()), "invalid"),
    "HS256 with the public key": (
        lambda door: sign_with_public_key(door.gateway.make_token(), door.gateway.signer.jwk),
        "invalid",
    ),
    "unknown kid": (lambda door: Signer("second").make_token(door.gateway.clock.now()), "invalid"),
    "kid of another key": (
        lambda door: Signer("second").make_token(door.gateway.clock.now(), headers={"kid": "first"}),
        "invalid",
    ),
    "tampered": (lambda door: tamper_subject(door.gateway.make_token()), "invalid"),
    "ID token by nonce": (lambda door: door.gateway.make_token(nonce="n"), "not_accepted"),
    "ID token by use": (lambda door: door.gateway.make_token(token_use="id"), "not_accepted"),
    "of another type": (lambda door: door.gateway.make_token(headers={"typ": "logout+jwt"}), "invalid"),
    "empty subject": (lambda door: door.gateway.make_token(sub=""), "invalid"),
    "blank subject": (lambda door: door.gateway.make_token(sub="  "), "invalid"),
    "subject of 256 characters": (lambda door: door.gateway.make_token(sub="x" * 256), "invalid"),
    "no tenant": (lambda door: door.gateway.make_token(tenant=None), "not_a_tenant"),
    "issued in the future": (lambda door: door.gateway.make_token(iat=door.gateway.clock.now() + 11), "invalid"),
    "issue that is no number": (lambda door: door.gateway.make_token(iat="yesterday"), "invalid"),
    "valid for more than a day": (
        lambda door: door.gateway.make_token(exp=door.gateway.clock.now() + 86_401),
        "not_accepted",
    ),
    "valid for more than a day, without its issue": (
        lambda door: door.gateway.make_token(iat=None, exp=door.gateway.clock.now() + 86_401),
        "not_accepted",
    ),
    "bound to a key of its client": (lambda door: door.gateway.make_token(cnf={"jkt": "x"}), "not_accepted"),
    "two subjects": (lambda door: repeat_claim(door, '"sub": "operator"'), "invalid"),
    "two tenants": (lambda door: repeat_claim(door, '"tenant": "acme"'), "invalid"),
    "tenant that is none": (lambda door: door.gateway.make_token(tenant="../other"), "not_a_tenant"),
}


@pytest.fixture
def client() -> GatewayClient:
    return GatewayClient()


def test_s56_the_right_token_passes(client: GatewayClient) -> None:
    assert client.subject_of(f"Bearer {client.gateway.make_token(sub='somebody')}") == "somebody"


def test_a_subject_may_have_255_characters_of_any_script(client: GatewayClient) -> None:
    assert client.subject_of(f"Bearer {client.gateway.make_token(sub='\u044f' * 255)}") == "\u044f" * 255


def test_the_refusal_of_a_long_subject_names_the_limit(client: GatewayClient) -> None:
    answer = client.knock(f"Bearer {client.gateway.make_token(sub='x' * 300)}")
    expected = "The claim `sub` of the token has 300 characters; at most 255 are accepted."
    assert answer.json["error"]["message"] == expected


def test_s56_the_right_key_passes(client: GatewayClient) -> None:
    key = client.gateway.make_key()
    assert client.subject_of(f"Bearer {key}") == f"api-key:{key.key_id}"


def test_s57_a_request_without_credentials_is_refused_as_missing(client: GatewayClient) -> None:
    answer = client.knock(None)
    assert answer.status == 401
    assert "missing" in answer.json["error"]["message"]
    assert answer.headers["www-authenticate"] == f'Bearer resource_metadata="{METADATA}"'
    assert client.witness.calls == []


@pytest.mark.invariant(1)
@pytest.mark.parametrize("name", REFUSED_TOKENS)
def test_s58_an_invalid_token_is_refused_before_a_tool_runs(client: GatewayClient, name: str) -> None:
    make, reason = REFUSED_TOKENS[name]
    answer = client.knock(f"Bearer {make(client)}")
    assert answer.status == 401
    assert answer.json["error"]["data"]["reason"] == reason
    assert 'error="invalid_token"' in answer.headers["www-authenticate"]
    assert client.witness.calls == []


@pytest.mark.parametrize(
    "header", ["Basic dXNlcjpwYXNz", "Bearer", "Bearer ", "Bearer a b", "Token abc", "bearerabc", "Negotiate x"]
)
def test_s59_another_scheme_or_a_malformed_header_is_refused(client: GatewayClient, header: str) -> None:
    answer = client.knock(header)
    assert answer.status == 401
    assert 'error="invalid_request"' in answer.headers["www-authenticate"]
    assert client.witness.calls == []


def test_s60_a_gateway_without_configured_authentication_serves_no_request() -> None:
    door = GatewayClient(AUTH_MODE="none")
    answer = door.knock("Bearer anything")
    assert (answer.status, answer.json["error"]["data"]["reason"]) == (503, "not_configured")
    assert door.witness.calls == []


@pytest.mark.parametrize("header", [None, "Basic x", "Bearer wrong"])
def test_s61_every_refusal_is_json(client: GatewayClient, header: str | None) -> None:
    answer = client.knock(header)
    assert answer.headers["content-type"] == "application/json"
    assert answer.json["jsonrpc"] == "2.0"


@pytest.mark.invariant(4)
def test_s62_a_revoked_key_is_refused_two_seconds_later(client: GatewayClient) -> None:
    key = client.gateway.make_key()
    client.subject_of(f"Bearer {key}")
    client.gateway.adapters.api_keys.revoke("default", key.key_id, client.gateway.clock.now())
    client.gateway.clock.advance(2)
    answer = client.knock(f"Bearer {key}")
    assert answer.status == 401, answer.text
    assert answer.json["error"]["data"]["reason"] == "revoked"
    assert len(client.witness.calls) == 1


def test_s63_a_foreign_origin_is_refused(client: GatewayClient) -> None:
    message, headers = build_modern_request("tools/list", {})
    headers |= {"origin": "https://evil.test", "authorization": f"Bearer {client.gateway.make_token()}"}
    answer = client.gateway.send(body=json.dumps(message), headers=headers)
    assert answer.status == 403
    assert client.witness.calls == []


def test_the_authorization_scheme_is_case_insensitive(client: GatewayClient) -> None:
    assert client.subject_of(f"bearer {client.gateway.make_token()}") == "somebody"


def test_a_token_in_the_query_is_not_read(client: GatewayClient) -> None:
    answer = client.knock(None, query={"access_token": client.gateway.make_token()})
    assert answer.status == 401
    assert client.witness.calls == []


def test_a_key_with_a_wrong_secret_is_refused(client: GatewayClient) -> None:
    presented = str(client.gateway.make_key())
    answer = client.knock(f"Bearer {presented[:-1]}{'0' if presented[-1] != '0' else '1'}")
    assert (answer.status, answer.json["error"]["data"]["reason"]) == (401, "invalid")


def test_an_expired_key_is_refused(client: GatewayClient) -> None:
    key = client.gateway.make_key(lasting=60)
    client.gateway.clock.advance(60)
    answer = client.knock(f"Bearer {key}")
    assert (answer.status, answer.json["error"]["data"]["reason"]) == (401, "expired")
    assert client.witness.calls == []


KEY = f"sp_default_{'0' * 12}_{'0' * 64}"


@pytest.mark.parametrize(
    "key",
    ["sp_", "sp_default", "sp_default_x", "sp__a_b", f"{KEY}0", f"{KEY}_0", KEY.upper(), KEY.replace("default", "Ä"),
     f"sp_default_{'0' * 3000}_{'0' * 64}", KEY.replace("default", "../other"), f"{KEY}é"],
)  # fmt: skip
def test_a_malformed_key_is_refused_without_a_lookup(key: str) -> None:
    looked_up: list[str] = []

    class Watched(MemoryApiKeys):
        def find(self, tenant: str, key_id: str) -> ApiKey | None:
            looked_up.append(key_id)
            return super().find(tenant, key_id)

    clock = ManualClock()
    keys = ApiKeyAuthenticator(keys=Watched(), clock=clock)
    assert isinstance(keys.authenticate(key), Denial)
    assert looked_up == []
    assert isinstance(keys.authenticate(KEY), Denial)
    assert looked_up == ["0" * 12]


def test_a_key_lookup_is_cached_for_two_seconds_unless_the_clock_steps_back() -> None:
    reads: list[str] = []

    class Watched(MemoryApiKeys):
        def find(self, tenant: str, key_id: str) -> ApiKey | None:
            reads.append(tenant)
            return super().find(tenant, key_id)

    clock = ManualClock()
    keys = ApiKeyAuthenticator(keys=Watched(), clock=clock)
    for seconds, expected in ((0, 1), (1.9, 1), (0.1, 2), (-60, 3)):
        clock.advance(seconds)
        keys.authenticate(KEY)
        assert len(reads) == expected


def test_the_cache_of_key_lookups_is_bounded() -> None:
    keys = ApiKeyAuthenticator(keys=MemoryApiKeys(), clock=ManualClock())
    for number in range(CACHE_SIZE + 10):
        keys.authenticate(f"sp_default_{number:012x}_{'0' * 64}")
    assert keys.cached_count == CACHE_SIZE


def test_a_key_is_refused_where_only_tokens_are_accepted() -> None:
    door = GatewayClient(AUTH_MODE="jwt")
    answer = door.knock(f"Bearer {door.gateway.make_key()}")
    assert (answer.status, answer.json["error"]["data"]["reason"]) == (401, "not_accepted")
    assert door.witness.calls == []


def test_a_token_is_refused_where_only_keys_are_accepted() -> None:
    door = GatewayClient(AUTH_MODE="api-key")
    answer = door.knock(f"Bearer {door.gateway.make_token()}")
    assert (answer.status, answer.json["error"]["data"]["reason"]) == (401, "not_accepted")
    assert "resource_metadata" not in answer.headers["www-authenticate"]
    assert door.witness.calls == []


LAPTOP = {"AUTH_MODE": "local", "AWS_ENDPOINT_URL": "http://127.0.0.1:4566"}


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "127.9.9.9"])
def test_local_mode_admits_an_anonymous_caller_from_the_loopback_address(address: str) -> None:
    assert GatewayClient(**LAPTOP).subject_of(None, source_ip=address) == "anonymous"


@pytest.mark.invariant(3)
@pytest.mark.parametrize("address", ["10.0.0.1", "198.51.100.7", "::ffff:10.0.0.1", "localhost", ""])
def test_local_mode_refuses_other_addresses_without_credentials(address: str) -> None:
    door = GatewayClient(**LAPTOP)
    assert door.knock(None, source_ip=address).status == 401
    assert door.witness.calls == []


def test_local_mode_still_checks_a_credential_that_is_presented() -> None:
    door = GatewayClient(**LAPTOP)
    assert door.knock("Bearer wrong", source_ip="127.0.0.1").status == 401
    assert door.witness.calls == []


@pytest.mark.invariant(5)
def test_a_key_is_never_human(client: GatewayClient) -> None:
    client.subject_of(f"Bearer {client.gateway.make_key()}")
    assert client.witness.calls[-1].principal.human is False


@pytest.mark.invariant(5)
@pytest.mark.parametrize(
    ("claims", "human"),
    [
        ({"amr": ["pwd"]}, True),
        ({"amr": "pwd"}, True),
        ({"amr": True}, True),
        ({}, False),
        ({"amr": []}, False),
        ({"amr": "false"}, False),
        ({"amr": 1}, False),
        ({"amr": {"a": 1}}, False),
    ],
)
def test_only_the_claim_of_an_interactive_login_marks_a_principal_as_human(
    client: GatewayClient, claims: dict[str, object], human: bool
) -> None:
    client.subject_of(f"Bearer {client.gateway.make_token(**claims)}")
    assert client.witness.calls[-1].principal.human is human


@pytest.mark.parametrize(
    ("rule", "claims", "human"),
    [
        ("idtyp=user", {"idtyp": "user"}, True),
        ("idtyp=user", {"idtyp": "app"}, False),
        ("amr=mfa", {"amr": ["pwd", "mfa"]}, True),
        ("amr=mfa", {"amr": ["pwd"]}, False),
    ],
)
def test_the_human_claim_can_require_a_value(rule: str, claims: dict[str, object], human: bool) -> None:
    door = GatewayClient(HUMAN_CLAIM=rule)
    door.subject_of(f"Bearer {door.gateway.make_token(**claims)}")
    assert door.witness.calls[-1].principal.human is human


@pytest.mark.invariant(77)
def test_a_token_without_the_tenant_claim_is_refused() -> None:
    client = GatewayClient(TENANT_CLAIM="org")
    refused = client.knock(f"Bearer {client.gateway.make_token(tenant='acme')}")
    assert (refused.status, refused.json["error"]["data"]["reason"]) == (401, "not_a_tenant")
    assert "no claim `org`" in refused.json["error"]["message"]
    assert client.witness.calls == []


@pytest.mark.invariant(77)
def test_without_a_tenant_claim_every_token_belongs_to_the_default_tenant() -> None:
    client = GatewayClient(TENANT_CLAIM="", DEFAULT_TENANT="only")
    for claims in ({"tenant": None}, {"tenant": "acme"}):
        client.subject_of(f"Bearer {client.gateway.make_token(**claims)}")
        assert client.witness.calls[-1].principal.tenant == "only"


def test_the_operator_sets_the_longest_lifetime_of_a_token() -> None:
    client = GatewayClient(MAX_TOKEN_LIFETIME_SECONDS="600")
    now = client.gateway.clock.now()
    assert client.subject_of(f"Bearer {client.gateway.make_token(exp=now + 600)}") == "somebody"
    refused = client.knock(f"Bearer {client.gateway.make_token(exp=now + 601)}")
    assert (refused.status, refused.json["error"]["data"]["reason"]) == (401, "not_accepted")
    assert "at most 600 seconds" in refused.json["error"]["message"]


def test_the_claims_set_tenant_roles_and_permissions(client: GatewayClient) -> None:
    token = client.gateway.make_token(tenant="acme", roles=["author"], scope="read signpost.admin")
    client.subject_of(f"Bearer {token}")
    principal = client.witness.calls[-1].principal
    assert (principal.tenant, principal.roles) == ("acme", frozenset({"author"}))
    assert principal.permissions == frozenset({"read", "signpost.admin"})
