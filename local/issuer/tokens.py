"""The token endpoint: issue tokens for codes, refresh tokens and client credentials."""

import secrets
from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Mapping
from urllib.parse import unquote_plus

from local.issuer.authorize import read_resource
from local.issuer.clients import Client, Clients
from local.issuer.exchange import Answer, OAuthError, Parameters, Request, as_json, required
from local.issuer.grants import Clock, Codes, Grant, RefreshTokens
from local.issuer.keys import KeyRing
from local.issuer.people import AGENT, PEOPLE, Subject

LIFETIME = 3600
HEADER_TYPE = "at+jwt"


class TokenSigner:
    """Signs access and ID tokens with the claims of their subject."""

    def __init__(self, url: str, keys: KeyRing, clock: Clock) -> None:
        self._url = url
        self._keys = keys
        self._clock = clock

    def access_token(self, subject: Subject, audience: str, client_id: str, overrides: Mapping[str, object]) -> str:
        """Sign an access token (RFC 9068). An override of None omits the claim."""
        token_claims = {"aud": audience, "jti": secrets.token_urlsafe(12), "client_id": client_id}
        claims = self._time_claims(self._clock()) | subject.claims() | token_claims | dict(overrides)
        present = {name: value for name, value in claims.items() if value is not None}
        return self._keys.sign(present, {"typ": HEADER_TYPE})

    def id_token(self, subject: Subject, grant: Grant) -> str:
        claims = self._time_claims(self._clock()) | {
            "sub": subject.name,
            "aud": grant.client_id,
            "auth_time": grant.granted_at,
            "amr": ["user"],
        }
        nonce = {"nonce": grant.nonce} if grant.nonce is not None else {}
        return self._keys.sign(claims | nonce, {"typ": "JWT"})

    def _time_claims(self, now: float) -> dict[str, object]:
        return {"iss": self._url, "iat": int(now), "nbf": int(now), "exp": int(now) + LIFETIME}


class TokenEndpoint:
    """Redeems the grants of RFC 6749 for tokens."""

    def __init__(self, clients: Clients, codes: Codes, refresh_tokens: RefreshTokens, signer: TokenSigner) -> None:
        self._clients = clients
        self._codes = codes
        self._refresh_tokens = refresh_tokens
        self._signer = signer
        self._grants = {
            "authorization_code": self._for_code,
            "refresh_token": self._for_refresh_token,
            "client_credentials": self._for_machine,
        }

    def redeem(self, request: Request) -> Answer:
        form = request.form()
        grant_type = required(form, "grant_type")
        if grant_type not in self._grants:
            raise OAuthError("unsupported_grant_type", f"Use one of {', '.join(self._grants)}.")
        client = self._client(request, form)
        if grant_type not in client.grants:
            raise OAuthError("unauthorized_client", f"This client may use {', '.join(client.grants)} only.")
        return as_json(self._grants[grant_type](client, form), headers={"Pragma": "no-cache"})

    def _client(self, request: Request, form: Parameters) -> Client:
        client_id, secret = _read_credentials(request.headers.get("authorization"), form)
        client = self._clients.find(client_id)
        if client is None or not client.accepts_secret(secret):
            raise OAuthError("invalid_client", "The client is unknown or its secret is wrong.", status=401)
        return client

    def _for_code(self, client: Client, form: Parameters) -> dict[str, object]:
        offer = self._codes.take(required(form, "code"))
        if client.id != offer.grant.client_id:
            raise OAuthError("invalid_grant", "The code was given to another client.")
        if form.get("redirect_uri") != offer.redirect_uri:
            raise OAuthError("invalid_grant", "The redirect_uri is not the one the code was sent to.")
        if not offer.matches_verifier(form.get("code_verifier", "")):
            raise OAuthError("invalid_grant", "The code_verifier does not match the code_challenge.")
        _check_resource(form, offer.grant)
        return self._for_person(offer.grant)

    def _for_refresh_token(self, client: Client, form: Parameters) -> dict[str, object]:
        grant = self._refresh_tokens.take(required(form, "refresh_token"), client.id)
        _check_resource(form, grant)
        return self._for_person(grant)

    def _for_person(self, grant: Grant) -> dict[str, object]:
        person = PEOPLE[grant.person]
        answer = self._bearer(person, grant.resource, grant.client_id)
        answer["refresh_token"] = self._refresh_tokens.issue(grant)
        if "openid" in grant.scopes:
            answer["id_token"] = self._signer.id_token(person, grant)
        return answer

    def _for_machine(self, client: Client, form: Parameters) -> dict[str, object]:
        return self._bearer(AGENT, read_resource(form), client.id)

    def _bearer(self, subject: Subject, resource: str, client_id: str) -> dict[str, object]:
        token = self._signer.access_token(subject, resource, client_id, {})
        # The scope is that of the person's role; the scopes in the request do not change it.
        scope = {"scope": " ".join(subject.permissions)} if subject.permissions else {}
        return {"access_token": token, "token_type": "Bearer", "expires_in": LIFETIME, **scope}


def _check_resource(form: Parameters, grant: Grant) -> None:
    if form.get("resource", grant.resource) != grant.resource:
        raise OAuthError("invalid_target", "The resource is not the one of the grant.")


def _read_credentials(authorization: str | None, form: Parameters) -> tuple[str, str | None]:
    if authorization is None:
        return form.get("client_id", ""), form.get("client_secret")
    scheme, _, encoded = authorization.partition(" ")
    try:
        client_id, colon, secret = b64decode(encoded, validate=True).decode().partition(":")
    except (NotBase64, UnicodeDecodeError):
        colon = client_id = secret = ""
    if scheme.lower() != "basic" or not colon:
        raise OAuthError("invalid_client", "The Authorization header is not of the Basic scheme.", status=401)
    return unquote_plus(client_id), unquote_plus(secret)
