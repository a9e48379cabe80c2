"""The tools of a gateway, for a person at a terminal: called over MCP, as every other client calls them."""

import json
import time
from typing import TYPE_CHECKING, cast

from signpost.cli import remote, web
from signpost.cli.credentials import CredentialStore, default_path
from signpost.cli.failure import CommandFailed, Unanswered
from signpost.cli.session import Session
from signpost.cli.terminal import visible
from signpost.model import Json, JsonObject, as_object
from signpost.protocol.eras import CLIENT_CAPABILITIES, MODERN, PROTOCOL_VERSION

if TYPE_CHECKING:
    from collections.abc import Sequence

    from signpost.cli.publisher import Say

PATIENCE = 40.0
"""Seconds: a gateway has answered after thirty, whatever it is asked."""
LARGEST_ANSWER = 8 << 20
"""Bytes; more than a gateway sends."""


class Tools:
    def __init__(self, url: str, token: str) -> None:
        self._url = url
        self._token = token

    def call(self, tool: str, arguments: JsonObject) -> JsonObject:
        """What it answers, be it a refusal."""
        result = as_object(self._asked("tools/call", {"name": tool, "arguments": arguments}).get("result"))
        if "structuredContent" in result:
            return as_object(result["structuredContent"])
        found = _written(result.get("content"))
        if found is None:
            raise CommandFailed(f"{self._url} answered {tool} with something that this release does not read.")
        return found

    def _asked(self, method: str, params: JsonObject) -> JsonObject:
        meta: JsonObject = {PROTOCOL_VERSION: MODERN[0], CLIENT_CAPABILITIES: {}}
        message: JsonObject = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json",  # the answer, without what might be told on the way
            "Authorization": f"Bearer {self._token}",
            "MCP-Protocol-Version": MODERN[0],
            "Mcp-Method": method,
            "Mcp-Name": str(params["name"]),
        }
        body = json.dumps(message).encode()
        answer = web.ask(self._url, body, headers, patience=PATIENCE, longest=LARGEST_ANSWER)
        fields = cast("JsonObject", answer.fields)
        if error := as_object(fields.get("error")):
            failure = Unanswered if answer.status >= 500 else CommandFailed
            raise failure(self._refused(answer.status, str(error.get("message"))))
        if answer.status != 200:
            raise Unanswered(f"{self._url} answered with status {answer.status}. Is it the endpoint of a gateway?")
        return fields

    def _refused(self, status: int, message: str) -> str:
        said = f"{self._url} answered: {visible(message.rstrip('.'))}"
        if status != 401:
            return f"{said}."
        return f"{said}. Log in with `signpost login --url {self._url}`, or fill {remote.AUTHORIZATION} anew."


def _written(content: Json) -> JsonObject | None:
    """An answer that is long is there once only, as text."""
    blocks: Sequence[Json] = content if isinstance(content, list) else ()
    texts = [text for block in blocks if isinstance(text := as_object(block).get("text"), str)]
    try:
        found = json.loads(texts[0]) if texts else None
    except ValueError:
        return None
    return as_object(found) or None


def tools_of(url: str, say: "Say") -> Tools:
    """With the credential of the environment, or else as whoever is logged in there."""
    given = remote.credential(say)
    session = Session(CredentialStore(default_path()), time.time, patience=0)
    return Tools(url, given if given is not None else session.access_token(url))
