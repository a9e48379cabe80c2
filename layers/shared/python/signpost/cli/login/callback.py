"""Receives the redirect at the end of a login, on a loopback port of this machine (RFC 8252)."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from functools import partial
from html import escape
from http.server import BaseHTTPRequestHandler
from queue import Empty, SimpleQueue
from secrets import compare_digest
from socketserver import BaseServer, ThreadingTCPServer
from threading import Thread
from typing import Any, override
from urllib.parse import parse_qsl

from signpost.cli.failure import CommandFailed

PATH = "/callback"

type RedirectQuery = Mapping[str, str]


class RedirectReceiver:
    """Waits for the one request that carries the `state` of this login. The server refuses all other requests."""

    def __init__(self, uri: str, responses: SimpleQueue[RedirectQuery]) -> None:
        self.uri = uri
        self._responses = responses

    def wait(self, seconds: float) -> RedirectQuery:
        """Return the query of the redirect. Raises CommandFailed if it does not come in time."""
        try:
            return self._responses.get(timeout=seconds)
        except Empty:
            raise CommandFailed(
                "The login was not finished in the browser in time. Run `signpost login` again."
            ) from None


@contextmanager
def listen(state: str) -> Generator[RedirectReceiver]:
    """Listen on a free loopback port inside the context."""
    responses: SimpleQueue[RedirectQuery] = SimpleQueue()
    with _CallbackServer(("127.0.0.1", 0), partial(_CallbackHandler, state, responses)) as server:
        Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        try:
            yield RedirectReceiver(f"http://127.0.0.1:{server.server_address[1]}{PATH}", responses)
        finally:
            server.shutdown()


class _CallbackServer(ThreadingTCPServer):
    daemon_threads = True  # a browser may keep connections open that it never uses

    @override
    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print no traceback when the browser closes a connection."""


class _CallbackHandler(BaseHTTPRequestHandler):
    wbufsize = -1
    timeout = 10

    def __init__(
        self, state: str, responses: SimpleQueue[RedirectQuery], request: Any, address: Any, server: BaseServer
    ) -> None:
        self._state = state
        self._responses = responses
        super().__init__(request, address, server)

    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        response = dict(parse_qsl(query))
        if path != PATH or not compare_digest(response.get("state", "").encode(), self._state.encode()):
            self._send_page(404, "Unknown page", "This address does not belong to a login in progress.")
            return
        if "code" in response:
            self._send_page(200, "You are logged in", "You can close this window and go back to the terminal.")
        else:
            self._send_page(200, "You are not logged in", "See the terminal for the reason. You can close this window.")
        self._responses.put(response)

    @override
    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: the request carries the authorization code, which must not be shown."""

    def _send_page(self, status: int, title: str, sentence: str) -> None:
        page = _PAGE.format(title=escape(title), sentence=escape(sentence)).encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(page)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("Referrer-Policy", "no-referrer")
        self.end_headers()
        self.wfile.write(page)
        self.wfile.flush()  # the program may end as soon as it has the code


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title} · Signpost</title>
<style>
  :root {{ color-scheme: light dark; }}
  body {{ margin: 0; min-height: 100vh; display: grid; place-items: center; text-align: center;
    background: light-dark(#f4f2ec, #141816); color: light-dark(#1d2421, #edf1ee);
    font: 1.05rem/1.5 system-ui, sans-serif; }}
  main {{ padding: 1rem; }} h1 {{ margin: 0; font-size: 1.6rem; }} p {{ margin: .4rem 0 0; opacity: .75; }}
</style></head>
<body><main><h1>{title}</h1><p>{sentence}</p></main></body></html>
"""
