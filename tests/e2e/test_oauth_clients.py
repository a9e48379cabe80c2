"""OAuth clients log in at a deployed stack although API Gateway renames WWW-Authenticate, and the function of the
CloudFront example restores the header."""

import asyncio
import contextlib
import json
import re
import subprocess
import threading
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest
from mcp import Client
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken

from local.emulator import PROJECT
from local.intrinsics import parse_template
from signpost.settings import ENDPOINTS
from signpost.surfaces.gateway.tool_specs import GATEWAY_TOOLS
from tests.support.browser import choose_person, fetch
from tests.support.client_programs import NODE_MODULES, NODE_PROGRAMS, PROGRAM_TIMEOUT, build_environment, run_program
from tests.support.laptop import CHALLENGE, Stack

pytestmark = pytest.mark.cloud

CALLBACK = "http://127.0.0.1:41999/callback"
TYPESCRIPT_LOGIN = """
import { createInterface } from "node:readline/promises";
import { Client } from "@@CLIENT@@";
import { StreamableHTTPClientTransport } from "@@TRANSPORT@@";

const [url, callback] = process.argv.slice(2);
let client, tokens, verifier;
const provider = {
    redirectUrl: callback,
    clientMetadata: {
        client_name: "A test", redirect_uris: [callback], token_endpoint_auth_method: "none",
        grant_types: ["authorization_code", "refresh_token"], response_types: ["code"],
    },
    clientInformation: () => client,
    saveClientInformation: (information) => { client = information; },
    tokens: () => tokens,
    saveTokens: (received) => { tokens = received; },
    redirectToAuthorization: (page) => { console.log(page.href); },
    saveCodeVerifier: (created) => { verifier = created; },
    codeVerifier: () => verifier,
};
const connect = (transport) => new Client({ name: "test", version: "1.0.0" }).connect(transport);
const first = new StreamableHTTPClientTransport(new URL(url), { authProvider: provider });
await connect(first).catch((error) => { if (error.name !== "UnauthorizedError" && !verifier) throw error; });
const redirect = new URL((await createInterface({ input: process.stdin })[Symbol.asyncIterator]().next()).value);
await first.finishAuth(redirect.searchParams.get("code"), redirect.searchParams.get("iss") ?? undefined);
await connect(new StreamableHTTPClientTransport(new URL(url), { authProvider: provider }));
console.log(`token ${tokens.access_token}`);
process.exit(0);
"""
PYTHON_1_LOGIN = """
import asyncio
import sys
from urllib.parse import parse_qs, urlsplit

import httpx
from mcp import ClientSession
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientMetadata

url, callback = sys.argv[1:]


class Tokens:
    tokens = client = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client_info):
        self.client = client_info


async def open_page(page):
    print(page, flush=True)


async def read_redirect():
    redirect = parse_qs(urlsplit((await asyncio.to_thread(sys.stdin.readline)).strip()).query)
    return redirect["code"][0], redirect["state"][0]


async def main():
    kept = Tokens()
    metadata = OAuthClientMetadata(client_name="A test", redirect_uris=[callback])
    login = OAuthClientProvider(url, metadata, kept, open_page, read_redirect)
    async with (
        httpx.AsyncClient(auth=login) as http,
        streamable_http_client(url, http_client=http) as (receive, send, _),
        ClientSession(receive, send) as session,
    ):
        await session.initialize()
    print(f"token {kept.tokens.access_token}")


asyncio.run(main())
"""
TYPESCRIPT_PACKAGES = {
    "TypeScript SDK v1": (
        "@modelcontextprotocol/sdk/client/index.js",
        "@modelcontextprotocol/sdk/client/streamableHttp.js",
    ),
    "TypeScript client v2": ("@modelcontextprotocol/client", "@modelcontextprotocol/client"),
}


class MemoryTokens:
    """Keeps the tokens and the registration of the official client in memory."""

    def __init__(self) -> None:
        self.tokens: OAuthToken | None = None
        self.client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


class Person:
    """Presses the button of the issuer's page."""

    def __init__(self) -> None:
        self._redirect: dict[str, str] = {}

    async def open_page(self, url: str) -> None:
        self._redirect = (await asyncio.to_thread(choose_person, url, "reader")).redirect_parameters()

    async def read_redirect(self) -> AuthorizationCodeResult:
        redirect = self._redirect
        return AuthorizationCodeResult(code=redirect["code"], state=redirect.get("state"), iss=redirect.get("iss"))


