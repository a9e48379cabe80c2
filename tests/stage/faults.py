"""Injects faults of the store into one request at a time: its header `x-faults` has the seed by which writes fail at
random."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import boto3
from botocore.exceptions import ConnectionClosedError, EndpointConnectionError

FAULTS_HEADER = "x-faults"
"""The header of a request with the seed, and of the answer with the faults that happened."""
FAULT_SHARES: Mapping[str, float] = {"PutItem": 0.3, "UpdateItem": 0.5, "TransactWriteItems": 0.5}
"""The share of writes that get a fault."""
REFUSAL_CODES = ("TransactionConflictException", "ThrottlingException", "ProvisionedThroughputExceededException")
CANCELLATION_CODES = ("TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded")
LOST_REQUEST, LOST_ANSWER = "lost request", "lost answer"
IN_PROGRESS_CODE = "TransactionInProgressException"


@dataclass(frozen=True, slots=True)
class RefusedResponse:
    """The part of an HTTP response that botocore reads from a refused request."""

    status_code: int = 400


class FaultInjector:
    """Fails DynamoDB calls at random while it is armed.

    Create it before the clients: they take the event handlers of the session when they are created.
    """

    def __init__(self) -> None:
        self._chance: random.Random | None = None
        self._loses_answer = False
        self._happened: list[str] = []
        if boto3.DEFAULT_SESSION is None:
            boto3.setup_default_session()
        session: Any = boto3.DEFAULT_SESSION
        session.events.register("before-call.dynamodb", self._leaves)
        session.events.register("after-call.dynamodb", self._answered)

    def arm(self, headers: Mapping[str, str]) -> None:
        seed = headers.get(FAULTS_HEADER)
        self._chance = random.Random(seed) if seed else None  # noqa: S311 - no secret
        self._happened = []

    @property
    def injected_faults(self) -> Sequence[str]:
        """The faults since it was armed."""
        return self._happened

    def _leaves(self, model: Any, **_: Any) -> tuple[RefusedResponse, Mapping[str, Any]] | None:
        """Return the answer to use in place of the call, or None if the call is sent."""
        self._loses_answer = False
        if self._chance is None or self._chance.random() >= FAULT_SHARES.get(model.name, 0):
            return None
        return self._hit(model.name, self._chance)

    def _hit(self, operation: str, chance: random.Random) -> tuple[RefusedResponse, Mapping[str, Any]] | None:
        is_transaction = operation == "TransactWriteItems"
        kind = chance.choice((LOST_REQUEST, LOST_ANSWER, "refused", "cancelled" if is_transaction else "refused"))
        self._happened.append(f"{operation} {kind}")
        if kind == LOST_REQUEST:
            raise EndpointConnectionError(endpoint_url="the table")
        if kind == LOST_ANSWER:
            self._loses_answer = True
            return None
        if kind == "cancelled":
            return RefusedResponse(), self._cancelled(chance)
        code = chance.choice((*REFUSAL_CODES, IN_PROGRESS_CODE) if is_transaction else REFUSAL_CODES)
        return RefusedResponse(), {"Error": {"Code": code, "Message": "a fault"}}

    def _answered(self, **_: Any) -> None:
        if self._loses_answer:
            self._loses_answer = False
            raise ConnectionClosedError(endpoint_url="the table")

    def _cancelled(self, chance: random.Random) -> Mapping[str, Any]:
        reasons = [{"Code": "None"}, {"Code": chance.choice(CANCELLATION_CODES), "Message": "a fault"}]
        error = {"Code": "TransactionCanceledException", "Message": "a fault"}
        return {"Error": error, "CancellationReasons": reasons}
