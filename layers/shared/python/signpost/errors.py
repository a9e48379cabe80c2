"""Errors and their stable codes. A refusal is a value; each surface maps the codes to its wire form in one table."""

from signpost.model import Json
from signpost.records import dataclass

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
HEADER_MISMATCH = -32020
CAPABILITY_MISSING = -32021
VERSION_UNSUPPORTED = -32022


@dataclass(frozen=True, slots=True)
class Rejection:
    """A JSON-RPC error for a request that was not carried out."""

    code: int
    message: str
    data: Json = None


class Unavailable(Exception):  # noqa: N818 - named after a state, as HTTP status 503 is
    """A dependency cannot be reached now; the same request may succeed later."""


class PermanentlyUnavailable(Exception):  # noqa: N818 - named after a state, as above
    """A dependency does not exist or is withheld from this stack; the same request will fail again."""


class DeadlinePassed(BaseException):
    """The deadline of the answer has passed. A BaseException, so that no handler of ordinary exceptions catches it."""
