"""Refusals are values with stable codes; one table each says what they are on the wire."""

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
    """A JSON-RPC error: the request was not carried out."""

    code: int
    message: str
    data: Json = None


class Unavailable(Exception):  # noqa: N818 - it names a state of the world, as the answer 503 does
    """Something this answer depends on cannot be reached now; the same request may succeed later."""


class Withheld(Exception):  # noqa: N818 - it names what was done with what was asked for
    """Something this answer depends on is not there, or not for us; the same request will fail again."""


class DeadlinePassed(BaseException):
    """The time for this answer is over. Not an Exception, so that nothing on its way takes it for an ordinary one."""
