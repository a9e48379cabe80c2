"""The authorization endpoint: a program asks, a person chooses who to be, the code goes back."""

import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from local.issuer import loopback, page
from local.issuer.clients import Client, Clients
from local.issuer.exchange import Answer, OAuthError, Parameters, Request, required
from local.issuer.grants import Clock, Codes, Grant
from local.issuer.people import PEOPLE

_CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}")


@dataclass(frozen=True, slots=True)
class Destination:
    """Where the answer goes. Until it is known to be the client's own, errors stay on the page."""

    client: Client
    redirect_uri: str
    state: str | None
    issuer: str

    def answer(self, fields: Mapping[str, str]) -> Answer:
        echo = {"state": self.state} if self.state is not None else {}
        query = urlencode({**fields, **echo, "iss": self.issuer})
        joint = "&" if "?" in self.redirect_uri else "?"
        location = f"{self.redirect_uri}{joint}{query}"
        return Answer(303, headers={"Location": location, "Cache-Control": "no-store"})


@dataclass(frozen=True, slots=True)
class Wish:
    resource: str
    challenge: str
    scopes: tuple[str, ...]
    nonce: str | None

    @classmethod
    def read(cls, parameters: Parameters) -> "Wish":
        if required(parameters, "response_type") != "code":
            raise OAuthError("unsupported_response_type", "This issuer answers response_type=code only.")
        scopes = tuple(parameters.get("scope", "").split())
        return cls(wanted_resource(parameters), _challenge(parameters), scopes, parameters.get("nonce"))


class Authorization:
    def __init__(self, url: str, clients: Clients, codes: Codes, clock: Clock) -> None:
        self._url = url
        self._clients = clients
        self._codes = codes
        self._clock = clock

    def show(self, request: Request) -> Answer:
        return self._asked(request.parameters, _page)

    def choose(self, request: Request) -> Answer:
        # Only our own page may choose for a person; a program without a browser sends no Origin.
        origin = request.headers.get("origin")
        if origin is not None and origin not in _own_origins(self._url):
            return page.refusal("This choice was not made on the issuer's own page.", 403)
        return self._asked(request.form, self._chosen)

    def _asked(
        self, read: Callable[[], Parameters], proceed: Callable[[Parameters, Destination, Wish], Answer]
    ) -> Answer:
        try:
            parameters = read()
            destination = self._destination(parameters)
        except OAuthError as refused:
            return page.refusal(refused.description, refused.status)
        try:
            return proceed(parameters, destination, Wish.read(parameters))
        except OAuthError as refused:
            return destination.answer(refused.fields)

    def _destination(self, parameters: Parameters) -> Destination:
        client = self._clients.find(required(parameters, "client_id"))
        if client is None:
            raise OAuthError("invalid_client", "This issuer does not know the program. It can register at /register.")
        redirect_uri = required(parameters, "redirect_uri")
        if not client.redirects_to(redirect_uri):
            raise OAuthError(
                "invalid_request",
                "The program wants the answer sent to an address that is not its own on this laptop.",
            )
        return Destination(client, redirect_uri, parameters.get("state"), self._url)

    def _chosen(self, parameters: Parameters, destination: Destination, wish: Wish) -> Answer:
        person = PEOPLE.get(parameters.get("person", ""))
        if person is None:
            raise OAuthError("access_denied", "Nobody was chosen on the issuer's page.")
        grant = Grant(
            family=secrets.token_urlsafe(12),
            client_id=destination.client.id,
            person=person.name,
            resource=wish.resource,
            scopes=wish.scopes,
            nonce=wish.nonce,
            granted_at=int(self._clock()),
        )
        return destination.answer({"code": self._codes.issue(grant, destination.redirect_uri, wish.challenge)})


def wanted_resource(parameters: Parameters) -> str:
    resource = parameters.get("resource", "")
    if not loopback.is_resource(resource):
        raise OAuthError("invalid_target", "Name the server as resource; this issuer serves this laptop only.")
    return resource


def _challenge(parameters: Parameters) -> str:
    if parameters.get("code_challenge_method") != "S256":
        raise OAuthError("invalid_request", "PKCE is required: send code_challenge_method=S256.")
    challenge = required(parameters, "code_challenge")
    if not _CHALLENGE.fullmatch(challenge):
        raise OAuthError("invalid_request", "The code_challenge is not the SHA-256 of a verifier in base64url.")
    return challenge


def _page(parameters: Parameters, destination: Destination, wish: Wish) -> Answer:
    return page.choice(destination.client.name, wish.resource, parameters)


def _own_origins(url: str) -> tuple[str, str]:
    return url, url.replace("127.0.0.1", "localhost")
