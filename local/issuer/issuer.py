"""The issuer: its parts, its endpoints and its HTTP answers."""

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Lock
from types import MappingProxyType
from typing import Self

from local.issuer import loopback
from local.issuer.authorize import Authorization
from local.issuer.clients import COMMAND_LINE, Clients
from local.issuer.exchange import Answer, OAuthError, Request, as_json, error_answer
from local.issuer.grants import Clock, Codes, RefreshTokens
from local.issuer.keys import KeyRing
from local.issuer.metadata import metadata
from local.issuer.people import SUBJECTS
from local.issuer.server import Server
from local.issuer.tokens import HEADER_TYPE, TokenEndpoint, TokenSigner

_NO_FIELDS: Mapping[str, object] = MappingProxyType({})


class Issuer:
    """The OIDC issuer on one port; port 0 takes a free one. `url` and the tokens are valid before `start`."""

    def __init__(self, home: Path, port: int, clock: Clock = time.time) -> None:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._keys = KeyRing(home)
        self._clients = Clients(home)
        self._server = Server(port, self._respond)
        self.url = f"http://127.0.0.1:{self._server.port}"
        self._signer = TokenSigner(self.url, self._keys, clock)
        self._endpoints = self._make_endpoints(home, clock)
        self._count_lock = Lock()
        self.jwks_requests = 0

    def start(self) -> None:
        self._server.start()

    def stop(self) -> None:
        self._server.stop()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def agent_secret(self) -> str:
        return self._clients.agent_secret

    def rotate(self) -> None:
        self._keys.rotate()

    def sign(self, claims: Mapping[str, object], header: Mapping[str, object] = _NO_FIELDS) -> str:
        """Sign any claims with the current key, so that a test can make tokens that the endpoints never issue."""
        return self._keys.sign(claims, {"typ": HEADER_TYPE, **header})

    def access_token(self, person: str, audience: str, **overrides: object) -> str:
        """Issue a token as the token endpoint does. `person` may be the agent; an override of None omits the claim."""
        subject = SUBJECTS[person]
        client_id = COMMAND_LINE.id if subject.human else subject.name
        return self._signer.access_token(subject, audience, client_id, overrides)

    def _make_endpoints(self, home: Path, clock: Clock) -> dict[tuple[str, str], Callable[[Request], Answer]]:
        refresh_tokens = RefreshTokens(home, clock)
        codes = Codes(clock, refresh_tokens.end_family)
        authorization = Authorization(self.url, self._clients, codes, clock)
        return {
            ("GET", "/.well-known/openid-configuration"): self._metadata,
            ("GET", "/.well-known/oauth-authorization-server"): self._metadata,
            ("GET", "/jwks"): self._jwks,
            ("GET", "/authorize"): authorization.show,
            ("POST", "/authorize"): authorization.choose,
            ("POST", "/token"): TokenEndpoint(self._clients, codes, refresh_tokens, self._signer).redeem,
            ("POST", "/register"): self._clients.register,
        }

    def _respond(self, request: Request) -> Answer:
        # A web page from a name that resolves to 127.0.0.1 (DNS rebinding) must not reach the page or the tokens.
        if not loopback.is_origin(f"http://{request.headers.get('host', '')}"):
            return as_json({"error": "invalid_request", "error_description": f"Use {self.url}."}, 421)
        origin = request.headers.get("origin", "")
        if request.path != "/authorize" and loopback.is_origin(origin):
            return _add_cors_headers(origin, self._answer(request))
        return self._answer(request)

    def _answer(self, request: Request) -> Answer:
        if request.method == "OPTIONS":
            return Answer(204)
        endpoint = self._endpoints.get((request.method, request.path))
        if endpoint is None:
            return as_json({"error": "not_found", "error_description": "This issuer has no such endpoint."}, 404)
        try:
            return endpoint(request)
        except OAuthError as error:
            return error_answer(error)

    def _metadata(self, _: Request) -> Answer:
        return as_json(metadata(self.url))

    def _jwks(self, _: Request) -> Answer:
        with self._count_lock:
            self.jwks_requests += 1
        return as_json(self._keys.jwks())


def _add_cors_headers(origin: str, answer: Answer) -> Answer:
    """Return the answer with CORS headers for clients that run in a browser on this laptop."""
    cors_headers = {
        "Access-Control-Allow-Origin": origin,
        "Access-Control-Allow-Headers": "Authorization, Content-Type, MCP-Protocol-Version",
        "Access-Control-Allow-Methods": "GET, POST",
        "Vary": "Origin",
    }
    return Answer(answer.status, answer.body, {**answer.headers, **cors_headers})
