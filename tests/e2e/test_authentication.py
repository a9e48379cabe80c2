"""The refusals of the authentication matrix through the real door, on stacks deployed for each mode."""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.request import urlopen

import jwt
import pytest

from signpost.surfaces.gateway.tool_specs import GATEWAY_TOOLS
from tests.support.laptop import CHALLENGE, Laptop, MakeKey, Stack
from tests.support.memory_gateway import build_modern_request
from tests.support.tokens import remove_signature, sign_with_public_key, tamper_subject

pytestmark = pytest.mark.cloud


@pytest.fixture(scope="module")
def token_stack(laptop: Laptop) -> Stack:
    return laptop.deploy("tokens-only", AuthMode="jwt")


@pytest.fixture(scope="module")
def key_stack(laptop: Laptop) -> Stack:
    return laptop.deploy("keys-only", AuthMode="api-key", OidcIssuer="")


@pytest.fixture(scope="module")
def unconfigured_stack(laptop: Laptop) -> Stack:
    return laptop.deploy("unconfigured", AuthMode="none", OidcIssuer="")


def make_token(laptop: Laptop, stack: Stack, **changes: Any) -> str:
    return laptop.issuer.access_token("reader", stack.url, **changes)


def read_claims(credential: str) -> dict[str, Any]:
    return jwt.decode(credential, options={"verify_signature": False})


def fetch_published_key(laptop: Laptop) -> dict[str, Any]:
    with urlopen(f"{laptop.issuer.url}/jwks") as response:  # noqa: S310 - the issuer of this run
        return json.load(response)["keys"][0]


type MakeCredential = Callable[[Laptop, Stack], str]

REFUSED: Mapping[str, MakeCredential] = {
    "malformed": lambda laptop, stack: make_token(laptop, stack) + "x.y",
    "expired": lambda laptop, stack: make_token(laptop, stack, exp=int(time.time()) - 60),
    "not yet valid": lambda laptop, stack: make_token(laptop, stack, nbf=int(time.time()) + 600),
    "wrong issuer": lambda laptop, stack: make_token(laptop, stack, iss="http://127.0.0.1:1"),
    "wrong audience": lambda laptop, stack: make_token(laptop, stack, aud="http://localhost:1/mcp"),
    "algorithm none": lambda laptop, stack: remove_signature(make_token(laptop, stack)),
    "HS256 with the public key": lambda laptop, stack: sign_with_public_key(
        make_token(laptop, stack), fetch_published_key(laptop)
    ),
    "unknown kid": lambda laptop, stack: laptop.issuer.sign(
        read_claims(make_token(laptop, stack)), {"kid": "nobody's"}
    ),
    "tampered": lambda laptop, stack: tamper_subject(make_token(laptop, stack)),
    "ID token": lambda laptop, stack: make_token(laptop, stack, nonce="n"),
    "unknown API key": lambda _laptop, _stack: "sp_default_0a1b2c3d4e5f_" + "0" * 64,
}


def test_a_token_and_an_api_key_are_accepted(laptop: Laptop, product_stack: Stack, make_key: MakeKey) -> None:
    assert product_stack.request(make_token(laptop, product_stack)).status == 200
    assert product_stack.request(make_key(product_stack)).status == 200


@pytest.mark.invariant(1)
@pytest.mark.parametrize("name", REFUSED)
def test_a_refused_credential_gets_401_with_the_metadata_url(laptop: Laptop, product_stack: Stack, name: str) -> None:
    answer = product_stack.request(REFUSED[name](laptop, product_stack))
    assert answer.status == 401
    assert answer.headers["content-type"] == "application/json"
    metadata = product_stack.url.replace("/mcp", "/.well-known/oauth-protected-resource/mcp")
    assert f'resource_metadata="{metadata}"' in answer.headers[CHALLENGE]
    assert "tools" not in answer.text


def test_a_request_without_credentials_gets_401(product_stack: Stack) -> None:
    assert product_stack.request(None).status == 401


