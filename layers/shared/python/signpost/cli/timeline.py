"""The story of one run of a workflow, as a person reads it."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby

from signpost.cli.terminal import moment, visible
from signpost.model import Json, JsonObject
from signpost.workflow.calls import definition_of
from signpost.workflow.definition import Definition
from signpost.workflow.instance import (
    FIRST_VERSION,
    AuditEvent,
    Claim,
    EvidenceItem,
    Hop,
    Instance,
    Record,
    child_of,
    deadline,
    is_over,
)
from signpost.workflow.steps import NOTHING_TO_RUN

type Step = tuple[Sequence[Hop], Sequence[EvidenceItem]]
type Say = Callable[[JsonObject], str | None]
"""None of what goes without saying."""

STARTED, MOVED, ENTERED = "workflow.started", "workflow.transitioned", "workflow.entered"
VERSIONED = frozenset({STARTED, MOVED, ENTERED, "workflow.cancelled"})
"""Each is another version."""
ASKED = "transition.requested"
FAILED, RESOLVED = "executor.failed", "executor.resolved"
ECHOED = frozenset({FAILED, RESOLVED})
"""By a refusal that follows."""


def told(
    definition: Definition, instance: Instance, events: Sequence[AuditEvent], steps: Sequence[Step], now: float
) -> Sequence[str]:
    told = _Told(
        hops={hop.version: hop for hops, _ in steps for hop in hops},
        evidence=_by_version(steps),
    )
    lines = [*_stand(definition, instance, now), ""]
    for _, call in groupby(events, lambda event: event.correlation_id):
        lines += told.call(list(call))
    return [visible(line) for line in lines]


def _by_version(steps: Sequence[Step]) -> Mapping[int, Sequence[EvidenceItem]]:
    """What was gathered on the way to each. A step without a hop is that of an entry, or of a cancellation."""
    found: dict[int, Sequence[EvidenceItem]] = {}
    version = FIRST_VERSION - 1
    for hops, gathered in steps:
        version = hops[-1].version if hops else version + 1
        found[version] = gathered
    return found


def _definition(digest: str) -> str:
    """One that nobody published is that of a single call, and says of which function."""
    return f"definition {digest[:12]}" if definition_of(digest) is None else digest


def _stand(definition: Definition, instance: Instance, now: float) -> Iterator[str]:
    yield f"{instance.id}: {definition.title} ({definition.id}, {_definition(instance.digest)})"
    yield f"{_standing(definition, instance)} in {instance.state}, version {instance.version}"
    if is_over(definition, instance):
        return
    if (claim := instance.claim) is not None:
        yield _under_way(instance, claim, now)
    elif instance.entering:
        yield f"what {instance.state} does on being entered is still to be done"
    if (fault := instance.fault) is not None:
        yield f"failed at {moment(fault.at)}, while nobody was waiting for it: {fault.message}"
    if (ends_at := deadline(definition, instance)) is not None:
        late = "has timed out" if instance.is_overdue(now) else "times out"
        yield f"{late} at {moment(ends_at)}: whoever looks then finds it in {definition.timeout_target}"
    elif instance.ends_at is not None and claim is not None:
        yield f"times out at {moment(instance.ends_at)}, but not before that is settled"
    if (request := instance.waits_for) is not None:
        yield f"waits for people: queue {request.queue}, request {request.id}"


def _standing(definition: Definition, instance: Instance) -> str:
    if instance.cancelled is not None:
        return f"was cancelled by {instance.cancelled.by}"
    return "ended" if is_over(definition, instance) else "stands"


def _under_way(instance: Instance, claim: Claim, now: float) -> str:
    what, since = claim.job.transition, moment(claim.since)
    if claim.is_in_doubt(now):
        return f"in doubt: {what}, executed at {since}: `signpost workflow resolve {instance.id}` says how to go on"
    if claim.is_held(now):
        return f"under way: {what}, try {claim.attempt}, since {since}, until {moment(claim.until)} at the latest"
    if claim.standing == "running":
        return f"under way: {what}: whoever executed it was not heard of again, so somebody else does"
    if claim.awaits == "workflow":
        return f"under way: {what}, since {since}: waits for the workflow {child_of(claim)}"
    if claim.awaits == "retry":
        return f"under way: {what}: try {claim.attempt} is made at {moment(claim.until)}"
    return f"under way: {what}: is executed as soon as somebody has the time"


class _Told:
    def __init__(self, hops: Mapping[int, Hop], evidence: Mapping[int, Sequence[EvidenceItem]]) -> None:
        self._hops = hops
        self._evidence = evidence

    def call(self, events: Sequence[AuditEvent]) -> Iterator[str]:
        """All that came of one call, with who was behind it."""
        first = events[0]
        yield f"{moment(first.at)}  {first.subject}  {first.correlation_id}"
        records = [event.record for event in events]
        sentences = [(record, self._sentence(record)) for record in _without_echoes(records)]
        if all(sentence is None for _, sentence in sentences):
            sentences = [(record, _begun(record)) for record in records]
        for record, sentence in sentences:
            if sentence is not None:
                version = record.payload["version"] if record.type in VERSIONED else ""
                yield f"{version!s:>6}  {sentence}"
        for item in self._gathered(records):
            fields = ", ".join(f"{name} {value}" for name, value in item.fields.items())
            yield f"{'':>6}  evidence: {item.kind} by {item.subject}{f' ({fields})' if fields else ''}"

    def _gathered(self, records: Sequence[Record]) -> Iterator[EvidenceItem]:
        for record in records:
            if record.type in VERSIONED:
                yield from self._evidence.get(int(str(record.payload["version"])), ())

    def _sentence(self, record: Record) -> str | None:
        if record.type == MOVED:
            return self._moved(record.payload)
        say = SENTENCES.get(record.type)
        if say is not None:
            return say(record.payload)
        return f"{record.type} {json.dumps(record.payload, ensure_ascii=False)}"

    def _moved(self, payload: JsonObject) -> str:
        hop = self._hops.get(int(str(payload["version"])))
        source = f"{hop.from_state} → " if hop else "→ "
        by_itself = ", by itself" if payload.get("deterministic") else ""
        return f"{payload['transition']}: {source}{payload['state']}{by_itself}"


def _without_echoes(records: Sequence[Record]) -> Iterator[Record]:
    """But for the refusal that only repeats what was said of the executor just before."""
    before = ""
    for record in records:
        if record.payload.get("code") != "EXECUTOR_FAILED" or before not in ECHOED:
            yield record
        before = record.type


def _begun(record: Record) -> str | None:
    """Of a call that has come to nothing else yet."""
    return f"{record.payload['transition']}: goes on without whoever asked" if record.type == ASKED else None


def _refused(payload: JsonObject) -> str:
    named = f"{payload['transition']}: " if payload.get("transition") else ""
    return f"refused: {named}{payload['code']}. {payload['message']}"


def _ran(payload: JsonObject) -> str | None:
    if payload["kind"] == NOTHING_TO_RUN:
        return None
    return f"{payload['transition']}: an executor of the kind {payload['kind']} has run"


def _failed(payload: JsonObject) -> str:
    unknown = ", and may have happened" if payload.get("outcome") == "unknown" else ""
    return f"{_try(payload)} failed ({payload['errorClass']}){unknown}: {payload['error']}"


def _tried_again(payload: JsonObject) -> str:
    return f"{_failed(payload).rstrip('.')}; it is tried again"


def _try(payload: JsonObject) -> str:
    return f"{payload['transition']}: try {payload['attempt']} by {_candidate(payload)}"


def _candidate(payload: JsonObject) -> str:
    candidate = payload["candidate"]
    stands_in = f"fallback {candidate}, " if isinstance(candidate, int) and candidate else ""
    return f"{stands_in}an executor of the kind {payload['kind']}"


def _resolved(payload: JsonObject) -> str:
    return f"{payload['by']} says that it has{'' if payload['happened'] else ' not'} happened"


def _late(payload: JsonObject) -> str:
    elapsed = payload["elapsedMs"]
    seconds = f", after {elapsed / 1000:.0f} s" if isinstance(elapsed, int | float) else ""
    return f"timed out in {payload['fromState']}{seconds}"


def _listed(names: Json) -> str:
    return ", ".join(map(str, names)) if isinstance(names, list) else str(names)


def _nothing(_: JsonObject) -> None:
    """It is followed by what came of it."""


SENTENCES: Mapping[str, Say] = {
    STARTED: lambda payload: f"started in {payload['state']}",
    ASKED: _nothing,
    "transition.rejected": _refused,
    "transition.branched": _nothing,
    "guard.evaluated": _nothing,
    "executor.started": _nothing,
    "executor.succeeded": _ran,
    "executor.retrying": _tried_again,
    FAILED: _failed,
    "executor.taken_over": lambda payload: (
        f"{payload['transition']}: taken over, because whoever executed it was not heard of again"
    ),
    "executor.in_doubt": lambda payload: f"{payload['transition']}: in doubt until somebody says what came of it",
    "executor.retried": lambda payload: f"{payload['by']} wants it executed once more",
    RESOLVED: _resolved,
    "executor.abandoned": lambda payload: f"{payload['transition']}: not waited for any more",
    "fallback.selected": lambda payload: f"{payload['transition']}: {_candidate(payload)} does it instead",
    "evidence.refused": lambda payload: f"evidence that only people give was not taken: {_listed(payload['kinds'])}",
    "sub_workflow.started": lambda payload: (
        f"started the workflow {payload['sub_workflow_id']} ({payload['definition_id']})"
    ),
    "sub_workflow.completed": lambda payload: f"{payload['sub_workflow_id']} ended in {payload['state']}",
    "sub_workflow.failed": lambda payload: f"{payload['sub_workflow_id']} failed in {payload['state']}",
    "sub_workflow.timed_out": lambda payload: f"{payload['sub_workflow_id']} was not waited for any longer",
    "chain.step": _nothing,
    "chain.completed": _nothing,
    "chain.failed": lambda payload: f"stopped in {payload['fromState']}: {payload['message']}",
    "workflow.timed_out": _late,
    ENTERED: lambda payload: f"{payload['state']}: what it does on being entered is done",
    "workflow.cancelled": lambda payload: f"cancelled in {payload['state']}",
    "workflow.completed": lambda payload: f"ended in {payload['state']}",
    "human.approval.requested": lambda payload: (
        f"request {payload['requestId']}: asked in the queue {payload['queue']}"
    ),
    "human.approval.resolved": lambda payload: f"request {payload['approval_id']}: {payload['outcome']}",
    "human.approval.expired": lambda payload: f"request {payload['requestId']}: nobody has answered in time",
}
"""What is not named here is shown as it is: a newer release has more to tell."""
