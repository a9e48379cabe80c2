"""Reading an issuer's keys over HTTP: from a real issuer, and from servers that are none."""

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from local.issuer import Issuer
from local.ports import free_port
from signpost.adapters.oidc import HttpKeySetSource
from signpost.errors import Unavailable

type Serve = Callable[[dict[str, str]], str]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Serves these texts at these paths; `{url}` in a text is the server's address."""
    servers: list[HTTPServer] = []

    def start(texts: dict[str, str]) -> str:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                text = texts.get(self.path)
                self.send_response(404 if text is None else 200)
                self.end_headers()
                self.wfile.write((text or "").replace("{url}", url).encode())

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class names it so
                del format, args

        server = HTTPServer(("127.0.0.1", 0), Handler)
        url = f"http://127.0.0.1:{server.server_port}"
        servers.append(server)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        return url

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


DISCOVERY = "/.well-known/openid-configuration"
DISCOVERED = '{"issuer": "{url}", "jwks_uri": "{url}/keys"}'


def test_the_keys_of_a_real_issuer_are_read_by_kid(tmp_path: Path) -> None:
    with Issuer(tmp_path, 0) as issuer:
        keys = HttpKeySetSource().fetch(issuer.url)
    assert keys
    assert all(key["kid"] == kid and key["kty"] == "RSA" for kid, key in keys.items())


def test_keys_for_other_uses_and_without_an_id_are_left_out(serve: Serve) -> None:
    published = [{"kid": "a"}, {"kid": "b", "use": "sig"}, {"kid": "c", "use": "enc"}, {"use": "sig"}]
    url = serve({DISCOVERY: DISCOVERED, "/keys": json.dumps({"keys": published})})
    assert set(HttpKeySetSource().fetch(url)) == {"a", "b"}


@pytest.mark.parametrize(
    "texts",
    [
        {},
        {DISCOVERY: "not json"},
        {DISCOVERY: "[]"},
        {DISCOVERY: '{"issuer": "https://other.test", "jwks_uri": "{url}/keys"}'},
        {DISCOVERY: '{"issuer": "{url}"}'},
        {DISCOVERY: '{"issuer": "{url}", "jwks_uri": "file:///etc/passwd"}'},
        {DISCOVERY: DISCOVERED},
        {DISCOVERY: DISCOVERED, "/keys": "{"},
        {DISCOVERY: DISCOVERED, "/keys": '{"keys": 7}'},
        {DISCOVERY: DISCOVERED, "/keys": '{"keys": ["a"]}'},
    ],
)
def test_a_server_that_is_no_issuer_is_unavailable(serve: Serve, texts: dict[str, str]) -> None:
    with pytest.raises(Unavailable):
        HttpKeySetSource().fetch(serve(texts))


def test_an_unreachable_issuer_is_unavailable() -> None:
    with pytest.raises(Unavailable):
        HttpKeySetSource().fetch(f"http://127.0.0.1:{free_port()}")
