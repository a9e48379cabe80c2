"""Reads that may fail one by one: what could not be read is kept with the reason, and never counts as sound."""

from collections.abc import Callable, Sequence

from botocore.exceptions import BotoCoreError, ClientError

from signpost.adapters.aws import code_of
from signpost.cli.doctor.findings import Unseen
from signpost.cli.doctor.readers.examined_stack import MissingOutput
from signpost.cli.failure import CommandFailed
from signpost.errors import PermanentlyUnavailable, Unavailable

EXPECTED = (BotoCoreError, ClientError, CommandFailed, MissingOutput, PermanentlyUnavailable, Unavailable)
"""The exceptions with which a read fails. Every other one is a fault of this command."""
DENIED = frozenset({
    "AccessDenied", "AccessDeniedException", "AuthorizationError", "AuthorizationErrorException", "Forbidden", "403",
    "UnauthorizedOperation",
})  # fmt: skip
UNSUPPORTED = frozenset({
    "InvalidAction", "NotImplemented", "NotImplementedException", "UnknownOperation", "UnknownOperationException",
    "UnsupportedOperation",
})  # fmt: skip
MISSING = frozenset({
    "404", "AWS.SimpleQueueService.NonExistentQueue", "NoSuchEntity", "NotFound", "NotFoundException",
    "QueueDoesNotExist", "ResourceNotFound", "ResourceNotFoundException",
})  # fmt: skip
"""Codes with which AWS answers that there is no such resource."""


class PartialReads:
    """The reads of one check."""

    def __init__(self) -> None:
        self._unseen: list[Unseen] = []

    @property
    def unseen(self) -> Sequence[Unseen]:
        return tuple(self._unseen)

    def read[Value](self, subject: str, read: Callable[[], Value]) -> Value | None:
        """Return what `read` returns. None if it fails; the failure is listed as unseen."""
        try:
            return read()
        except EXPECTED as fault:
            self.miss(subject, describe_fault(fault))
            return None

    def miss(self, subject: str, reason: str) -> None:
        self._unseen.append(Unseen(subject, reason))


def describe_fault(fault: Exception) -> str:
    if not isinstance(fault, ClientError):
        return str(fault)
    code, message = code_of(fault), fault.response.get("Error", {}).get("Message", "")
    if code in DENIED:
        return f"Your credentials may not: {fault.operation_name} is denied. {message}".rstrip()
    if code in UNSUPPORTED or _is_not_implemented(fault):
        return f"This endpoint of AWS does not have {fault.operation_name}."
    return f"{fault.operation_name} failed: {code} {message}".rstrip()


def read_existing[Description](describe: Callable[[], Description]) -> Description | None:
    """Return a description; None if AWS answers that there is no such resource."""
    try:
        return describe()
    except ClientError as fault:
        if is_missing(fault):
            return None
        raise


def is_missing(fault: ClientError) -> bool:
    return code_of(fault) in MISSING


def _is_not_implemented(fault: ClientError) -> bool:
    return fault.response.get("ResponseMetadata", {}).get("HTTPStatusCode") == 501
