"""The store of workflow instances, in memory."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from threading import Lock

from signpost.adapters import keys
from signpost.records import dataclass
from signpost.workflow.hash_links import HashLink
from signpost.workflow.instance import (
    AuditEvent,
    Claim,
    EvidenceItem,
    Hop,
    Instance,
    InstanceWrite,
    OpenApproval,
    StoredTask,
    WriteCondition,
)
from signpost.workflow.run_summary import RunSummary, starter_key
from signpost.workflow.running import serialization
from signpost.workflow.running.linked_writes import hash_note
from signpost.workflow.running.summaries import summary_text
from signpost.workflow.running.verification import AuditRow, HistoryRow, RunRecord
from signpost.workflow.task_ends import TaskEnd
from signpost.workflow.wakes import Wake

type _InstanceKey = tuple[str, str]


@dataclass(frozen=True, slots=True)
class _InstanceRow:
    version: int
    token: str | None
    """The token of the claim."""
    releases: int
    head: str
    context: str
    input_text: str
    claim: tuple[str, str, str] | None

    @property
    def write_condition(self) -> WriteCondition:
        return WriteCondition(self.version, self.token, self.releases)

    def instance(self, workflow_id: str) -> Instance:
        claim = serialization.claim_of(*self.claim) if self.claim is not None else None
        return serialization.instance_of(workflow_id, self.head, self.context, self.input_text, claim)


@dataclass(frozen=True, slots=True)
class _HistoryText:
    version: int
    text: str
    link: str | None


@dataclass(frozen=True, slots=True)
class _AuditText:
    text: str
    correlation_id: str
    subject: str
    link: str | None
    own_hash: str | None

    @property
    def events(self) -> Sequence[AuditEvent]:
        return serialization.audit_of(self.text, self.correlation_id, self.subject)


def _link_text(link: HashLink | None) -> str | None:
    return None if link is None else serialization.link_text(link)


def _link_of(text: str | None) -> HashLink | None:
    return None if text is None else serialization.link_of(text)


def _row_of(entry: InstanceWrite) -> _InstanceRow:
    instance = entry.instance
    return _InstanceRow(
        version=instance.version,
        token=instance.write_condition.token,
        releases=instance.releases,
        head=serialization.head_text(instance),
        context=serialization.text_of(instance.context),
        input_text=serialization.text_of(instance.input),
        claim=_claim_texts(instance.claim) if instance.claim is not None else None,
    )


def _claim_texts(claim: Claim) -> tuple[str, str, str]:
    return (
        serialization.claim_text(claim),
        serialization.text_of(claim.job.arguments),
        serialization.questions_text(claim),
    )


class MemoryInstanceStore:
    """Keeps instances as text, as the DynamoDB store does, so that a value without a text form fails here, too."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._rows: dict[_InstanceKey, _InstanceRow] = {}
        self._saved_tokens: set[str] = set()
        """The tokens of all entries that were saved."""
        self._history: dict[_InstanceKey, list[_HistoryText]] = {}
        self._audit: dict[_InstanceKey, list[_AuditText]] = {}
        self._open_approvals: dict[_InstanceKey, tuple[str, str | None]] = {}
        """The open approvals with the summaries of their runs, by tenant and request."""
        self._runs: dict[tuple[str, str | None], dict[str, str]] = {}
        """The summaries of runs by position, by tenant and starter; those of all starters under None."""
        self._due: dict[_InstanceKey, float] = {}
        self._task_ends: dict[_InstanceKey, str] = {}
        self.wakes: list[tuple[str, Wake]] = []
        """All wakes, with their tenants. The code that handles a wake removes it."""

    def load(self, tenant: str, workflow_id: str, may_see: Callable[[Instance], bool] | None = None) -> Instance | None:
        row = self._rows.get((tenant, workflow_id))
        if row is None or (may_see is not None and not may_see(serialization.head_of(workflow_id, row.head))):
            return None
        return row.instance(workflow_id)

    def save(self, tenant: str, entry: InstanceWrite, *, replacing: WriteCondition | None) -> bool:
        instance, key = entry.instance, (tenant, entry.instance.id)
        row = _row_of(entry)
        with self._lock:
            current = self._rows.get(key)
            if entry.token in self._saved_tokens:
                return True
            if (current.write_condition if current is not None else None) != replacing:
                return False
            self._rows[key] = row
            if entry.token:
                self._saved_tokens.add(entry.token)
            self._set_due(key, entry.due_at)
            self.wakes += [(tenant, wake) for wake in entry.wakes]
            if replacing is None or replacing.version != instance.version:
                text = _HistoryText(instance.version, serialization.history_text(entry), _link_text(entry.link))
                self._history.setdefault(key, []).append(text)
            self._add_events(key, entry.events, entry.link)
            if (approval := serialization.find_open_approval(instance)) is not None:
                text = serialization.open_approval_text(approval)
                summary = None if entry.summary is None else summary_text(entry.summary)
                self._open_approvals[tenant, approval.request.id] = (text, summary)
            if entry.closed_request_id is not None:
                self._open_approvals.pop((tenant, entry.closed_request_id), None)
            if entry.summary is not None:
                self._list_run(tenant, entry.summary)
            self._keep_task_end(key, entry.task_end)
            return True

    def _keep_task_end(self, key: _InstanceKey, end: TaskEnd | None) -> None:
        if end is not None:
            self._task_ends.setdefault(key, serialization.task_end_text(end))

    def find_task(self, tenant: str, workflow_id: str, may_see: Callable[[Instance], bool]) -> StoredTask | None:
        with self._lock:
            instance, end = self.load(tenant, workflow_id, may_see), self._task_ends.get((tenant, workflow_id))
        if instance is None:
            return None
        return StoredTask(instance, None if end is None else serialization.task_end_of(end))

    def end_task(self, tenant: str, workflow_id: str, end: TaskEnd) -> TaskEnd:
        with self._lock:
            kept = self._task_ends.setdefault((tenant, workflow_id), serialization.task_end_text(end))
        return serialization.task_end_of(kept)

    def _list_run(self, tenant: str, summary: RunSummary) -> None:
        position = keys.run_position(summary.started_at, summary.workflow_id)
        for starter in (None, starter_key(summary.starter_issuer, summary.started_by)):
            self._runs.setdefault((tenant, starter), {})[position] = summary_text(summary)

    def run_summaries(self, tenant: str, starter: str | None) -> Mapping[str, str]:
        """Return the summaries of a list of runs, by position."""
        with self._lock:
            return dict(self._runs.get((tenant, starter), {}))

    def open_requests(self, tenant: str) -> Mapping[str, tuple[str, str | None]]:
        """Return the open approval requests and the summaries of their runs, by the ids of the requests."""
        with self._lock:
            return {name: kept for (owner, name), kept in self._open_approvals.items() if owner == tenant}

    def hold(
        self, tenant: str, workflow_id: str, claim: Claim, *, replacing: WriteCondition, due_at: float | None
    ) -> Claim | None:
        key = (tenant, workflow_id)
        with self._lock:
            current = self._rows.get(key)
            if current is None or current.version != replacing.version:
                return None
            if current.write_condition != replacing:
                return current.instance(workflow_id).claim
            self._rows[key] = replace(current, claim=_claim_texts(claim), token=claim.token)
            self._set_due(key, due_at)
            return claim

    def find_due(self, until: float) -> Sequence[tuple[str, str]]:
        """Return tenant and id of each instance that is due until a time, the earliest first."""
        return [key for key, at in sorted(self._due.items(), key=lambda item: item[1]) if at <= until]

    def _set_due(self, key: _InstanceKey, at: float | None) -> None:
        if at is None:
            self._due.pop(key, None)
        else:
            self._due[key] = at

    def note(self, tenant: str, workflow_id: str, events: Sequence[AuditEvent]) -> None:
        with self._lock:
            self._add_events((tenant, workflow_id), events)

    def list_open_approvals(self, tenant: str) -> Sequence[OpenApproval]:
        approvals = [serialization.open_approval_of(text) for text, _ in self.open_requests(tenant).values()]
        return sorted(approvals, key=lambda approval: approval.request.asked_at)

    def history(self, tenant: str, workflow_id: str) -> Sequence[tuple[Sequence[Hop], Sequence[EvidenceItem]]]:
        return [serialization.history_of(row.text) for row in self._history.get((tenant, workflow_id), ())]

    def audit(self, tenant: str, workflow_id: str) -> Sequence[AuditEvent]:
        return [event for row in self._audit.get((tenant, workflow_id), ()) for event in row.events]

    def read_record(self, tenant: str, workflow_id: str) -> RunRecord | None:
        instance, key = self.load(tenant, workflow_id), (tenant, workflow_id)
        if instance is None:
            return None
        history = [
            HistoryRow(row.version, json.loads(row.text), _link_of(row.link)) for row in self._history.get(key, ())
        ]
        audit = [AuditRow(row.events, _link_of(row.link), row.own_hash) for row in self._audit.get(key, ())]
        return RunRecord(tenant, instance, history, audit)

    def _add_events(self, key: _InstanceKey, events: Sequence[AuditEvent], link: HashLink | None = None) -> None:
        if events:
            own_hash = hash_note(*key, events) if link is None else None
            first, text = events[0], serialization.audit_text(events)
            row = _AuditText(text, first.correlation_id, first.subject, _link_text(link), own_hash)
            self._audit.setdefault(key, []).append(row)
