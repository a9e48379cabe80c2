"""Instances of workflows, in memory."""

from collections.abc import Sequence
from threading import Lock

from signpost.workflow import story
from signpost.workflow.instance import AuditEvent, Entry, EvidenceItem, Hop, Instance, Waiting

type _Key = tuple[str, str]


class MemoryInstances:
    """Kept as text, as the real ones are: what cannot be written must fail here too."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._rows: dict[_Key, tuple[int, str, str, str]] = {}
        self._history: dict[_Key, list[str]] = {}
        self._audit: dict[_Key, list[tuple[str, str, str]]] = {}
        self._waiting: dict[_Key, str] = {}
        """By tenant and request."""

    def load(self, tenant: str, workflow_id: str) -> Instance | None:
        row = self._rows.get((tenant, workflow_id))
        return story.instance_of(workflow_id, *row[1:]) if row else None

    def save(self, tenant: str, entry: Entry, *, replacing: int | None) -> bool:
        instance, key = entry.instance, (tenant, entry.instance.id)
        row = (
            instance.version,
            story.head_text(instance),
            story.text_of(instance.context),
            story.text_of(instance.input),
        )
        with self._lock:
            there = self._rows.get(key)
            if (there[0] if there else None) != replacing:
                return False
            self._rows[key] = row
            self._history.setdefault(key, []).append(story.history_text(entry))
            self._note(key, entry.events)
            if (waiting := story.open_request(instance)) is not None:
                self._waiting[tenant, waiting.request.id] = story.waiting_text(waiting)
            if entry.closed is not None:
                self._waiting.pop((tenant, entry.closed), None)
            return True

    def note(self, tenant: str, workflow_id: str, events: Sequence[AuditEvent]) -> None:
        with self._lock:
            self._note((tenant, workflow_id), events)

    def waiting(self, tenant: str) -> Sequence[Waiting]:
        found = [story.waiting_of(text) for (owner, _), text in self._waiting.items() if owner == tenant]
        return sorted(found, key=lambda waiting: waiting.request.asked_at)

    def history(self, tenant: str, workflow_id: str) -> Sequence[tuple[Sequence[Hop], Sequence[EvidenceItem]]]:
        return [story.history_of(text) for text in self._history.get((tenant, workflow_id), ())]

    def audit(self, tenant: str, workflow_id: str) -> Sequence[AuditEvent]:
        noted = self._audit.get((tenant, workflow_id), ())
        return [event for text, correlation, subject in noted for event in story.audit_of(text, correlation, subject)]

    def _note(self, key: _Key, events: Sequence[AuditEvent]) -> None:
        if events:
            noted = (story.audit_text(events), events[0].correlation_id, events[0].subject)
            self._audit.setdefault(key, []).append(noted)
