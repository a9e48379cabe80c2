"""Calls to AWS, told apart: what may work in a moment, and what is a fault of ours."""

from collections.abc import Callable
from typing import Any

from botocore.exceptions import ClientError, ConnectionError, HTTPClientError  # noqa: A004 - botocore's own

from signpost.errors import Unavailable

TRANSIENT = frozenset({
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
"""By their codes; S3 has words of its own."""


def call[Answer](operation: Callable[..., Answer], **arguments: Any) -> Answer:
    """The answer of an operation of a client. Raises Unavailable once the client's own attempts are used up."""
    try:
        return operation(**arguments)
    except (ConnectionError, HTTPClientError) as fault:
        raise Unavailable("A service that this needs cannot be reached.") from fault
    except ClientError as fault:
        if code_of(fault) in TRANSIENT:
            raise Unavailable("A service that this needs is overloaded.") from fault
        raise


def code_of(fault: ClientError) -> str:
    return fault.response.get("Error", {}).get("Code", "")
