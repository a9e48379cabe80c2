"""Who is calling: one decision for all ways of saying so."""

import ipaddress
from typing import Protocol

from signpost.identity import api_keys, bearer
from signpost.identity.denial import NO_CREDENTIALS, Denial, Reason
from signpost.model import Principal

_KEYS_NOT_ACCEPTED = Denial(Reason.NOT_ACCEPTED, "API keys are not accepted here; send an access token.")
_TOKENS_NOT_ACCEPTED = Denial(Reason.NOT_ACCEPTED, "Access tokens are not accepted here; send an API key.")


class CredentialAuthenticator(Protocol):
    def authenticate(self, credential: str) -> Principal | Denial: ...


class Authenticator:
    """What is None is not accepted. `anonymous` is the caller without credentials from the loopback address."""

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
        credential = bearer.credential(header)
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
