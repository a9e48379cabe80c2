"""The issuer put together."""

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Lock
from types import MappingProxyType
from typing import Self

from local.issuer import loopback
from local.issuer.authorize import Authorization
from local.issuer.clients import COMMAND_LINE, Clients
from local.issuer.exchange import Answer, OAuthError, Request, as_json, refusal
from local.issuer.grants import Clock, Codes, RefreshTokens
from local.issuer.keys import KeyRing
from local.issuer.metadata import metadata
from local.issuer.people import SUBJECTS
from local.issuer.server import Server
from local.issuer.tokens import HEADER_TYPE, Mint, TokenEndpoint

_NOTHING: Mapping[str, object] = MappingProxyType({})


class Issuer:
    """Port 0 takes a free one; `url` and the tokens are good before `start`."""

    def __init__(self, home: Path, port: int, clock: Clock = time.time) -> None:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._keys = KeyRing(home)
        self._clients = Clients(home)
        self._server = Server(port, self._respond)
        self.url = f"http://127.0.0.1:{self._server.port}"
        self._mint = Mint(self.url, self._keys, clock)
        self._endpoints = self._with_grants(home, clock)
        self._counting = Lock()
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

    def sign(self, claims: Mapping[str, object], header: Mapping[str, object] = _NOTHING) -> str:
        """Any claims under the current key, so that a test can make what the endpoints never would."""
        return self._keys.sign(claims, {"typ": HEADER_TYPE, **header})

    def access_token(self, person: str, audience: str, **overrides: object) -> str:
        """As from the token endpoint; `person` may be the agent; an override of None leaves the claim out."""
        subject = SUBJECTS[person]
        client_id = COMMAND_LINE.id if subject.human else subject.name
        return self._mint.access_token(subject, audience, client_id, overrides)

    def _with_grants(self, home: Path, clock: Clock) -> dict[tuple[str, str], Callable[[Request], Answer]]:
        refresh_tokens = RefreshTokens(home, clock)
        codes = Codes(clock, refresh_tokens.end)
        authorization = Authorization(self.url, self._clients, codes, clock)
        return {
            ("GET", "/.well-known/openid-configuration"): self._metadata,
            ("GET", "/.well-known/oauth-authorization-server"): self._metadata,
            ("GET", "/jwks"): self._jwks,
            ("GET", "/authorize"): authorization.show,
            ("POST", "/authorize"): authorization.choose,
            ("POST", "/token"): TokenEndpoint(self._clients, codes, refresh_tokens, self._mint).redeem,
            ("POST", "/register"): self._clients.register,
        }

    def _respond(self, request: Request) -> Answer:
        # A site that points its own name at 127.0.0.1 must not reach the page or the tokens.
        if not loopback.is_origin(f"http://{request.headers.get('host', '')}"):
            return as_json({"error": "invalid_request", "error_description": f"Use {self.url}."}, 421)
        origin = request.headers.get("origin", "")
        if request.path != "/authorize" and loopback.is_origin(origin):
            return _shared_with(origin, self._answer(request))
        return self._answer(request)

    def _answer(self, request: Request) -> Answer:
        if request.method == "OPTIONS":
            return Answer(204)
        endpoint = self._endpoints.get((request.method, request.path))
        if endpoint is None:
            return as_json({"error": "not_found", "error_description": "There is nothing here."}, 404)
        try:
            return endpoint(request)
        except OAuthError as refused:
            return refusal(refused)

    def _metadata(self, _: Request) -> Answer:
        return as_json(metadata(self.url))

    def _jwks(self, _: Request) -> Answer:
        with self._counting:
            self.jwks_requests += 1
        return as_json(self._keys.jwks())


def _shared_with(origin: str, answer: Answer) -> Answer:
    """CORS, for clients that run in a browser on this laptop."""
    sharing = {
        "Access-Control-Allow-Origin": origin,
        "Access-Control-Allow-Headers": "Authorization, Content-Type, MCP-Protocol-Version",
        "Access-Control-Allow-Methods": "GET, POST",
        "Vary": "Origin",
    }
    return Answer(answer.status, answer.body, {**answer.headers, **sharing})
