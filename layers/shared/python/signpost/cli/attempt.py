"""One authorization request, with the secrets that tie its answer to it (RFC 7636, 8252, 8707, 9207)."""

import secrets
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import field
from hashlib import sha256
from urllib.parse import urlencode

from signpost.cli.discovery import Authority, Server
from signpost.cli.failure import CommandFailed
from signpost.records import dataclass


def _secret() -> str:
    return secrets.token_urlsafe(48)


@dataclass(frozen=True, slots=True)
class Attempt:
    server: Server
    authority: Authority
    client_id: str
    state: str = field(default_factory=_secret, repr=False)
    verifier: str = field(default_factory=_secret, repr=False)

    def page(self, redirect_uri: str) -> str:
        query = {
            "response_type": "code",
            "client_id": self.client_id,
            "redirect_uri": redirect_uri,
            "state": self.state,
            "code_challenge": self._challenge(),
            "code_challenge_method": "S256",
            "resource": self.server.resource,
        }
        if scopes := self._scopes():
            query["scope"] = " ".join(scopes)
        joint = "&" if "?" in self.authority.authorization_endpoint else "?"
        return f"{self.authority.authorization_endpoint}{joint}{urlencode(query)}"

    def code(self, response: Mapping[str, str]) -> str:
        named = response.get("iss")
        if (named is None and self.authority.names_itself) or named not in {None, self.authority.issuer}:
            raise CommandFailed("The answer came from another issuer than the one asked. Run `signpost login` again.")
        if "code" not in response:
            raise CommandFailed(f"The login was not completed: {reason(response)}. Run `signpost login` again.")
        return response["code"]

    def _challenge(self) -> str:
        return urlsafe_b64encode(sha256(self.verifier.encode()).digest()).rstrip(b"=").decode()

    def _scopes(self) -> tuple[str, ...]:
        """What the server names, and what it takes to be given a refresh token."""
        to_refresh = {"offline_access"} & set(self.authority.scopes) - set(self.server.scopes)
        return (*self.server.scopes, *to_refresh)


def reason(fields: Mapping[str, object]) -> str:
    """What an OAuth error says, on one line that a terminal shows as it is."""
    said = fields.get("error_description") or fields.get("error") or "no reason was given"
    printable = "".join(letter for letter in str(said) if letter.isprintable())
    return printable[:200].rstrip(".")
