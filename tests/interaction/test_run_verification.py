"""The hash chain of runs: what the engine writes agrees with it, and a change in the table does not."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from signpost.workflow.engine.steps import ExecutorFailure, ExecutorOutcome
from signpost.workflow.hash_links import HashLink, hash_link
from signpost.workflow.instance import EvidenceItem, Instance, InstanceWrite
from signpost.workflow.running.linked_writes import build_record
from signpost.workflow.running.verification import (
    AuditRow,
    ChainFault,
    HistoryRow,
    RunRecord,
    VerifiedRun,
    verify_record,
)
from tests.support.changed_records import change_head, change_rows
from tests.support.memory_workflows import TENANT
from tests.support.step_cases import AGENT, StepCase

HOUR = 3600.0
LOOP: Mapping[str, Any] = {
    "initialState": "a",
    "states": {
        "a": {
            "transitions": {
                "go": {"target": "b", "executor": {"kind": "act"}, "output": {"went": "$.output"}},
                "stop": {"target": "c"},
            }
        },
        "b": {"transitions": {"back": {"target": "a"}}},
        "c": {"terminal": True},
    },
}


def read_record(case: StepCase) -> RunRecord:
    record = case.workflows.instances.read_record(TENANT, case.id)
    assert record is not None
    return record


def play_steps(*, behind: float = 0.0) -> StepCase:
    """Return a run with six versions, of which one has evidence, with a failed step and a refusal. Its clock goes back
    by `behind` seconds before every step."""
    with_evidence = ExecutorOutcome(2, (EvidenceItem("scan", "robot", {"uri": "s3://1"}),))
    case = StepCase(ExecutorOutcome(1), ExecutorFailure("permanent_error", "No."), with_evidence).start(LOOP)
    for transition in ("go", "back", "go", "nothing", "go", "back", "stop"):
        case.advance(-behind)
        case.submit(transition)
    assert (case.instance.state, case.instance.version) == ("c", 6)
    return case


def verified(record: RunRecord) -> VerifiedRun:
    result = verify_record(record)
    assert isinstance(result, VerifiedRun), result
    return result


def find_fault(record: RunRecord) -> ChainFault:
    result = verify_record(record)
    assert isinstance(result, ChainFault)
    return result


@pytest.mark.invariant(99)
def test_the_record_of_a_run_agrees_with_its_hashes() -> None:
    record = read_record(play_steps())
    result = verified(record)
    assert (result.is_complete, result.newest, result.notes) == (True, record.instance.link, 1)
    assert result.newest.version == 6
    assert {row.link is not None for row in record.history} == {True}


@pytest.mark.invariant(99)
def test_any_change_of_a_row_of_history_or_audit_is_noticed() -> None:
    record = read_record(play_steps())
    verified(record)
    changes = list(change_rows(record))
    unnoticed = [place for place, changed in changes if isinstance(verify_record(changed), VerifiedRun)]
    (note,) = (index for index, row in enumerate(record.audit) if row.own_hash is not None)
    assert unnoticed == [f"audit[{note}] removed", f"audit[{note}] repeated"]  # notes are not in the chain
    assert len(changes) > 200


@pytest.mark.invariant(99)
def test_a_changed_value_of_the_current_state_is_noticed() -> None:
    changes = list(change_head(read_record(play_steps())))
    assert [place for place, changed in changes if isinstance(verify_record(changed), VerifiedRun)] == []
    assert len(changes) >= 10


def test_the_first_place_that_disagrees_is_named() -> None:
    record = read_record(play_steps())
    third = record.history[2]
    changed = replace(third, fields={**third.fields, "state": "elsewhere"})
    fault = find_fault(replace(record, history=[*record.history[:2], changed, *record.history[3:]]))
    assert third.link is not None
    assert fault.place == f"write {third.link.number} (version 3)"
    assert fault.message == "it does not have its hash: a row of it was changed, added or removed"


def rehash(record: RunRecord, number: int, change: Callable[[HashLink], HashLink]) -> RunRecord:
    """Change the link of a write, and give it the hash that fits, as an attacker can who knows the product."""

    def relink[Row: (HistoryRow, AuditRow)](row: Row) -> Row:
        return row if row.link is None or row.link.number != number else replace(row, link=new)

    rows = [row for row in (*record.history, *record.audit) if row.link is not None and row.link.number == number]
    history = next((row.fields for row in rows if isinstance(row, HistoryRow)), None)
    events = [event for row in rows if isinstance(row, AuditRow) for event in row.events]
    assert rows[0].link is not None
    new = change(rows[0].link)
    new = replace(new, hash=hash_link(new, build_record(record.tenant, record.instance.id, history, events)))
    return replace(record, history=list(map(relink, record.history)), audit=list(map(relink, record.audit)))


def test_a_write_whose_hash_was_computed_anew_does_not_fit_the_next_write() -> None:
    record = read_record(play_steps())
    changed = rehash(record, 3, lambda link: replace(link, previous="0" * 64))
    assert find_fault(changed).message == "it does not name the hash of the write before it"
    assert find_fault(rehash(record, 3, lambda link: replace(link, at=link.at + 0.5))).place.startswith("write 4 ")


def test_a_write_before_the_write_that_it_follows_is_noticed() -> None:
    record = read_record(play_steps())
    newest = record.instance.link
    assert newest is not None
    changed = rehash(record, newest.number, lambda link: replace(link, at=link.at - HOUR))
    changed = replace(changed, instance=replace(changed.instance, link=changed.audit[-1].link))
    assert find_fault(changed).message == "its times go backwards"


@pytest.mark.invariant(100)
def test_times_of_events_do_not_go_backwards_if_a_clock_is_behind() -> None:
    case = play_steps(behind=HOUR)
    record = read_record(case)
    times = [event.at for row in record.audit if row.link is not None for event in row.events]
    assert times == sorted(times)
    assert verified(record).newest.at >= times[-1]


def test_a_refusal_is_not_recorded_before_the_step_that_it_is_about() -> None:
    case = StepCase().start(LOOP)
    case.advance(-HOUR)
    case.submit("stop", version=7)
    started, refused = read_record(case).audit
    assert (refused.events[-1].record.type, refused.link) == ("transition.rejected", None)
    assert refused.events[0].at >= started.events[-1].at


def forget_hashes(case: StepCase) -> RunRecord:
    """Store the run as an earlier release has written it."""
    record = read_record(case)
    history = [replace(row, link=None) for row in record.history]
    return replace(record, instance=replace(record.instance, link=None), history=history, audit=[])


def test_a_run_without_hashes_is_not_taken_for_a_verified_one() -> None:
    fault = find_fault(forget_hashes(play_steps()))
    assert "an earlier release wrote it, or its hashes were removed" in fault.message


def test_a_head_row_without_its_hash_is_noticed() -> None:
    record = read_record(play_steps())
    fault = find_fault(replace(record, instance=replace(record.instance, link=None)))
    assert (fault.place, fault.message) == ("the head row", "it has no hash, but other rows have one")


def leave_unlinked(_tenant: str, _last: Instance | None, write: InstanceWrite, _now: float) -> InstanceWrite:
    return write


def start_in_an_earlier_release(monkeypatch: pytest.MonkeyPatch) -> StepCase:
    """Return a run with two versions whose rows have no hashes."""
    with monkeypatch.context() as patch:
        case = StepCase(ExecutorOutcome(1), ExecutorOutcome(2))
        patch.setattr("signpost.workflow.running.step_writer.link_write", leave_unlinked)
        case.start(LOOP).submit()
    assert case.instance.link is None
    return case


def test_the_chain_of_a_run_of_an_earlier_release_begins_with_its_next_step(monkeypatch: pytest.MonkeyPatch) -> None:
    case = start_in_an_earlier_release(monkeypatch)
    case.advance(1.0)
    case.submit("back")
    case.submit("stop")
    result = verified(read_record(case))
    assert (result.is_complete, result.first.version, result.newest.version) == (False, 3, 4)


@pytest.mark.parametrize("version", [3, 4])
def test_a_later_row_without_a_hash_is_noticed(monkeypatch: pytest.MonkeyPatch, version: int) -> None:
    case = start_in_an_earlier_release(monkeypatch)
    case.advance(1.0)
    case.submit("back")
    case.submit("stop")
    record = read_record(case)
    history = [replace(row, link=None) if row.version == version else row for row in record.history]
    assert isinstance(verify_record(replace(record, history=history)), ChainFault)


def test_events_without_a_hash_after_the_beginning_of_the_chain_are_noticed() -> None:
    record = read_record(play_steps())
    bare = replace(record.audit[-1], link=None)
    fault = find_fault(replace(record, audit=[*record.audit, bare]))
    assert (fault.place.split()[1], fault.message) == ("events", "they have no hash")


def test_a_hash_that_was_kept_elsewhere_shows_that_a_run_was_written_anew() -> None:
    first, second = play_steps(), play_steps()
    kept = first.instance.link.hash
    assert isinstance(verify_record(read_record(first), kept), VerifiedRun)
    other = verify_record(read_record(second), kept)
    assert isinstance(other, ChainFault)
    assert kept in other.message


def test_the_rows_of_another_run_do_not_fit() -> None:
    one, other = read_record(play_steps()), play_steps()
    stolen: Instance = replace(one.instance, id=other.id)
    assert isinstance(verify_record(replace(one, instance=stolen)), ChainFault)
    assert isinstance(verify_record(replace(one, tenant="another")), ChainFault)
    assert AGENT.tenant == TENANT
