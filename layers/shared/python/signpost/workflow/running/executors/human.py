"""The executor that asks people for approval. It is done as soon as the request is made."""

from typing import TYPE_CHECKING

from signpost.model import REQUEST_ID_PREFIX, JsonObject
from signpost.workflow.engine.steps import ExecutorFailure, ExecutorOutcome
from signpost.workflow.instance import HUMAN_REQUEST, ApprovalRequest, EvidenceItem
from signpost.workflow.ports import StepExecutor

if TYPE_CHECKING:
    from signpost.ports import Clock, Ids
    from signpost.workflow.ports import StepAttempt

DEFAULT_QUEUE = "default"


def new_request_id(now: float, unique: str) -> str:
    """Return an id that begins with the time in milliseconds: rows of requests are sorted by it, newest last."""
    return f"{REQUEST_ID_PREFIX}{round(now * 1000):012x}{unique}"


class HumanExecutor(StepExecutor):
    """The step executor of the kind `human`."""

    def __init__(self, *, clock: "Clock", ids: "Ids") -> None:
        self._clock = clock
        self._ids = ids

    def perform(self, attempt: "StepAttempt") -> ExecutorOutcome | ExecutorFailure:
        settings, subject, now = attempt.executor.settings, attempt.principal.person, self._clock.now()
        queue, expires = settings.get("queue", DEFAULT_QUEUE), settings.get("expiresMs")
        shows = settings.get("shows", [])
        if not isinstance(queue, str) or not isinstance(shows, list):
            return ExecutorFailure(
                "permanent_error", "In a human executor, `queue` must be a text and `shows` a list of names."
            )
        request = ApprovalRequest(
            id=new_request_id(now, self._ids.new()),
            queue=queue,
            asked_by=subject,
            asked_at=now,
            expires_at=now + expires / 1000 if isinstance(expires, int | float) else None,
            shown=tuple(name for name in shows if isinstance(name, str)),
        )
        output: JsonObject = {"queue": queue, "requestId": request.id, "status": "queued"}
        evidence = EvidenceItem(HUMAN_REQUEST, subject, {"id": request.id, "queue": queue})
        return ExecutorOutcome(output, (evidence,), request)
