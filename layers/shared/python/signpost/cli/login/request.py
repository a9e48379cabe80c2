"""One authorization request, with the secrets that bind the answer to it (RFC 7636, 8252, 8707, 9207)."""

import secrets
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import field
from hashlib import sha256
from urllib.parse import urlencode

from signpost.cli.failure import CommandFailed
from signpost.cli.login.metadata import AuthorityMetadata, ServerMetadata
from signpost.records import dataclass


def _new_secret() -> str:
    return secrets.token_urlsafe(48)


@dataclass(frozen=True, slots=True)
class AuthorizationRequest:
    """One attempt to log in to a server at its authorization server."""

    server: ServerMetadata
    authority: AuthorityMetadata
    client_id: str
    state: str = field(default_factory=_new_secret, repr=False)
    verifier: str = field(default_factory=_new_secret, repr=False)

    def page_url(self, redirect_uri: str) -> str:
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
        separator = "&" if "?" in self.authority.authorization_endpoint else "?"
        return f"{self.authority.authorization_endpoint}{separator}{urlencode(query)}"

    def read_code(self, response: Mapping[str, str]) -> str:
        """Return the authorization code. Raises CommandFailed for the answer of another issuer, or for an error."""
        issuer = response.get("iss")
        if (issuer is None and self.authority.sends_issuer) or issuer not in {None, self.authority.issuer}:
            advice = "Run `signpost login` again."
            raise CommandFailed(f"The answer to the login does not name the issuer {self.authority.issuer}. {advice}")
        if "code" not in response:
            raise CommandFailed(f"The login was not completed: {reason_of(response)}. Run `signpost login` again.")
        return response["code"]

    def _challenge(self) -> str:
        return urlsafe_b64encode(sha256(self.verifier.encode()).digest()).rstrip(b"=").decode()

    def _scopes(self) -> tuple[str, ...]:
        """Return the scopes of the server, and `offline_access` if the authority needs it to issue a refresh token."""
        to_refresh = {"offline_access"} & set(self.authority.scopes) - set(self.server.scopes)
        return (*self.server.scopes, *to_refresh)


def reason_of(fields: Mapping[str, object]) -> str:
    """Return the reason of an OAuth error as one printable line of at most 200 characters."""
    reason = fields.get("error_description") or fields.get("error") or "no reason was given"
    printable = "".join(character for character in str(reason) if character.isprintable())
    return printable[:200].rstrip(".")
