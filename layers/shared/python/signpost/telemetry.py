"""Writes the logs and metrics of a Lambda function: one structured line and one metric set per request.

Names, ids, counts and times are logged; arguments, results and secrets never are. Exceptions are therefore logged by
type and place, not by their message, which may quote the caller's input.
"""

import time
import traceback
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from aws_lambda_powertools import Logger
from aws_lambda_powertools.metrics import EphemeralMetrics, MetricUnit
from botocore.exceptions import ClientError

from signpost.model import JsonObject, Principal, Trace

if TYPE_CHECKING:
    from signpost.policy.policy_items import PolicyItem
    from signpost.policy.rules import PolicyDecision

NAMESPACE = "Signpost"
NO_CLIENT: JsonObject = {}
LONGEST_NAME = 64
"""Characters of the name of a client, and of its version."""


class RequestRecord:
    """The facts about one request, collected while it is answered."""

    def __init__(self, method: str, path: str) -> None:
        self.method = method
        self.path = path
        self.started = time.perf_counter()
        self.operation = "none"
        self.status = 0
        self.fault: BaseException | None = None

    def set_status(self, status: int) -> None:
        self.status = status

    def set_fault(self, fault: BaseException) -> None:
        self.fault = fault

    @property
    def outcome(self) -> str:
        if self.fault is not None:
            return "fault"
        return "answered" if self.status < 400 else "refused"

    @property
    def milliseconds(self) -> float:
        return round((time.perf_counter() - self.started) * 1000, 2)


class Telemetry:
    def __init__(self, service: str) -> None:
        self._logger = Logger(service=service)
        self._metrics = EphemeralMetrics(namespace=NAMESPACE, service=service)
        self._record = RequestRecord("", "")

    @contextmanager
    def record_request(self, request_id: str, method: str, path: str) -> Generator[RequestRecord]:
        self._record = record = RequestRecord(method, path)
        self._logger.append_keys(
            request_id=request_id, trace_id=None, tenant=None, principal=None, client=None, workflow=None
        )
        yield record
        self._write_record(record)

    def add_principal(self, principal: Principal) -> None:
        self._logger.append_keys(tenant=principal.tenant, principal=principal.subject)

    def add_workflow(self, tenant: str, workflow_id: str) -> None:
        self._logger.append_keys(tenant=tenant, workflow=workflow_id)

    def add_dispatch(self, operation: str, trace: Trace | None = None, client: JsonObject = NO_CLIENT) -> None:
        """Add the facts of a dispatched request. `client` is the name and version that the client gives itself."""
        self._record.operation = operation
        self._logger.append_keys(trace_id=trace.trace_id if trace else None, client=_name_client(client))

    def log_abandoned_call(self, thread: str) -> None:
        """Logs a thread whose call was abandoned at its deadline."""
        self._logger.warning("left behind", extra={"thread_name": thread})

    def log_delivery_failure(self, tenant: str, delivery: str, kind: str, failure: str) -> None:
        """Logs a failed delivery to a subscriber, without its address, which may be a secret."""
        facts = {"tenant": tenant, "delivery": delivery, "kind": kind, "failure": failure}
        self._logger.warning("not delivered", extra=facts)

    def log_breaker(
        self, tenant: str, function: str, position: str, failure: str | None, stopped: str | None = None
    ) -> None:
        """Logs that the breaker of a function opened or closed: for one principal or, without `stopped`, for all."""
        facts = {"tenant": tenant, "function": function, "failure": failure, "stopped": stopped or "all callers"}
        # Logged as an error, so that no LogLevel hides the line from the alarm that depends on it.
        self._logger.error("breaker %s", position, extra=facts)

    def log_denial(self, item: "PolicyItem", decision: "PolicyDecision") -> None:
        """Logs the denial of an item that was requested by name and answered as not existing."""
        self._logger.info("denied", extra={"item": item[0], "rule": decision.rule, "reason": decision.reason})

    def _write_record(self, record: RequestRecord) -> None:
        if record.fault is not None:
            self._logger.error("failed", extra=_describe_fault(record.fault))
        facts = {"method": record.method, "path": record.path[:128], "operation": record.operation}
        self._logger.info("answered", extra={**facts, "status": record.status, "ms": record.milliseconds})
        self._metrics.add_dimension("operation", record.operation)
        self._metrics.add_dimension("outcome", record.outcome)
        self._metrics.add_metric("Calls", MetricUnit.Count, 1)
        self._metrics.add_metric("Latency", MetricUnit.Milliseconds, record.milliseconds)
        self._metrics.flush_metrics()


def _name_client(client: JsonObject) -> str | None:
    words = [client.get(member) for member in ("name", "version")]
    return " ".join(word[:LONGEST_NAME] for word in words if isinstance(word, str)) or None


def _describe_fault(fault: BaseException) -> dict[str, object]:
    frames = traceback.extract_tb(fault.__traceback__)
    place = [f"{frame.filename.rsplit('/python/', 1)[-1]}:{frame.lineno} {frame.name}" for frame in frames]
    cause = fault if isinstance(fault, ClientError) else fault.__cause__
    aws = cause.response.get("Error", {}).get("Code") if isinstance(cause, ClientError) else None
    return {"fault": type(fault).__name__, "aws_error": aws, "frames": place}
