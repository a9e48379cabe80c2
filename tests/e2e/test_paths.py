"""Paths and methods at the door of a deployed stack: endpoints, slashes, preflights and challenges."""

import json

import pytest

from signpost.settings import ENDPOINTS
from tests.support.laptop import CHALLENGE, MakeKey, Stack
from tests.support.memory_gateway import build_modern_request

pytestmark = pytest.mark.cloud

PROTECTED = (*ENDPOINTS, "/metrics")
DOCUMENTS = (
    "/health",
    "/.well-known/oauth-protected-resource",
    *(f"/.well-known/oauth-protected-resource{endpoint}" for endpoint in ENDPOINTS),
)


@pytest.mark.invariant(111)
@pytest.mark.parametrize("authorization", [{}, {"authorization": "Bearer sk_wrong"}], ids=["none", "wrong"])
@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize("path", [*PROTECTED, *(f"{path}/" for path in PROTECTED)])
def test_a_request_without_a_valid_credential_is_challenged_whatever_its_method(
    product_stack: Stack, path: str, method: str, authorization: dict[str, str]
) -> None:
    answer = product_stack.send(method, path, headers=authorization)
    assert answer.status == 401, answer.text
    assert "/.well-known/oauth-protected-resource/mcp" in answer.headers[CHALLENGE]


@pytest.mark.parametrize("path", ENDPOINTS)
def test_an_endpoint_with_a_slash_at_its_end_lists_its_tools(
    product_stack: Stack, make_key: MakeKey, path: str
) -> None:
    answer = product_stack.request(make_key(product_stack), path=f"{path}/")
    assert answer.status == 200, answer.text
    assert answer.json["result"]["tools"]


@pytest.mark.parametrize("path", DOCUMENTS)
def test_a_document_with_a_slash_at_its_end_is_the_same(product_stack: Stack, path: str) -> None:
    answer = product_stack.send("GET", f"{path}/")
    assert answer.status == 200, answer.text
    assert answer.text == product_stack.send("GET", path).text


@pytest.mark.parametrize("path", ["/", "/sse", "/mcp//", "/mcp/other", "/favicon.ico"])
def test_a_path_without_an_endpoint_names_the_endpoints(product_stack: Stack, path: str) -> None:
    answer = product_stack.send("GET", path)
    assert answer.status == 404
    assert product_stack.url in answer.json["error"]["message"]


@pytest.mark.parametrize("path", [*ENDPOINTS, "/.well-known/oauth-protected-resource/mcp"])
def test_a_preflight_of_a_page_is_granted(product_stack: Stack, path: str) -> None:
    page = product_stack.url.removesuffix("/mcp")
    asked = {"access-control-request-method": "POST", "access-control-request-headers": "authorization,content-type"}
    answer = product_stack.send("OPTIONS", path, headers={"origin": page, **asked})
    assert answer.status == 204, answer.text
    assert answer.headers["access-control-allow-origin"] == page
    assert "POST" in answer.headers["access-control-allow-methods"]
    assert "Authorization" in answer.headers["access-control-allow-headers"]


def test_a_preflight_of_a_foreign_page_is_refused(product_stack: Stack) -> None:
    answer = product_stack.send("OPTIONS", "/mcp", headers={"origin": "https://evil.test"})
    assert answer.status == 403
    assert "access-control-allow-origin" not in answer.headers


def test_a_body_in_base64_is_read_as_its_bytes(product_stack: Stack, make_key: MakeKey) -> None:
    """API Gateway encodes a body whose content type is missing."""
    message, headers = build_modern_request("tools/list", {})
    sent = {name: value for name, value in headers.items() if name.lower() != "content-type"}
    credential = {"authorization": f"Bearer {make_key(product_stack)}"}
    answer = product_stack.send("POST", "/mcp", body=json.dumps(message), headers={**sent, **credential})
    assert answer.status == 200, answer.text
