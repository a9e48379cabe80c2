"""Which failures of AWS are worth another attempt."""

from collections.abc import Callable

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError, ReadTimeoutError

from signpost.adapters.aws import call
from signpost.errors import Unavailable

TRANSIENT_CODES = (
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
)
PERMANENT_CODES = ("AccessDenied", "AccessDeniedException", "NoSuchBucket", "NoSuchKey", "ValidationException", "")


def failing_operation(fault: Exception) -> Callable[[], object]:
    def operation() -> object:
        raise fault

    return operation


def client_error(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": "in the way"}}, "Operation")


@pytest.mark.parametrize("code", TRANSIENT_CODES)
def test_overloads_and_aws_faults_are_unavailable(code: str) -> None:
    with pytest.raises(Unavailable):
        call(failing_operation(client_error(code)))


@pytest.mark.parametrize("code", PERMANENT_CODES)
def test_other_client_errors_are_raised_unchanged(code: str) -> None:
    with pytest.raises(ClientError):
        call(failing_operation(client_error(code)))


@pytest.mark.parametrize(
    "fault", [EndpointConnectionError(endpoint_url="http://nowhere"), ReadTimeoutError(endpoint_url="http://nowhere")]
)
def test_connection_errors_are_unavailable(fault: Exception) -> None:
    with pytest.raises(Unavailable):
        call(failing_operation(fault))
