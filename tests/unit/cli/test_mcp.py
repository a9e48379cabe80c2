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
from tests.support.memory_gateway import GatewayAnswer, MemoryGateway


def build_gateway(auth_mode: str = "both") -> MemoryGateway:
    gateway = MemoryGateway(AUTH_MODE=auth_mode)
    gateway.replace_adapters(alarm=_no_alarm)
    return gateway


def _no_alarm(_seconds: float) -> AbstractContextManager[None]:
    """Where it answers in a thread, as here, no alarm can be set."""
    return nullcontext()


@contextmanager
def serve_gateway(gateway: MemoryGateway | None, instead: GatewayAnswer | None = None) -> Generator[str]:
    """The URL of a gateway, or of whoever answers in its place."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            answer = instead or (gateway or build_gateway()).send(path=self.path, body=body, headers=headers)
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


def test_a_tool_is_called_with_the_credential_of_the_caller() -> None:
    gateway = build_gateway()
    with serve_gateway(gateway) as url:
        assert RemoteTools(url, str(gateway.make_key())).call("gateway.home", {})["items"] == []


def test_the_credential_is_read_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    gateway, said = build_gateway(), list[str]()
    for written in (f"{gateway.make_key()}", f"Bearer {gateway.make_key()}", f"bearer  {gateway.make_key()} "):
        monkeypatch.setenv("SIGNPOST_AUTHORIZATION", written)
        with serve_gateway(gateway) as url:
            assert "items" in connect_tools(url, said.append).call("gateway.home", {})
    assert said == ["using the credential in SIGNPOST_AUTHORIZATION"] * 3


def test_a_missing_login_is_reported_with_the_command_to_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("SIGNPOST_AUTHORIZATION", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    with pytest.raises(CommandFailed, match=r"signpost login --url https://gateway\.test/mcp"):
        connect_tools("https://gateway.test/mcp", lambda _: None)


def test_a_bad_credential_is_refused_with_the_command_to_run() -> None:
    with serve_gateway(build_gateway()) as url, pytest.raises(CommandFailed, match=f"signpost login --url {url}"):
        RemoteTools(url, "no-such-key").call("gateway.home", {})


def test_a_gateway_without_authentication_names_its_setting() -> None:
    with serve_gateway(build_gateway("none")) as url, pytest.raises(CommandFailed, match="AuthMode"):
        RemoteTools(url, "key").call("gateway.home", {})


@pytest.mark.parametrize(
    "answer",
    [
        GatewayAnswer(503, {}, '{"jsonrpc": "2.0", "id": null, "error": {"code": 503, "message": "Later."}}'),
        GatewayAnswer(502, {}, "<html>Bad gateway</html>"),
    ],
)
def test_a_failed_server_is_a_missing_answer(answer: GatewayAnswer) -> None:
    with serve_gateway(None, answer) as url, pytest.raises(NoServerAnswer):
        RemoteTools(url, "key").call("workflow.submit", {})


def test_an_unreachable_server_is_a_missing_answer() -> None:
    with serve_gateway(None) as url:
        pass
    with pytest.raises(NoServerAnswer, match="cannot be reached"):
        RemoteTools(url, "key").call("workflow.submit", {})


@pytest.mark.parametrize(
    "text", ['{"jsonrpc": "2.0", "id": 1, "result": {}}', '{"result": {"content": [{"text": "hi"}]}}']
)
def test_an_invalid_answer_is_refused(text: str) -> None:
    with serve_gateway(None, GatewayAnswer(200, {}, text)) as url, pytest.raises(CommandFailed, match=r"workflow\.get"):
        RemoteTools(url, "key").call("workflow.get", {})


def test_a_long_answer_may_be_text_only() -> None:
    text = '{"result": {"content": [{"type": "text", "text": "{\\"state\\": \\"open\\"}"}]}}'
    with serve_gateway(None, GatewayAnswer(200, {}, text)) as url:
        assert RemoteTools(url, "key").call("workflow.get", {}) == {"state": "open"}
