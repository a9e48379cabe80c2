"""Logs and metrics of a function: one structured line and one metric set a request.

Names, ids, counts and times go in; arguments, results and secrets never do. Hence exceptions are logged by
type and place, not by their message, which may quote what a caller sent.
"""

import time
import traceback
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from aws_lambda_powertools import Logger
from aws_lambda_powertools.metrics import EphemeralMetrics, MetricUnit
from botocore.exceptions import ClientError

from signpost.model import Principal, Trace

if TYPE_CHECKING:
    from signpost.policy.items import Item
    from signpost.policy.rules import Decision

NAMESPACE = "Signpost"


class Record:
    """What becomes known of one request while it is answered."""

    def __init__(self, method: str, path: str) -> None:
        self.method = method
        self.path = path
        self.started = time.perf_counter()
        self.operation = "none"
        self.status = 0
        self.fault: BaseException | None = None

    def answered(self, status: int) -> None:
        self.status = status

    def failed(self, fault: BaseException) -> None:
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
        self._record = Record("", "")

    @contextmanager
    def request(self, request_id: str, method: str, path: str) -> Generator[Record]:
        self._record = record = Record(method, path)
        self._logger.append_keys(request_id=request_id, trace_id=None, tenant=None, principal=None, workflow=None)
        yield record
        self._report(record)

    def identified(self, principal: Principal) -> None:
        self._logger.append_keys(tenant=principal.tenant, principal=principal.subject)

    def woken(self, tenant: str, workflow_id: str) -> None:
        self._logger.append_keys(tenant=tenant, workflow=workflow_id)

    def dispatched(self, operation: str, trace: Trace | None) -> None:
        self._record.operation = operation
        self._logger.append_keys(trace_id=trace.trace_id if trace else None)

    def left_behind(self, thread: str) -> None:
        """A thread that nobody waits for any more."""
        self._logger.warning("left behind", extra={"thread_name": thread})

    def not_delivered(self, tenant: str, delivery: str, kind: str, failure: str) -> None:
        """An attempt to tell a subscriber of a change. Its address is not said: it may be a secret."""
        facts = {"tenant": tenant, "delivery": delivery, "kind": kind, "failure": failure}
        self._logger.warning("not delivered", extra=facts)

    def breaker(self, tenant: str, function: str, position: str, failure: str | None) -> None:
        """A function is left alone from now on, or called again."""
        facts = {"tenant": tenant, "function": function, "failure": failure}
        # An alarm waits for the line, whatever LogLevel says.
        self._logger.error("breaker %s", position, extra=facts)

    def denied(self, item: "Item", decision: "Decision") -> None:
        """What was asked for by name, and answered as what is not there."""
        self._logger.info("denied", extra={"item": item[0], "rule": decision.rule, "reason": decision.reason})

    def _report(self, record: Record) -> None:
        if record.fault is not None:
            self._logger.error("failed", extra=_place(record.fault))
        facts = {"method": record.method, "path": record.path[:128], "operation": record.operation}
        self._logger.info("answered", extra={**facts, "status": record.status, "ms": record.milliseconds})
        self._metrics.add_dimension("operation", record.operation)
        self._metrics.add_dimension("outcome", record.outcome)
        self._metrics.add_metric("Calls", MetricUnit.Count, 1)
        self._metrics.add_metric("Latency", MetricUnit.Milliseconds, record.milliseconds)
        self._metrics.flush_metrics()


def _place(fault: BaseException) -> dict[str, object]:
    frames = traceback.extract_tb(fault.__traceback__)
    place = [f"{frame.filename.rsplit('/python/', 1)[-1]}:{frame.lineno} {frame.name}" for frame in frames]
    cause = fault if isinstance(fault, ClientError) else fault.__cause__
    aws = cause.response.get("Error", {}).get("Code") if isinstance(cause, ClientError) else None
    return {"fault": type(fault).__name__, "aws_error": aws, "frames": place}
