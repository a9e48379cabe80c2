"""The story of one run of a workflow, as a person reads it."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby

from signpost.cli.terminal import moment, visible
from signpost.model import JsonObject
from signpost.workflow.definition import Definition
from signpost.workflow.instance import FIRST_VERSION, AuditEvent, EvidenceItem, Hop, Instance, Record
from signpost.workflow.steps import NOTHING_TO_RUN

type Step = tuple[Sequence[Hop], Sequence[EvidenceItem]]
type Say = Callable[[JsonObject], str | None]
"""None of what goes without saying."""

STARTED, MOVED = "workflow.started", "workflow.transitioned"


def told(
    definition: Definition, instance: Instance, events: Sequence[AuditEvent], steps: Sequence[Step], now: float
) -> Sequence[str]:
    told = _Told(
        hops={hop.version: hop for hops, _ in steps for hop in hops},
        evidence={_version(hops): gathered for hops, gathered in steps},
    )
    lines = [*_stand(definition, instance, now), ""]
    for _, call in groupby(events, lambda event: event.correlation_id):
        lines += told.call(list(call))
    return [visible(line) for line in lines]


def _version(hops: Sequence[Hop]) -> int:
    """The one that a step led to."""
    return hops[-1].version if hops else FIRST_VERSION


def _stand(definition: Definition, instance: Instance, now: float) -> Iterator[str]:
    yield f"{instance.id}: {definition.title} ({definition.id}, definition {instance.digest[:12]})"
    has_ended = definition.states[instance.state].terminal
    yield f"{'ended' if has_ended else 'stands'} in {instance.state}, version {instance.version}"
    if instance.ends_at is not None and not has_ended:
        late = "has timed out" if instance.is_overdue(now) else "times out"
        yield f"{late} at {moment(instance.ends_at)}: whoever looks then finds it in {definition.timeout_target}"
    if (request := instance.waits_for) is not None:
        yield f"waits for people: queue {request.queue}, request {request.id}"


class _Told:
    def __init__(self, hops: Mapping[int, Hop], evidence: Mapping[int, Sequence[EvidenceItem]]) -> None:
        self._hops = hops
        self._evidence = evidence

    def call(self, events: Sequence[AuditEvent]) -> Iterator[str]:
        """All that came of one call, with who was behind it."""
        first = events[0]
        yield f"{moment(first.at)}  {first.subject}  {first.correlation_id}"
        for event in events:
            if (sentence := self._sentence(event.record)) is not None:
                version = event.record.payload["version"] if event.record.type in (STARTED, MOVED) else ""
                yield f"{version!s:>6}  {sentence}"
        for item in self._gathered([event.record for event in events]):
            fields = ", ".join(f"{name} {value}" for name, value in item.fields.items())
            yield f"{'':>6}  evidence: {item.kind} by {item.subject}{f' ({fields})' if fields else ''}"

    def _gathered(self, records: Sequence[Record]) -> Sequence[EvidenceItem]:
        versions = [record.payload["version"] for record in records if record.type in (STARTED, MOVED)]
        return self._evidence.get(int(str(versions[-1])), ()) if versions else ()

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


def _refused(payload: JsonObject) -> str:
    named = f"{payload['transition']}: " if payload.get("transition") else ""
    return f"refused: {named}{payload['code']}. {payload['message']}"


def _ran(payload: JsonObject) -> str | None:
    if payload["kind"] == NOTHING_TO_RUN:
        return None
    return f"{payload['transition']}: an executor of the kind {payload['kind']} has run"


def _late(payload: JsonObject) -> str:
    elapsed = payload["elapsedMs"]
    seconds = f", after {elapsed / 1000:.0f} s" if isinstance(elapsed, int | float) else ""
    return f"timed out in {payload['fromState']}{seconds}"


def _nothing(_: JsonObject) -> None:
    """It is followed by what came of it."""


SENTENCES: Mapping[str, Say] = {
    STARTED: lambda payload: f"started in {payload['state']}",
    "transition.requested": _nothing,
    "transition.rejected": _refused,
    "transition.branched": _nothing,
    "guard.evaluated": _nothing,
    "executor.started": _nothing,
    "executor.succeeded": _ran,
    "chain.step": _nothing,
    "chain.completed": _nothing,
    "chain.failed": lambda payload: f"stopped in {payload['fromState']}: {payload['message']}",
    "workflow.timed_out": _late,
    "workflow.completed": lambda payload: f"ended in {payload['state']}",
    "human.approval.requested": lambda payload: (
        f"request {payload['requestId']}: asked in the queue {payload['queue']}"
    ),
    "human.approval.resolved": lambda payload: f"request {payload['approval_id']}: {payload['outcome']}",
}
"""What is not named here is shown as it is: a newer release has more to tell."""
