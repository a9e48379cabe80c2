"""The authorization endpoint: a person chooses a sample person, and the client receives an authorization code."""

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
    """The redirect URI that receives the answer, checked to be one of the client's own.

    An error before that check is shown on the page and not sent to the URI.
    """

    client: Client
    redirect_uri: str
    state: str | None
    issuer: str

    def answer(self, fields: Mapping[str, str]) -> Answer:
        state = {"state": self.state} if self.state is not None else {}
        query = urlencode({**fields, **state, "iss": self.issuer})
        separator = "&" if "?" in self.redirect_uri else "?"
        location = f"{self.redirect_uri}{separator}{query}"
        return Answer(303, headers={"Location": location, "Cache-Control": "no-store"})


@dataclass(frozen=True, slots=True)
class AuthorizationRequest:
    """The parts of an authorization request that the grant is made of."""

    resource: str
    challenge: str
    scopes: tuple[str, ...]
    nonce: str | None

    @classmethod
    def read(cls, parameters: Parameters) -> "AuthorizationRequest":
        if required(parameters, "response_type") != "code":
            raise OAuthError("unsupported_response_type", "This issuer answers response_type=code only.")
        scopes = tuple(parameters.get("scope", "").split())
        return cls(read_resource(parameters), _read_challenge(parameters), scopes, parameters.get("nonce"))


class Authorization:
    """The endpoint: shows the page with the sample people, and answers the choice on it with a code."""

    def __init__(self, url: str, clients: Clients, codes: Codes, clock: Clock) -> None:
        self._url = url
        self._clients = clients
        self._codes = codes
        self._clock = clock

    def show(self, request: Request) -> Answer:
        return self._proceed(request.parameters, _page)

    def choose(self, request: Request) -> Answer:
        # Only the issuer's own page may make this choice in a browser; a program without a browser sends no Origin.
        origin = request.headers.get("origin")
        if origin is not None and origin not in _issuer_origins(self._url):
            return page.render_refusal("This choice did not come from the issuer's page. Start the login again.", 403)
        return self._proceed(request.form, self._issue_code)

    def _proceed(
        self,
        read: Callable[[], Parameters],
        answer: Callable[[Parameters, Destination, AuthorizationRequest], Answer],
    ) -> Answer:
        try:
            parameters = read()
            destination = self._destination(parameters)
        except OAuthError as error:
            return page.render_refusal(error.description, error.status)
        try:
            return answer(parameters, destination, AuthorizationRequest.read(parameters))
        except OAuthError as error:
            return destination.answer(error.fields)

    def _destination(self, parameters: Parameters) -> Destination:
        client = self._clients.find(required(parameters, "client_id"))
        if client is None:
            raise OAuthError("invalid_client", "This issuer does not know the client. It can register at /register.")
        redirect_uri = required(parameters, "redirect_uri")
        if not client.redirects_to(redirect_uri):
            raise OAuthError(
                "invalid_request",
                "The redirect_uri is not registered for this client. Use one of its own on this laptop.",
            )
        return Destination(client, redirect_uri, parameters.get("state"), self._url)

    def _issue_code(self, parameters: Parameters, destination: Destination, request: AuthorizationRequest) -> Answer:
        person = PEOPLE.get(parameters.get("person", ""))
        if person is None:
            raise OAuthError("access_denied", "The login was cancelled on the issuer's page.")
        grant = Grant(
            family=secrets.token_urlsafe(12),
            client_id=destination.client.id,
            person=person.name,
            resource=request.resource,
            scopes=request.scopes,
            nonce=request.nonce,
            granted_at=int(self._clock()),
        )
        return destination.answer({"code": self._codes.issue(grant, destination.redirect_uri, request.challenge)})


def read_resource(parameters: Parameters) -> str:
    resource = parameters.get("resource", "")
    if not loopback.is_resource(resource):
        raise OAuthError("invalid_target", "Name the server as resource; this issuer serves this laptop only.")
    return resource


def _read_challenge(parameters: Parameters) -> str:
    if parameters.get("code_challenge_method") != "S256":
        raise OAuthError("invalid_request", "PKCE is required: send code_challenge_method=S256.")
    challenge = required(parameters, "code_challenge")
    if not _CHALLENGE.fullmatch(challenge):
        raise OAuthError("invalid_request", "The code_challenge is not the SHA-256 of a verifier in base64url.")
    return challenge


def _page(parameters: Parameters, destination: Destination, request: AuthorizationRequest) -> Answer:
    return page.render_choice(destination.client.name, request.resource, parameters)


def _issuer_origins(url: str) -> tuple[str, str]:
    return url, url.replace("127.0.0.1", "localhost")
