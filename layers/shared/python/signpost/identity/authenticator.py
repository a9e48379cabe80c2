"""Authenticates a request by its access token or API key, or as the anonymous caller."""

import ipaddress
from typing import Protocol

from signpost.identity import api_keys, bearer
from signpost.identity.denial import NO_CREDENTIALS, Denial, DenialReason
from signpost.model import Principal

_KEYS_NOT_ACCEPTED = Denial(DenialReason.NOT_ACCEPTED, "API keys are not accepted here; send an access token.")
_TOKENS_NOT_ACCEPTED = Denial(DenialReason.NOT_ACCEPTED, "Access tokens are not accepted here; send an API key.")


class CredentialAuthenticator(Protocol):
    def authenticate(self, credential: str) -> Principal | Denial: ...


class Authenticator:
    """Chooses the authenticator for a credential. One that is None accepts nothing.

    `anonymous` is the principal of requests without credentials from the loopback address.
    """

    def __init__(
        self,
        *,
        tokens: CredentialAuthenticator | None,
        keys: CredentialAuthenticator | None,
        anonymous: Principal | None,
    ) -> None:
        self._tokens = tokens
        self._keys = keys
        self._anonymous = anonymous

    def authenticate(self, header: str | None, source_ip: str) -> Principal | Denial:
        credential = bearer.parse_credential(header)
        if credential is NO_CREDENTIALS and self._anonymous is not None and _is_loopback(source_ip):
            return self._anonymous
        if isinstance(credential, Denial):
            return credential
        if credential.startswith(api_keys.PREFIX):
            return self._keys.authenticate(credential) if self._keys else _KEYS_NOT_ACCEPTED
        return self._tokens.authenticate(credential) if self._tokens else _TOKENS_NOT_ACCEPTED


def _is_loopback(source_ip: str) -> bool:
    try:
        return ipaddress.ip_address(source_ip).is_loopback
    except ValueError:
        return False
