"""Gives each write of an instance its link in the hash chain, and its events times that do not go backwards."""

from collections.abc import Sequence
from dataclasses import replace

from signpost.model import JsonObject
from signpost.workflow.hash_links import FORMAT, HashLink, build_link, hash_record
from signpost.workflow.instance import AuditEvent, Instance, InstanceWrite, digest_of
from signpost.workflow.running.serialization import history_fields


def link_write(tenant: str, last: Instance | None, write: InstanceWrite, now: float) -> InstanceWrite:
    """Return the write with its link after that of the last one, if it adds a row and excludes other writes.

    A write that leaves the write condition as it was, such as the record that a step is in doubt, does not exclude
    another one with the same last link. It has no link, its events are notes, and the newest link stays."""
    newest, instance = None if last is None else last.link, write.instance
    has_new_version = last is None or last.version != instance.version
    is_exclusive = last is None or last.write_condition != instance.write_condition
    if not is_exclusive or not (has_new_version or write.events):
        return replace(write, instance=replace(instance, link=newest))
    recorded: JsonObject = _build_recorded_values(instance, is_first=last is None) if has_new_version else {}
    history = history_fields(write.hops, write.evidence, recorded) if has_new_version else None
    times = [now, *([] if newest is None else [newest.at]), *(event.at for event in write.events)]
    record = build_record(tenant, instance.id, history, write.events)
    link = build_link(newest, instance.version, max(times), record)
    return replace(write, recorded=recorded, link=link, instance=replace(instance, link=link))


def _build_recorded_values(instance: Instance, *, is_first: bool) -> JsonObject:
    """Build the values that a version stands for, long ones as digests. The input never changes."""
    first: JsonObject = {"input": digest_of(instance.input)} if is_first else {}
    return {"state": instance.state, "definition": instance.digest, "context": digest_of(instance.context), **first}


def build_record(tenant: str, workflow_id: str, history: JsonObject | None, events: Sequence[AuditEvent]) -> JsonObject:
    """Build the record that the hash of a write covers: its row of the history, if it has one, and its events."""
    return {
        "tenant": tenant,
        "workflow": workflow_id,
        "history": history,
        "events": [_build_event_fields(event) for event in events],
    }


def hash_note(tenant: str, workflow_id: str, events: Sequence[AuditEvent]) -> str:
    """Hash events that are recorded without a move. They are written beside the steps, so they have no link."""
    return hash_record({"format": FORMAT, "note": build_record(tenant, workflow_id, None, events)})


def order_times(times: Sequence[float | None], now: float, newest: HashLink | None) -> Sequence[float]:
    """Return the times of events, none of them before the last write or before the event before it: the clock of this
    writer may be behind that of the last one. An event without a time has that of the event after it."""
    known: list[float] = []
    for at in reversed(times):
        known.append(at if at is not None else known[-1] if known else now)
    earliest = 0.0 if newest is None else newest.at
    ordered: list[float] = []
    for at in reversed(known):
        earliest = max(at, earliest)
        ordered.append(earliest)
    return ordered


def _build_event_fields(event: AuditEvent) -> JsonObject:
    return {
        "type": event.record.type,
        "payload": event.record.payload,
        "at": event.at,
        "correlation": event.correlation_id,
        "subject": event.subject,
    }
