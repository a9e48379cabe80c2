"""A tool called from a terminal, over HTTP, at a gateway that is real but for what is behind it."""

from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import override

import pytest

from signpost.cli.failure import CommandFailed, NoServerAnswer
from signpost.cli.mcp import RemoteTools, connect_tools
from tests.support.memory_gateway import Answer, MemoryGateway


def a_gateway(auth_mode: str = "both") -> MemoryGateway:
    gateway = MemoryGateway(AUTH_MODE=auth_mode)
    gateway.exchange(alarm=_none)
    return gateway


def _none(_seconds: float) -> AbstractContextManager[None]:
    """Where it answers in a thread, as here, no alarm can be set."""
    return nullcontext()


@contextmanager
def listening(gateway: MemoryGateway | None, instead: Answer | None = None) -> Generator[str]:
    """The URL of a gateway, or of whoever answers in its place."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            answer = instead or (gateway or a_gateway()).send(path=self.path, body=body, headers=headers)
            self.send_response(answer.status)
            self.end_headers()
            self.wfile.write(answer.text.encode())

        @override
        def log_message(self, format: str, *args: object) -> None:
            """Nobody reads it."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/mcp"
        finally:
            server.shutdown()
            thread.join()


def test_a_tool_is_called_as_whoever_has_the_credential() -> None:
    gateway = a_gateway()
    with listening(gateway) as url:
        assert RemoteTools(url, str(gateway.make_key())).call("gateway.home", {})["items"] == []


def test_the_credential_is_that_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    gateway, said = a_gateway(), list[str]()
    for written in (f"{gateway.make_key()}", f"Bearer {gateway.make_key()}", f"bearer  {gateway.make_key()} "):
        monkeypatch.setenv("SIGNPOST_AUTHORIZATION", written)
        with listening(gateway) as url:
            assert "items" in connect_tools(url, said.append).call("gateway.home", {})
    assert said == ["using the credential in SIGNPOST_AUTHORIZATION"] * 3


def test_whoever_is_not_logged_in_is_told_how_to(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("SIGNPOST_AUTHORIZATION", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    with pytest.raises(CommandFailed, match=r"signpost login --url https://gateway\.test/mcp"):
        connect_tools("https://gateway.test/mcp", lambda _: None)


def test_a_bad_credential_is_refused_with_what_to_do() -> None:
    with listening(a_gateway()) as url, pytest.raises(CommandFailed, match=f"signpost login --url {url}"):
        RemoteTools(url, "no-such-key").call("gateway.home", {})


def test_a_gateway_that_lets_nobody_in_says_why() -> None:
    with listening(a_gateway("none")) as url, pytest.raises(CommandFailed, match="AuthMode"):
        RemoteTools(url, "key").call("gateway.home", {})


@pytest.mark.parametrize(
    "answer",
    [
        Answer(503, {}, '{"jsonrpc": "2.0", "id": null, "error": {"code": 503, "message": "Later."}}'),
        Answer(502, {}, "<html>Bad gateway</html>"),
    ],
)
def test_of_a_server_that_failed_nobody_knows_what_it_did(answer: Answer) -> None:
    with listening(None, answer) as url, pytest.raises(NoServerAnswer):
        RemoteTools(url, "key").call("workflow.submit", {})


def test_where_nobody_listens_that_is_said() -> None:
    with listening(None) as url:
        pass
    with pytest.raises(NoServerAnswer, match="cannot be reached"):
        RemoteTools(url, "key").call("workflow.submit", {})


@pytest.mark.parametrize(
    "text", ['{"jsonrpc": "2.0", "id": 1, "result": {}}', '{"result": {"content": [{"text": "hi"}]}}']
)
def test_an_answer_that_is_none_is_not_taken_for_one(text: str) -> None:
    with listening(None, Answer(200, {}, text)) as url, pytest.raises(CommandFailed, match=r"workflow\.get"):
        RemoteTools(url, "key").call("workflow.get", {})


def test_a_long_answer_may_be_there_as_text_only() -> None:
    text = '{"result": {"content": [{"type": "text", "text": "{\\"state\\": \\"open\\"}"}]}}'
    with listening(None, Answer(200, {}, text)) as url:
        assert RemoteTools(url, "key").call("workflow.get", {}) == {"state": "open"}
