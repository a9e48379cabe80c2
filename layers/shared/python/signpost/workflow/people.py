"""The executor that asks people: it is done as soon as they are asked."""

from signpost.model import JsonObject, Principal
from signpost.ports import Clock, Ids
from signpost.workflow.instance import HUMAN_REQUEST, EvidenceItem, Request
from signpost.workflow.steps import Doing, Failed, Outcome

DEFAULT_QUEUE = "default"


class People:
    def __init__(self, *, clock: Clock, ids: Ids) -> None:
        self._clock = clock
        self._ids = ids

    def perform(self, doing: Doing, principal: Principal) -> Outcome | Failed:
        settings, now = doing.executor.settings, self._clock.now()
        queue, expires = settings.get("queue", DEFAULT_QUEUE), settings.get("expiresMs")
        shows = settings.get("shows", [])
        if not isinstance(queue, str) or not isinstance(shows, list):
            return Failed("permanent_error", "A human executor has a `queue`, a text, and `shows`, a list of names.")
        request = Request(
            id=f"hr_{self._ids.new()}",
            queue=queue,
            asked_by=principal.subject,
            asked_at=now,
            expires_at=now + expires / 1000 if isinstance(expires, int | float) else None,
            shown=tuple(name for name in shows if isinstance(name, str)),
        )
        output: JsonObject = {"queue": queue, "requestId": request.id, "status": "queued"}
        evidence = EvidenceItem(HUMAN_REQUEST, principal.subject, {"id": request.id, "queue": queue})
        return Outcome(output, (evidence,), request)