async def list_tools_after_login(url: str) -> list[str]:
    person = Person()
    metadata = OAuthClientMetadata.model_validate({"client_name": "A test", "redirect_uris": [CALLBACK]})
    login = OAuthClientProvider(url, metadata, MemoryTokens(), person.open_page, person.read_redirect)
    async with (
        httpx2.AsyncClient(auth=login) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        return [tool.name for tool in (await client.list_tools()).tools]


@contextlib.contextmanager
def run_interactively(command: Sequence[str | Path], home: Path) -> Generator[subprocess.Popen[str]]:
    """Start a program that is killed at the end, with stdout and stderr together."""
    with subprocess.Popen(
        command,
        env=build_environment(home),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as program:
        ending = threading.Timer(PROGRAM_TIMEOUT, program.kill)
        ending.start()
        try:
            yield program
        finally:
            ending.cancel()
            program.kill()


def wait_for_line(program: subprocess.Popen[str], pattern: str) -> str:
    """Return the first text in the output that the pattern matches."""
    assert program.stdout is not None
    said: list[str] = []
    for line in program.stdout:
        said.append(line)
        if found := re.search(pattern, line):
            return found[0]
    raise AssertionError("".join(said))


def slashes() -> Any:
    return pytest.mark.parametrize("end", ["", "/"], ids=["no slash", "slash"])


@pytest.mark.invariant(112)
@slashes()
def test_the_python_client_gets_a_token_without_the_renamed_challenge(product_stack: Stack, end: str) -> None:
    assert "www-authenticate" not in product_stack.request(None).headers
    listed = asyncio.run(list_tools_after_login(f"{product_stack.url}{end}"))
    assert listed == [tool.name for tool in GATEWAY_TOOLS]


def write_login(client: str, folder: Path) -> list[str | Path]:
    """Return the command of a program that logs in with this client."""
    if client == "Python SDK 1.x":
        (folder / "login.py").write_text(PYTHON_1_LOGIN)
        return [PROJECT / ".tools/clients-mcp1/bin/python", folder / "login.py"]
    (folder / "node_modules").symlink_to(NODE_MODULES)
    module, transport = TYPESCRIPT_PACKAGES[client]
    script = TYPESCRIPT_LOGIN.replace("@@CLIENT@@", module).replace("@@TRANSPORT@@", transport)
    (folder / "login.mjs").write_text(script)
    return [NODE_PROGRAMS / "node", folder / "login.mjs"]


@pytest.mark.invariant(112)
@slashes()
@pytest.mark.parametrize("client", ["Python SDK 1.x", *TYPESCRIPT_PACKAGES])
def test_other_clients_get_a_token_without_the_renamed_challenge(
    product_stack: Stack, tmp_path: Path, client: str, end: str
) -> None:
    command = [*write_login(client, tmp_path), f"{product_stack.url}{end}", CALLBACK]
    with run_interactively(command, tmp_path) as program:
        page = wait_for_line(program, r"http://\S+/authorize\S*")
        said = program.communicate(choose_person(page, "reader").headers["location"] + "\n", timeout=60)[0]
    token = re.search(r"token (\S+)", said)
    assert token, said
    assert product_stack.request(token[1]).status == 200


@pytest.mark.invariant(112)
def test_mcp_remote_gets_a_token_without_the_renamed_challenge(product_stack: Stack, tmp_path: Path) -> None:
    """Claude Desktop connects through it."""
    command = [NODE_PROGRAMS / "mcp-remote", product_stack.url, "--transport", "http-only"]
    with run_interactively(command, tmp_path) as program:
        page = wait_for_line(program, r"http://\S+/authorize\S*")
        assert fetch("GET", choose_person(page, "reader").headers["location"]).status == 200
        wait_for_line(program, "Proxy established successfully")


def test_claude_code_sees_that_a_login_is_needed(product_stack: Stack, tmp_path: Path) -> None:
    run_program(["claude", "mcp", "add", "--transport", "http", "signpost", product_stack.url], tmp_path)
    listed = run_program(["claude", "mcp", "list"], tmp_path)
    assert "Needs authentication" in listed


def pass_through_edge_function(headers: dict[str, str], folder: Path) -> dict[str, str]:
    """Return the headers of an answer after the function of the CloudFront example, as its origin-response."""
    template: Any = parse_template((PROJECT / "examples/cloudfront/template.yaml").read_text())
    code = template["Resources"]["ChallengeFunction"]["Properties"]["Code"]["ZipFile"]
    (folder / "index.js").write_text(code)
    response = {"status": "401", "headers": {name: [{"key": name, "value": headers[name]}] for name in headers}}
    event = {"Records": [{"cf": {"config": {"eventType": "origin-response"}, "request": {}, "response": response}}]}
    call = f"require('./index.js').handler({json.dumps(event)}).then((answer) => console.log(JSON.stringify(answer)))"
    ran = subprocess.run([NODE_PROGRAMS / "node", "-e", call], cwd=folder, capture_output=True, check=True, timeout=60)
    answer = json.loads(ran.stdout)
    assert answer["status"] == "401"
    return {name: entry["value"] for name, (entry,) in answer["headers"].items()}


@pytest.mark.invariant(112)
@pytest.mark.parametrize("path", ENDPOINTS)
def test_the_edge_function_gives_a_challenge_its_name_back(product_stack: Stack, tmp_path: Path, path: str) -> None:
    received = product_stack.send("POST", path, headers={"authorization": "Bearer sk_wrong"}).headers
    restored = pass_through_edge_function(dict(received), tmp_path)
    metadata = f"http://{urlsplit(product_stack.url).netloc}/.well-known/oauth-protected-resource{path}"
    assert f'resource_metadata="{metadata}"' in restored["www-authenticate"]
    assert restored == {"www-authenticate" if name == CHALLENGE else name: value for name, value in received.items()}


def test_the_edge_function_changes_no_other_answer(tmp_path: Path) -> None:
    headers = {"content-type": "application/json", "x-amzn-remapped-date": "now"}
    assert pass_through_edge_function(headers, tmp_path) == headers
