"""The refusals of the authentication matrix through the real door, on stacks deployed for each mode."""

import json
import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.request import urlopen

import jwt
import pytest

from signpost.surfaces.gateway.tool_specs import GATEWAY_TOOLS
from tests.support.laptop import Laptop, MakeKey, Stack
from tests.support.tokens import signed_with_the_public_key, tampered, unsigned

pytestmark = pytest.mark.cloud


@pytest.fixture(scope="module")
def tokens_only(laptop: Laptop) -> Stack:
    return laptop.deploy("tokens-only", AuthMode="jwt")


@pytest.fixture(scope="module")
def keys_only(laptop: Laptop) -> Stack:
    return laptop.deploy("keys-only", AuthMode="api-key", OidcIssuer="")


@pytest.fixture(scope="module")
def unconfigured(laptop: Laptop) -> Stack:
    return laptop.deploy("unconfigured", AuthMode="none", OidcIssuer="")


def token(laptop: Laptop, stack: Stack, **changes: Any) -> str:
    return laptop.issuer.access_token("reader", stack.url, **changes)


def claims_of(credential: str) -> dict[str, Any]:
    return jwt.decode(credential, options={"verify_signature": False})


def published_key(laptop: Laptop) -> dict[str, Any]:
    with urlopen(f"{laptop.issuer.url}/jwks") as response:  # noqa: S310 - the issuer of this run
        return json.load(response)["keys"][0]


type Make = Callable[[Laptop, Stack], str]

REFUSED: Mapping[str, Make] = {
    "malformed": lambda laptop, stack: token(laptop, stack) + "x.y",
    "expired": lambda laptop, stack: token(laptop, stack, exp=int(time.time()) - 60),
    "not yet valid": lambda laptop, stack: token(laptop, stack, nbf=int(time.time()) + 600),
    "wrong issuer": lambda laptop, stack: token(laptop, stack, iss="http://127.0.0.1:1"),
    "wrong audience": lambda laptop, stack: token(laptop, stack, aud="http://localhost:1/mcp"),
    "algorithm none": lambda laptop, stack: unsigned(token(laptop, stack)),
    "HS256 with the public key": lambda laptop, stack: signed_with_the_public_key(
        token(laptop, stack), published_key(laptop)
    ),
    "unknown kid": lambda laptop, stack: laptop.issuer.sign(claims_of(token(laptop, stack)), {"kid": "nobody's"}),
    "tampered": lambda laptop, stack: tampered(token(laptop, stack)),
    "ID token": lambda laptop, stack: token(laptop, stack, nonce="n"),
    "unknown API key": lambda _laptop, _stack: "sp_default_0a1b2c3d4e5f_" + "0" * 64,
}


def test_a_token_and_a_key_are_let_in(laptop: Laptop, both: Stack, make_key: MakeKey) -> None:
    assert both.ask(token(laptop, both)).status == 200
    assert both.ask(make_key(both)).status == 200


@pytest.mark.invariant(1)
@pytest.mark.parametrize("name", REFUSED)
def test_a_refused_credential_gets_401_and_learns_where_to_go(laptop: Laptop, both: Stack, name: str) -> None:
    answer = both.ask(REFUSED[name](laptop, both))
    assert answer.status == 401
    assert answer.headers["content-type"] == "application/json"
    metadata = both.url.replace("/mcp", "/.well-known/oauth-protected-resource/mcp")
    assert f'resource_metadata="{metadata}"' in answer.headers["www-authenticate"]
    assert "tools" not in answer.text


def test_without_credentials_the_answer_is_401(both: Stack) -> None:
    assert both.ask(None).status == 401


def test_a_token_in_the_query_is_not_read(laptop: Laptop, both: Stack) -> None:
    answer = both.send("POST", f"/mcp?access_token={token(laptop, both)}", body="{}")
    assert answer.status == 401


def test_a_foreign_origin_gets_403(laptop: Laptop, both: Stack) -> None:
    headers = {"authorization": f"Bearer {token(laptop, both)}", "origin": "https://evil.test"}
    assert both.send("POST", "/mcp", body="{}", headers=headers).status == 403


def test_the_metadata_leads_to_the_issuer(laptop: Laptop, both: Stack) -> None:
    document = both.send("GET", "/.well-known/oauth-protected-resource/mcp").json
    assert document["resource"] == both.url
    assert document["authorization_servers"] == [laptop.issuer.url]


def test_unknown_kids_make_the_deployment_ask_the_issuer_once_at_most(laptop: Laptop, both: Stack) -> None:
    assert both.ask(token(laptop, both)).status == 200
    asked = laptop.issuer.jwks_requests
    for number in range(5):
        forged = laptop.issuer.sign(claims_of(token(laptop, both)), {"kid": f"made-up-{number}"})
        assert both.ask(forged).status == 401
    assert laptop.issuer.jwks_requests - asked <= 1


def test_a_key_is_refused_where_only_tokens_are_accepted(laptop: Laptop, tokens_only: Stack, make_key: MakeKey) -> None:
    answer = tokens_only.ask(make_key(tokens_only))
    assert (answer.status, answer.json["error"]["data"]["reason"]) == (401, "not_accepted")
    assert tokens_only.ask(token(laptop, tokens_only)).status == 200


def test_a_token_is_refused_where_only_keys_are_accepted(laptop: Laptop, keys_only: Stack, make_key: MakeKey) -> None:
    answer = keys_only.ask(token(laptop, keys_only))
    assert (answer.status, answer.json["error"]["data"]["reason"]) == (401, "not_accepted")
    assert keys_only.ask(make_key(keys_only)).status == 200
    assert keys_only.send("GET", "/.well-known/oauth-protected-resource").status == 404


@pytest.mark.invariant(2)
def test_with_nothing_configured_only_health_is_served(unconfigured: Stack, make_key: MakeKey) -> None:
    answer = unconfigured.ask(make_key(unconfigured))
    assert (answer.status, answer.json["error"]["data"]["reason"]) == (503, "not_configured")
    assert unconfigured.send("GET", "/health").json["configured"] is False


def test_local_mode_admits_the_loopback_address_and_checks_what_is_presented(laptop: Laptop, stage: Stack) -> None:
    assert stage.ask(None).status == 200
    assert stage.ask("wrong").status == 401
    assert stage.ask(token(laptop, stage)).status == 200


def test_the_fixtures_of_the_test_stage_are_seen_by_their_tenant_only(laptop: Laptop, stage: Stack) -> None:
    anonymous = {tool["name"] for tool in stage.ask(None).json["result"]["tools"]}
    assert "test_simple_text" in anonymous
    somebody = stage.ask(token(laptop, stage)).json["result"]["tools"]
    assert [tool["name"] for tool in somebody] == [tool.name for tool in GATEWAY_TOOLS]
