"""Who invokes a function of the stack directly. IAM decides who may, and whoever does is the operator, unless the
invocation carries a credential: then it is judged like the header of a request."""

from collections.abc import Mapping
from typing import Any

from signpost.identity.authenticator import Authenticator
from signpost.identity.denial import Denial, Reason
from signpost.model import Principal

FIELD = "authorization"
_NO_CREDENTIAL = Denial(
    Reason.MALFORMED,
    f"`{FIELD}` must be a text like `Bearer <API key or access token>`; leave it out to be the operator.",
)


class Invokers:
    def __init__(self, *, operator: Principal, authenticator: Authenticator, problem: str | None) -> None:
        """The authenticator knows nobody anonymous. A problem is why no credential can be judged here."""
        self._operator = operator
        self._authenticator = authenticator
        self._problem = problem

    def __call__(self, event: Mapping[str, Any]) -> Principal | Denial:
        """A credential that does not hold is never taken for the operator: who sends one means to be somebody."""
        if FIELD not in event:
            return self._operator
        header = event[FIELD]
        if not isinstance(header, str) or not header.strip():
            return _NO_CREDENTIAL
        if self._problem is not None:
            return Denial(Reason.NOT_ACCEPTED, self._problem)
        return self._authenticator.authenticate(header, source_ip="")
