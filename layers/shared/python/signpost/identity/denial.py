"""The reasons for which a credential is not accepted, with the message to the caller."""

from enum import StrEnum

from signpost.records import dataclass


class DenialReason(StrEnum):
    MISSING = "missing"
    MALFORMED = "malformed"
    INVALID = "invalid"
    EXPIRED = "expired"
    REVOKED = "revoked"
    NOT_ACCEPTED = "not_accepted"
    NOT_A_TENANT = "not_a_tenant"


@dataclass(frozen=True, slots=True)
class Denial:
    reason: DenialReason
    message: str


NO_CREDENTIALS = Denial(
    DenialReason.MISSING,
    "Credentials are missing. Send them in the header `Authorization: Bearer <token>`; "
    "a token in the URL or the body is not read.",
)
