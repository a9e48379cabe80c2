"""Instances of workflows, in memory."""

from collections.abc import Sequence
from dataclasses import replace
from threading import Lock

from signpost.records import dataclass
from signpost.wakes import Wake
from signpost.workflow import story
from signpost.workflow.instance import AuditEvent, Claim, Entry, EvidenceItem, Hop, Instance, Stand, Waiting

type _Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class _Row:
    version: int
    token: str | None
    """Of the claim."""
    releases: int
    head: str
    context: str
    given: str
    claim: tuple[str, str] | None

    @property
    def stand(self) -> Stand:
        return Stand(self.version, self.token, self.releases)

    def instance(self, workflow_id: str) -> Instance:
        claim = story.claim_of(*self.claim) if self.claim is not None else None
        return story.instance_of(workflow_id, self.head, self.context, self.given, claim)


def _row_of(entry: Entry) -> _Row:
    instance = entry.instance
    return _Row(
        version=instance.version,
        token=instance.stand.token,
        releases=instance.releases,
        head=story.head_text(instance),
        context=story.text_of(instance.context),
        given=story.text_of(instance.input),
        claim=_claim_texts(instance.claim) if instance.claim is not None else None,
    )


def _claim_texts(claim: Claim) -> tuple[str, str]:
    return story.claim_text(claim), story.text_of(claim.job.arguments)


class MemoryInstances:
    """Kept as text, as the real ones are: what cannot be written must fail here too."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._rows: dict[_Key, _Row] = {}
        self._written: set[str] = set()
        """The tokens of all that was."""
        self._history: dict[_Key, list[str]] = {}
        self._audit: dict[_Key, list[tuple[str, str, str]]] = {}
        self._waiting: dict[_Key, str] = {}
        """By tenant and request."""
        self._due: dict[_Key, float] = {}
        self.wakes: list[tuple[str, Wake]] = []
        """With their tenants; whoever takes one up takes it out."""

    def load(self, tenant: str, workflow_id: str) -> Instance | None:
        row = self._rows.get((tenant, workflow_id))
        return row.instance(workflow_id) if row is not None else None

    def save(self, tenant: str, entry: Entry, *, replacing: Stand | None) -> bool:
        instance, key = entry.instance, (tenant, entry.instance.id)
        row = _row_of(entry)
        with self._lock:
            there = self._rows.get(key)
            if entry.token in self._written:
                return True
            if (there.stand if there is not None else None) != replacing:
                return False
            self._rows[key] = row
            if entry.token:
                self._written.add(entry.token)
            self._become_due(key, entry.due_at)
            self.wakes += [(tenant, wake) for wake in entry.wakes]
            if replacing is None or replacing.version != instance.version:
                self._history.setdefault(key, []).append(story.history_text(entry))
            self._note(key, entry.events)
            if (waiting := story.open_request(instance)) is not None:
                self._waiting[tenant, waiting.request.id] = story.waiting_text(waiting)
            if entry.closed is not None:
                self._waiting.pop((tenant, entry.closed), None)
            return True

    def hold(
        self, tenant: str, workflow_id: str, claim: Claim, *, replacing: Stand, due_at: float | None
    ) -> Claim | None:
        key = (tenant, workflow_id)
        with self._lock:
            there = self._rows.get(key)
            if there is None or there.version != replacing.version:
                return None
            if there.stand != replacing:
                return there.instance(workflow_id).claim
            self._rows[key] = replace(there, claim=_claim_texts(claim), token=claim.token)
            self._become_due(key, due_at)
            return claim

    def due(self, until: float) -> Sequence[tuple[str, str]]:
        """The tenants and ids of what is due until then, the earliest first."""
        return [key for key, at in sorted(self._due.items(), key=lambda item: item[1]) if at <= until]

    def _become_due(self, key: _Key, at: float | None) -> None:
        if at is None:
            self._due.pop(key, None)
        else:
            self._due[key] = at

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
