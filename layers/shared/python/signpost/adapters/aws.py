"""Calls of AWS services, with transient failures turned into Unavailable; other failures are faults of this code."""

from collections.abc import Callable
from typing import Any

from botocore.exceptions import ClientError, ConnectionError, HTTPClientError  # noqa: A004 - botocore's own

from signpost.errors import Unavailable

TRANSIENT_CODES = frozenset({
    "InternalError",
    "InternalServerError",
    "InternalServiceError",
    "LimitExceededException",
    "ProvisionedThroughputExceededException",
    "RequestLimitExceeded",
    "RequestTimeout",
    "ServiceUnavailable",
    "SlowDown",
    "ThrottlingException",
})  # fmt: skip
"""Error codes of transient failures; S3 has codes of its own."""


def call[Answer](operation: Callable[..., Answer], **arguments: Any) -> Answer:
    """Call an operation of a client. Raises Unavailable on a transient failure after the client's own attempts."""
    try:
        return operation(**arguments)
    except (ConnectionError, HTTPClientError) as fault:
        raise Unavailable("An AWS service that this request needs cannot be reached.") from fault
    except ClientError as fault:
        if code_of(fault) in TRANSIENT_CODES:
            raise Unavailable("An AWS service that this request needs is overloaded.") from fault
        raise


def code_of(fault: ClientError) -> str:
    return fault.response.get("Error", {}).get("Code", "")
