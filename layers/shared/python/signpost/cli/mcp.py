"""Calls the tools of a gateway over MCP, as every other client does, for a person at a terminal."""

import json
import time
from typing import TYPE_CHECKING, cast

from signpost.cli import remote
from signpost.cli.failure import CommandFailed, NoServerAnswer
from signpost.cli.login import http
from signpost.cli.login.flow import LoginSession
from signpost.cli.login.token_store import TokenStore, default_path
from signpost.cli.terminal import make_printable
from signpost.mcp.revisions import CLIENT_CAPABILITIES, MODERN_VERSIONS, PROTOCOL_VERSION
from signpost.model import Json, JsonObject, as_object

if TYPE_CHECKING:
    from collections.abc import Sequence

    from signpost.cli.terminal import ShowLine

PATIENCE = 40.0
"""In seconds. A gateway answers every request within thirty."""
LARGEST_ANSWER = 8 << 20
"""In bytes; larger than every answer of a gateway."""


class RemoteTools:
    """Calls tools at one MCP endpoint with one credential."""

    def __init__(self, url: str, token: str) -> None:
        self._url = url
        self._token = token

    def call(self, tool: str, arguments: JsonObject) -> JsonObject:
        """Call a tool and return its answer, which may be a refusal. Raises CommandFailed if there is none."""
        result = as_object(self._request("tools/call", {"name": tool, "arguments": arguments}).get("result"))
        if "structuredContent" in result:
            return as_object(result["structuredContent"])
        answer = _parse_text_content(result.get("content"))
        if answer is None:
            message = f"{self._url} answered {tool} in a form that this release cannot read."
            raise CommandFailed(f"{message} Use the release of the stack.")
        return answer

    def _request(self, method: str, params: JsonObject) -> JsonObject:
        meta: JsonObject = {PROTOCOL_VERSION: MODERN_VERSIONS[0], CLIENT_CAPABILITIES: {}}
        message: JsonObject = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json",  # no event stream: the answer without progress notifications
            "Authorization": f"Bearer {self._token}",
            "MCP-Protocol-Version": MODERN_VERSIONS[0],
            "Mcp-Method": method,
            "Mcp-Name": str(params["name"]),
        }
        body = json.dumps(message).encode()
        answer = http.post_json(self._url, body, headers, patience=PATIENCE, longest=LARGEST_ANSWER)
        fields = cast("JsonObject", answer.fields)
        if error := as_object(fields.get("error")):
            failure = NoServerAnswer if answer.status >= 500 else CommandFailed
            raise failure(self._refusal_message(answer.status, str(error.get("message"))))
        if answer.status != 200:
            raise NoServerAnswer(f"{self._url} answered with status {answer.status}. Is it the endpoint of a gateway?")
        return fields

    def _refusal_message(self, status: int, message: str) -> str:
        sentence = f"{self._url} answered: {make_printable(message.rstrip('.'))}"
        if status != 401:
            return f"{sentence}."
        advice = f"Log in with `signpost login --url {self._url}`, or put a valid token into {remote.AUTHORIZATION}."
        return f"{sentence}. {advice}"


def _parse_text_content(content: Json) -> JsonObject | None:
    """Parse the first text block as a JSON object. A long answer is sent as text only, not as structured content."""
    blocks: Sequence[Json] = content if isinstance(content, list) else ()
    texts = [text for block in blocks if isinstance(text := as_object(block).get("text"), str)]
    try:
        value = json.loads(texts[0]) if texts else None
    except ValueError:
        return None
    return as_object(value) or None


def connect_tools(url: str, show_line: "ShowLine") -> RemoteTools:
    """Use the credential of the environment, or else the login of the person for this URL."""
    credential = remote.read_credential(show_line)
    session = LoginSession(TokenStore(default_path()), time.time, patience=0)
    return RemoteTools(url, credential if credential is not None else session.access_token(url))
