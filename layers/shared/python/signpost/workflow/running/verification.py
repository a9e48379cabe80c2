"""Compares the history and the audit of an instance with its hash chain, and names the first place that disagrees."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from itertools import pairwise
from typing import Any, Protocol

from signpost.model import JsonObject
from signpost.records import dataclass
from signpost.workflow.hash_links import HashLink, hash_link
from signpost.workflow.instance import AuditEvent, Instance, add_evidence, digest_of
from signpost.workflow.running.linked_writes import build_record, hash_note
from signpost.workflow.running.serialization import evidence_of


@dataclass(frozen=True, slots=True)
class HistoryRow:
    """A row of the history, as it is stored."""

    version: int
    """The version in its key."""
    fields: Mapping[str, Any]
    link: HashLink | None = None


@dataclass(frozen=True, slots=True)
class AuditRow:
    """A row of the audit, as it is stored."""

    events: Sequence[AuditEvent]
    link: HashLink | None = None
    own_hash: str | None = None
    """The hash of events that were recorded without a move."""


@dataclass(frozen=True, slots=True)
class RunRecord:
    """All that is stored about what has happened in an instance."""

    tenant: str
    instance: Instance
    history: Sequence[HistoryRow] = ()
    audit: Sequence[AuditRow] = ()
    """In the order of their keys."""


class UnreadableRow(Exception):  # noqa: N818 - named after the thing
    """A row is not in the form that any release has written."""


class RunRecordReader(Protocol):
    def read_record(self, tenant: str, workflow_id: str) -> RunRecord | None:
        """Return the record of an instance, or None if there is none. Raises UnreadableRow."""
        ...


@dataclass(frozen=True, slots=True)
class ChainFault:
    """The first place of a record that does not agree with its hashes."""

    place: str
    message: str


@dataclass(frozen=True, slots=True)
class VerifiedRun:
    """A record that agrees with its hashes."""

    newest: HashLink
    first: HashLink
    is_complete: bool
    """Whether the chain begins with the start of the run; otherwise an earlier release wrote what is before it."""
    notes: int
    """The number of rows of events that were recorded without a move."""


@dataclass(frozen=True, slots=True)
class _LinkedWrite:
    """The rows of one write."""

    links: list[HashLink] = field(default_factory=list[HashLink])
    history: list[HistoryRow] = field(default_factory=list[HistoryRow])
    events: list[AuditEvent] = field(default_factory=list[AuditEvent])

    @property
    def link(self) -> HashLink:
        return self.links[0]

    @property
    def place(self) -> str:
        return f"write {self.link.number} (version {self.link.version})"


def verify_record(record: RunRecord, witness: str | None = None) -> VerifiedRun | ChainFault:
    """Compare a record with its hashes. `witness` is a hash that was kept elsewhere: a write must have it."""
    fault = next(_find_faults(record, witness), None)
    if fault is not None:
        return fault
    first, newest = _group_writes(record)[1], record.instance.link
    assert newest is not None  # noqa: S101 - otherwise there is a fault
    notes = sum(row.own_hash is not None for row in record.audit)
    return VerifiedRun(newest, first.link, _is_start(first), notes)


def _find_faults(record: RunRecord, witness: str | None) -> Iterator[ChainFault]:
    writes, newest = _group_writes(record), record.instance.link
    if newest is None:
        yield _describe_missing_chain(writes)
        return
    yield from _find_faulty_writes(record, writes, newest)
    yield from _find_rows_without_link(record, writes[1])
    yield from _find_moved_rows(record)
    yield from _find_other_values(record, writes)
    if witness is not None and all(write.link.hash != witness for write in writes.values()):
        yield ChainFault("the run", f"no write has the hash {witness}, so it was written anew since, or never had it")


def _group_writes(record: RunRecord) -> Mapping[int, _LinkedWrite]:
    """Return the writes by the numbers of their links."""
    writes: dict[int, _LinkedWrite] = {}
    for row in (*record.history, *record.audit):
        if row.link is not None:
            write = writes.setdefault(row.link.number, _LinkedWrite())
            write.links.append(row.link)
            if isinstance(row, HistoryRow):
                write.history.append(row)
            else:
                write.events.extend(row.events)
    return writes


def _describe_missing_chain(writes: Mapping[int, _LinkedWrite]) -> ChainFault:
    if writes:
        return ChainFault("the head row", "it has no hash, but other rows have one")
    return ChainFault("the run", "no row has a hash: an earlier release wrote it, or its hashes were removed")


def _find_faulty_writes(
    record: RunRecord, writes: Mapping[int, _LinkedWrite], newest: HashLink
) -> Iterator[ChainFault]:
    before: _LinkedWrite | None = None
    for number in range(1, newest.number + 1):
        write = writes.get(number)
        if write is None:
            yield ChainFault(f"write {number}", "its rows are missing")
            return
        yield from (ChainFault(write.place, message) for message in _find_write_faults(record, write, before))
        before = write
    if surplus := [write.place for number, write in sorted(writes.items()) if not 0 < number <= newest.number]:
        yield ChainFault(surplus[0], "the head row does not know it")
    if before is None or before.link != newest:
        yield ChainFault("the head row", "its hash is not that of the newest write")


def _find_write_faults(record: RunRecord, write: _LinkedWrite, before: _LinkedWrite | None) -> Iterator[str]:
    link, history = write.link, write.history
    if any(other != link for other in write.links) or len(history) > 1:
        yield "its rows have different hashes"
        return
    if link.previous != ("" if before is None else before.link.hash):
        yield "it does not name the hash of the write before it"
    if link.hash != hash_link(link, _build_write_record(record, write)):
        yield "it does not have its hash: a row of it was changed, added or removed"
    if any(row.version != link.version for row in history):
        yield "its row of the history has the version of another one"
    yield from _find_time_faults(write, before)


def _build_write_record(record: RunRecord, write: _LinkedWrite) -> JsonObject:
    history = write.history[0].fields if write.history else None
    return build_record(record.tenant, record.instance.id, history, write.events)


def _find_time_faults(write: _LinkedWrite, before: _LinkedWrite | None) -> Iterator[str]:
    earliest = [] if before is None else [before.link.at]
    times = [*earliest, *(event.at for event in write.events), write.link.at]
    if any(later < earlier for earlier, later in pairwise(times)):
        yield "its times go backwards"


def _is_start(first: _LinkedWrite) -> bool:
    return any("input" in row.fields for row in first.history)


def _find_rows_without_link(record: RunRecord, first: _LinkedWrite) -> Iterator[ChainFault]:
    """Find rows that no release with hashes has written, but that are not older than the chain."""
    is_complete, begins = _is_start(first), first.link
    for row in record.history:
        if row.link is None and (is_complete or row.version >= begins.version):
            yield ChainFault(f"version {row.version}", "its row of the history has no hash")
    for row in record.audit:
        place = _describe_events(row)
        if row.link is None and row.own_hash is None and (is_complete or row.events[-1].at > begins.at):
            yield ChainFault(place, "they have no hash")
        if row.own_hash is not None and row.own_hash != hash_note(record.tenant, record.instance.id, row.events):
            yield ChainFault(place, "they do not have their hash: they were changed")


def _describe_events(row: AuditRow) -> str:
    return f"the events of {row.events[0].correlation_id} ({row.events[0].record.type}, …)"


def _find_moved_rows(record: RunRecord) -> Iterator[ChainFault]:
    linked = [row for row in record.audit if row.link is not None]
    numbers = [row.link.number for row in linked if row.link is not None]
    for (earlier, later), row in zip(pairwise(numbers), linked[1:], strict=True):
        if later < earlier:
            yield ChainFault(_describe_events(row), "their key puts them at another place than their hash")


def _find_other_values(record: RunRecord, writes: Mapping[int, _LinkedWrite]) -> Iterator[ChainFault]:
    """Find values of the current state that the newest version does not have."""
    instance, linked = record.instance, [write for _, write in sorted(writes.items())]
    steps = [row for write in linked for row in write.history]
    if linked[-1].link.version != instance.version:
        yield ChainFault("the head row", "its version is not that of the newest write")
    if steps:
        now = {"state": instance.state, "definition": instance.digest, "context": digest_of(instance.context)}
        for name, value in now.items():
            if steps[-1].fields.get(name) != value:
                yield ChainFault(f"the {name}", "it is not the one that the newest version has recorded")
    if steps and _is_start(linked[0]):
        if steps[0].fields["input"] != digest_of(instance.input):
            yield ChainFault("the input", "it is not the one that the start has recorded")
        if add_evidence({}, [item for row in steps for item in evidence_of(row.fields)]) != instance.evidence:
            yield ChainFault("the evidence", "the head row counts other evidence than the history has")
