"""Authenticates direct invocations of a function of the stack.

IAM decides which callers may invoke it. An invocation without a credential counts as the operator's; a credential is
judged like the Authorization header of a request.
"""

from collections.abc import Mapping
from typing import Any

from signpost.identity.authenticator import Authenticator
from signpost.identity.denial import Denial, DenialReason
from signpost.model import Principal

CREDENTIAL_FIELD = "authorization"
_NO_CREDENTIAL = Denial(
    DenialReason.MALFORMED,
    f"`{CREDENTIAL_FIELD}` must be a text like `Bearer <API key or access token>`; leave it out to act as operator.",
)


class InvocationAuthenticator:
    def __init__(self, *, operator: Principal, authenticator: Authenticator, problem: str | None) -> None:
        """`authenticator` must accept no anonymous caller. `problem` says why no credential can be judged in this
        stack."""
        self._operator = operator
        self._authenticator = authenticator
        self._problem = problem

    def __call__(self, event: Mapping[str, Any]) -> Principal | Denial:
        """Returns the principal of an invocation. A refused credential is a denial, never the operator: a caller that
        sends one does not mean to act as the operator."""
        if CREDENTIAL_FIELD not in event:
            return self._operator
        header = event[CREDENTIAL_FIELD]
        if not isinstance(header, str) or not header.strip():
            return _NO_CREDENTIAL
        if self._problem is not None:
            return Denial(DenialReason.NOT_ACCEPTED, self._problem)
        return self._authenticator.authenticate(header, source_ip="")