def test_a_token_in_the_query_is_ignored(laptop: Laptop, product_stack: Stack) -> None:
    answer = product_stack.send("POST", f"/mcp?access_token={make_token(laptop, product_stack)}", body="{}")
    assert answer.status == 401


def test_a_foreign_origin_gets_403(laptop: Laptop, product_stack: Stack) -> None:
    headers = {"authorization": f"Bearer {make_token(laptop, product_stack)}", "origin": "https://evil.test"}
    assert product_stack.send("POST", "/mcp", body="{}", headers=headers).status == 403


def test_the_resource_metadata_names_the_issuer(laptop: Laptop, product_stack: Stack) -> None:
    document = product_stack.send("GET", "/.well-known/oauth-protected-resource/mcp").json
    assert document["resource"] == product_stack.url
    assert document["authorization_servers"] == [laptop.issuer.url]


def test_unknown_key_ids_cause_at_most_one_request_to_the_issuer(laptop: Laptop, product_stack: Stack) -> None:
    assert product_stack.request(make_token(laptop, product_stack)).status == 200
    asked = laptop.issuer.jwks_requests
    for number in range(5):
        forged = laptop.issuer.sign(read_claims(make_token(laptop, product_stack)), {"kid": f"made-up-{number}"})
        assert product_stack.request(forged).status == 401
    assert laptop.issuer.jwks_requests - asked <= 1


def test_a_key_is_refused_where_only_tokens_are_accepted(laptop: Laptop, token_stack: Stack, make_key: MakeKey) -> None:
    answer = token_stack.request(make_key(token_stack))
    assert (answer.status, answer.json["error"]["data"]["reason"]) == (401, "not_accepted")
    assert token_stack.request(make_token(laptop, token_stack)).status == 200


def test_a_token_is_refused_where_only_keys_are_accepted(laptop: Laptop, key_stack: Stack, make_key: MakeKey) -> None:
    answer = key_stack.request(make_token(laptop, key_stack))
    assert (answer.status, answer.json["error"]["data"]["reason"]) == (401, "not_accepted")
    assert key_stack.request(make_key(key_stack)).status == 200
    assert key_stack.send("GET", "/.well-known/oauth-protected-resource").status == 404


@pytest.mark.invariant(2)
def test_an_unconfigured_stack_serves_only_health(unconfigured_stack: Stack, make_key: MakeKey) -> None:
    answer = unconfigured_stack.request(make_key(unconfigured_stack))
    assert (answer.status, answer.json["error"]["data"]["reason"]) == (503, "not_configured")
    assert unconfigured_stack.send("GET", "/health").json["configured"] is False


def test_local_mode_admits_the_loopback_address_and_checks_presented_credentials(laptop: Laptop, stage: Stack) -> None:
    assert stage.request(None).status == 200
    assert stage.request("wrong").status == 401
    assert stage.request(make_token(laptop, stage)).status == 200


@pytest.mark.usefixtures("fixture_executors")
def test_the_stage_fixtures_are_visible_to_their_tenant_only(laptop: Laptop, stage: Stack) -> None:
    def list_names(credential: str | None, path: str) -> Sequence[str]:
        return [tool["name"] for tool in stage.request(credential, path=path).json["result"]["tools"]]

    assert "test_simple_text" in list_names(None, "/mcp/functions")
    somebody = make_token(laptop, stage)
    assert "test_simple_text" not in list_names(somebody, "/mcp/functions")
    for credential in (None, somebody):
        assert list_names(credential, "/mcp") == [tool.name for tool in GATEWAY_TOOLS]


def test_a_body_that_is_no_utf8_is_refused(product_stack: Stack, make_key: MakeKey) -> None:
    message, headers = build_modern_request("tools/call", {"name": "gateway.search", "arguments": {"query": "@"}})
    for written, status in ((b"tea", 200), ("\ufffd".encode(), 200), (b"\xff", 400)):
        answer = product_stack.send(
            "POST",
            "/mcp",
            body=json.dumps(message).encode().replace(b"@", written),
            headers={**headers, "authorization": f"Bearer {make_key(product_stack)}"},
        )
        assert answer.status == status, answer.text
