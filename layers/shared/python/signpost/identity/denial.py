"""Why a caller was not let in, and what the answer tells it."""

from enum import StrEnum

from signpost.records import dataclass


class Reason(StrEnum):
    MISSING = "missing"
    MALFORMED = "malformed"
    INVALID = "invalid"
    EXPIRED = "expired"
    REVOKED = "revoked"
    NOT_ACCEPTED = "not_accepted"
    NOT_A_TENANT = "not_a_tenant"


@dataclass(frozen=True, slots=True)
class Denial:
    reason: Reason
    message: str


NO_CREDENTIALS = Denial(
    Reason.MISSING,
    "Credentials are missing. Send them in the header `Authorization: Bearer <token>`; "
    "a token in the URL or the body is not read.",
)
