"""Which failures of AWS are worth another attempt."""

from collections.abc import Callable

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError, ReadTimeoutError

from signpost.adapters.aws import call
from signpost.errors import Unavailable

PASSING = (
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
LASTING = ("AccessDenied", "AccessDeniedException", "NoSuchBucket", "NoSuchKey", "ValidationException", "")


def failing(fault: Exception) -> Callable[[], object]:
    def operation() -> object:
        raise fault

    return operation


def refused(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": "in the way"}}, "Operation")


@pytest.mark.parametrize("code", PASSING)
def test_an_overload_and_a_fault_of_theirs_may_pass(code: str) -> None:
    with pytest.raises(Unavailable):
        call(failing(refused(code)))


@pytest.mark.parametrize("code", LASTING)
def test_what_is_a_fault_of_ours_stays_one(code: str) -> None:
    with pytest.raises(ClientError):
        call(failing(refused(code)))


@pytest.mark.parametrize(
    "fault", [EndpointConnectionError(endpoint_url="http://nowhere"), ReadTimeoutError(endpoint_url="http://nowhere")]
)
def test_what_cannot_be_reached_may_come_back(fault: Exception) -> None:
    with pytest.raises(Unavailable):
        call(failing(fault))
