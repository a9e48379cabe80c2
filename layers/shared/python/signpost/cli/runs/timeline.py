"""Shows the events of one workflow instance as lines for a person."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby

from signpost.cli.terminal import format_time, make_printable
from signpost.model import Json, JsonObject
from signpost.workflow import audit_events
from signpost.workflow.deadlines import find_deadline
from signpost.workflow.definition import Definition
from signpost.workflow.engine.steps import NOOP_KIND
from signpost.workflow.instance import (
    FIRST_VERSION,
    AuditEvent,
    AuditRecord,
    Claim,
    EvidenceItem,
    Hop,
    Instance,
    child_id_of,
    is_over,
)
from signpost.workflow.running.function_run import parse_digest

type TimelineStep = tuple[Sequence[Hop], Sequence[EvidenceItem]]
type EventSentence = Callable[[JsonObject], str | None]
"""Returns the sentence for the payload of an event, or None if the timeline skips the event."""

VERSION_EVENTS = frozenset({
    audit_events.STARTED, audit_events.TRANSITIONED, audit_events.ENTERED, audit_events.CANCELLED,
})  # fmt: skip
"""The events that make a new version of the instance."""
ECHOED_EVENTS = frozenset({audit_events.EXECUTOR_FAILED, audit_events.EXECUTOR_RESOLVED})
"""The events that a refusal repeats right after them."""


def build_timeline(
    definition: Definition, instance: Instance, events: Sequence[AuditEvent], steps: Sequence[TimelineStep], now: float
) -> Sequence[str]:
    """Build the lines of the timeline: the status of the instance, then its events by call."""
    writer = _TimelineWriter(
        hops={hop.version: hop for hops, _ in steps for hop in hops},
        evidence=_evidence_by_version(steps),
    )
    lines = [*_status_lines(definition, instance, now), ""]
    for _, call in groupby(events, lambda event: event.correlation_id):
        lines += writer.describe_call(list(call))
    return [make_printable(line) for line in lines]


def _evidence_by_version(steps: Sequence[TimelineStep]) -> Mapping[int, Sequence[EvidenceItem]]:
    """Return the evidence of each version of the instance.

    A step without a hop is an entry into a state or a cancellation; it makes one version."""
    by_version: dict[int, Sequence[EvidenceItem]] = {}
    version = FIRST_VERSION - 1
    for hops, evidence in steps:
        version = hops[-1].version if hops else version + 1
        by_version[version] = evidence
    return by_version


def _definition_text(digest: str) -> str:
    """Shorten the digest of a definition.

    A definition that was not published is that of a run that calls one function. Its digest names the function, so it
    is kept."""
    return f"definition {digest[:12]}" if parse_digest(digest) is None else digest


def _status_lines(definition: Definition, instance: Instance, now: float) -> Iterator[str]:
    yield f"{instance.id}: {definition.title} ({definition.id}, {_definition_text(instance.digest)})"
    yield f"{_status_word(definition, instance)} in {instance.state}, version {instance.version}"
    if is_over(definition, instance):
        return
    if (claim := instance.claim) is not None:
        yield _describe_claim(instance, claim, now)
    elif instance.entering:
        yield f"the entry action of {instance.state} has not completed yet"
    if (fault := instance.fault) is not None:
        yield f"failed at {format_time(fault.at)}, in the background: {fault.message}"
    if (deadline := find_deadline(definition, instance)) is not None:
        deadline_verb = "timed out" if instance.is_overdue(now) else "times out"
        yield f"{deadline_verb} at {format_time(deadline.at)}, and moves to {deadline.target}"
    elif instance.next_deadline is not None and claim is not None:
        yield f"times out at {format_time(instance.next_deadline)}, but not before this step is settled"
    if (request := instance.open_request) is not None:
        yield f"waits for approval: queue {request.queue}, request {request.id}"


def _status_word(definition: Definition, instance: Instance) -> str:
    if instance.cancelled is not None:
        return f"was cancelled by {instance.cancelled.by}"
    return "ended" if is_over(definition, instance) else "is"


def _describe_claim(instance: Instance, claim: Claim, now: float) -> str:
    transition, since = claim.job.transition, format_time(claim.since)
    if claim.is_in_doubt(now):
        return f"in doubt: {transition}, executed at {since}: decide with `signpost workflow resolve {instance.id}`"
    if claim.is_held(now):
        until = format_time(claim.until)
        return f"under way: {transition}, attempt {claim.attempt}, since {since}, until {until} at the latest"
    if claim.standing == "running":
        return f"under way: {transition}: its worker stopped responding, and another worker takes it over"
    return _describe_wait(claim, transition, since)


def _describe_wait(claim: Claim, transition: str, since: str) -> str:
    if claim.awaits == "workflow":
        return f"under way: {transition}, since {since}: waits for the workflow {child_id_of(claim)}"
    if claim.awaits == "answers":
        return f"under way: {transition}, since {since}: waits for answers to its questions"
    if claim.awaits == "retry":
        return f"under way: {transition}: attempt {claim.attempt} is made at {format_time(claim.until)}"
    return f"under way: {transition}: waits for a free worker"


class _TimelineWriter:
    """Describes the events of one instance, with its hops and evidence by version."""

    def __init__(self, hops: Mapping[int, Hop], evidence: Mapping[int, Sequence[EvidenceItem]]) -> None:
        self._hops = hops
        self._evidence = evidence

    def describe_call(self, events: Sequence[AuditEvent]) -> Iterator[str]:
        """Yield the lines for the events of one call: its time and subject first, then the events and the evidence."""
        first = events[0]
        yield f"{format_time(first.at)}  {first.subject}  {first.correlation_id}"
        records = [event.record for event in events]
        sentences = [(record, self._sentence(record)) for record in _drop_echoes(records)]
        if all(sentence is None for _, sentence in sentences):
            sentences = [(record, _describe_unfinished(record)) for record in records]
        for record, sentence in sentences:
            if sentence is not None:
                version = record.payload["version"] if record.type in VERSION_EVENTS else ""
                yield f"{version!s:>6}  {sentence}"
        for item in self._evidence_of(records):
            fields = ", ".join(f"{name} {value}" for name, value in item.fields.items())
            yield f"{'':>6}  evidence: {item.kind} by {item.subject}{f' ({fields})' if fields else ''}"

    def _evidence_of(self, records: Sequence[AuditRecord]) -> Iterator[EvidenceItem]:
        for record in records:
            if record.type in VERSION_EVENTS:
                yield from self._evidence.get(int(str(record.payload["version"])), ())

    def _sentence(self, record: AuditRecord) -> str | None:
        if record.type == audit_events.TRANSITIONED:
            return self._describe_move(record.payload)
        describe = SENTENCES.get(record.type)
        if describe is not None:
            return describe(record.payload)
        return f"{record.type} {json.dumps(record.payload, ensure_ascii=False)}"

    def _describe_move(self, payload: JsonObject) -> str:
        hop = self._hops.get(int(str(payload["version"])))
        source = f"{hop.from_state} → " if hop else "→ "
        by_itself = ", automatically" if payload.get("deterministic") else ""
        return f"{payload['transition']}: {source}{payload['state']}{by_itself}"


def _drop_echoes(records: Sequence[AuditRecord]) -> Iterator[AuditRecord]:
    """Yield the records without each refusal that only repeats the executor event right before it."""
    previous_type = ""
    for record in records:
        if record.payload.get("code") != "EXECUTOR_FAILED" or previous_type not in ECHOED_EVENTS:
            yield record
        previous_type = record.type


def _describe_unfinished(record: AuditRecord) -> str | None:
    """Describe the request of a call that has no other event to show yet."""
    return (
        f"{record.payload['transition']}: continues in the background"
        if record.type == audit_events.REQUESTED
        else None
    )


def _describe_refusal(payload: JsonObject) -> str:
    prefix = f"{payload['transition']}: " if payload.get("transition") else ""
    return f"refused: {prefix}{payload['code']}. {payload['message']}"


def _describe_success(payload: JsonObject) -> str | None:
    if payload["kind"] == NOOP_KIND:
        return None
    return f"{payload['transition']}: an executor of the kind {payload['kind']} succeeded"


def _describe_failure(payload: JsonObject) -> str:
    doubt = ", and may have happened" if payload.get("outcome") == "unknown" else ""
    return f"{_try_text(payload)} failed ({payload['errorClass']}){doubt}: {payload['error']}"


def _describe_retry(payload: JsonObject) -> str:
    return f"{_describe_failure(payload).rstrip('.')}; it is retried"


def _try_text(payload: JsonObject) -> str:
    return f"{payload['transition']}: attempt {payload['attempt']} by {_candidate_text(payload)}"


def _candidate_text(payload: JsonObject) -> str:
    candidate = payload["candidate"]
    prefix = f"fallback {candidate}, " if isinstance(candidate, int) and candidate else ""
    return f"{prefix}an executor of the kind {payload['kind']}"


def _describe_resolution(payload: JsonObject) -> str:
    return f"{payload['by']} recorded that it has{'' if payload['happened'] else ' not'} happened"


def _describe_timeout(payload: JsonObject) -> str:
    elapsed = payload["elapsedMs"]
    seconds = f", after {elapsed / 1000:.0f} s" if isinstance(elapsed, int | float) else ""
    return f"timed out in {payload['fromState']}{seconds}"


def _count_questions(payload: JsonObject) -> str:
    return "a question" if payload["questions"] == 1 else f"{payload['questions']} questions"


def _join_names(names: Json) -> str:
    return ", ".join(map(str, names)) if isinstance(names, list) else str(names)


def _skip_event(_: JsonObject) -> None:
    """Skip an event: the events after it show its result."""


SENTENCES: Mapping[str, EventSentence] = {
    audit_events.STARTED: lambda payload: f"started in {payload['state']}",
    audit_events.REQUESTED: _skip_event,
    audit_events.REJECTED: _describe_refusal,
    audit_events.BRANCHED: _skip_event,
    audit_events.GUARD_EVALUATED: _skip_event,
    audit_events.EXECUTOR_STARTED: _skip_event,
    audit_events.EXECUTOR_SUCCEEDED: _describe_success,
    audit_events.EXECUTOR_RETRYING: _describe_retry,
    audit_events.EXECUTOR_FAILED: _describe_failure,
    audit_events.EXECUTOR_ASKED: lambda payload: f"{payload['transition']}: asked {_count_questions(payload)}",
    audit_events.EXECUTOR_ANSWERED: lambda payload: (
        f"{payload['by']} answered {_count_questions(payload)} of {payload['transition']}"
    ),
    audit_events.EXECUTOR_TAKEN_OVER: lambda payload: (
        f"{payload['transition']}: taken over, because its worker stopped responding"
    ),
    audit_events.EXECUTOR_IN_DOUBT: lambda payload: (
        f"{payload['transition']}: in doubt; decide with `signpost workflow resolve`"
    ),
    audit_events.EXECUTOR_RETRIED: lambda payload: f"{payload['by']} requested another execution",
    audit_events.EXECUTOR_RESOLVED: _describe_resolution,
    audit_events.EXECUTOR_ABANDONED: lambda payload: f"{payload['transition']}: abandoned (its result is not used)",
    audit_events.FALLBACK_SELECTED: lambda payload: (
        f"{payload['transition']}: {_candidate_text(payload)} is used instead"
    ),
    audit_events.EVIDENCE_REFUSED: lambda payload: (
        f"evidence kinds reserved for people were refused: {_join_names(payload['kinds'])}"
    ),
    audit_events.CHILD_STARTED: lambda payload: (
        f"started the workflow {payload['sub_workflow_id']} ({payload['definition_id']})"
    ),
    audit_events.CHILD_COMPLETED: lambda payload: f"{payload['sub_workflow_id']} ended in {payload['state']}",
    audit_events.CHILD_FAILED: lambda payload: f"{payload['sub_workflow_id']} failed in {payload['state']}",
    audit_events.CHILD_TIMED_OUT: lambda payload: f"the wait for {payload['sub_workflow_id']} timed out",
    audit_events.CHAIN_STEP: _skip_event,
    audit_events.CHAIN_COMPLETED: _skip_event,
    audit_events.CHAIN_FAILED: lambda payload: f"stopped in {payload['fromState']}: {payload['message']}",
    audit_events.TIMED_OUT: _describe_timeout,
    audit_events.STATE_TIMED_OUT: _describe_timeout,
    audit_events.ENTERED: lambda payload: f"{payload['state']}: entry action completed",
    audit_events.CANCELLED: lambda payload: f"cancelled in {payload['state']}",
    audit_events.COMPLETED: lambda payload: f"ended in {payload['state']}",
    audit_events.SCHEDULE_REFUSED: lambda payload: (
        f"the schedule {payload['scheduleId']} did not start {payload['definitionId']}: {payload['message']}"
    ),
    audit_events.APPROVAL_REQUESTED: lambda payload: (
        f"request {payload['requestId']}: opened in the queue {payload['queue']}"
    ),
    audit_events.APPROVAL_RESOLVED: lambda payload: f"request {payload['approval_id']}: {payload['outcome']}",
    audit_events.APPROVAL_EXPIRED: lambda payload: f"request {payload['requestId']}: expired without an answer",
}
"""The sentence for each type of event. Other types, which newer releases may write, are shown as type and payload."""
