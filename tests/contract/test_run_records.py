"""What every store of instances keeps for the verification of runs."""

import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from signpost.adapters import keys
from signpost.adapters.dynamodb import rows
from signpost.adapters.dynamodb.instances import EVENTS_IN_A_ROW, DynamoInstanceStore
from signpost.adapters.dynamodb.run_records import DynamoRunRecords
from signpost.adapters.dynamodb.workflow_stream import workflow_events_in
from signpost.adapters.memory.instances import MemoryInstanceStore
from signpost.workflow.instance import (
    AuditEvent,
    AuditRecord,
    EvidenceItem,
    Hop,
    Instance,
    InstanceWrite,
    add_evidence,
)
from signpost.workflow.running.linked_writes import link_write
from signpost.workflow.running.verification import (
    ChainFault,
    RunRecord,
    RunRecordReader,
    UnreadableRow,
    VerifiedRun,
    verify_record,
)
from tests.contract.conftest import ENGINES, TABLE, build_text_store

type Store = DynamoInstanceStore | MemoryInstanceStore
type RowEditor = Callable[[str, str, Any], None]
NOW = 1_800_000_000.123456
STEPS = 3


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def store(engine: str, request: pytest.FixtureRequest, dynamodb: Any) -> Store:
    if engine == "memory":
        return MemoryInstanceStore()
    return DynamoInstanceStore(dynamodb(engine), TABLE, build_text_store(engine, request))


@pytest.fixture
def records(store: Store, engine: str, dynamodb: Any) -> RunRecordReader:
    return store if isinstance(store, MemoryInstanceStore) else DynamoRunRecords(dynamodb(engine), TABLE, store)


def build_event(number: int, at: float, **payload: Any) -> AuditEvent:
    return AuditEvent(AuditRecord("workflow.transitioned", {"n": number, **payload}), at, "cor_1", "carol ä \u2028")


def write_step(store: Store, tenant: str, last: Instance | None, after: Instance, events: int = 2) -> Instance:
    """Write a version with evidence and events, as the product does."""
    at = NOW + after.version
    item = EvidenceItem("scan", "robot", {"ratio": 0.1, "uri": f"s3://{after.version}"})
    after = replace(after, evidence=add_evidence(after.evidence, [item]))
    hops = (Hop("open", "go", after.state, after.version),) if last is not None else ()
    numbered = tuple(build_event(n, at + n / 1000, text="x" * n, exact=[1.0, -0.0, 1e300, None]) for n in range(events))
    write = InstanceWrite(after, hops, (item,), numbered, token=uuid.uuid4().hex)
    write = link_write(tenant, last, write, at + 0.9)
    assert store.save(tenant, write, replacing=None if last is None else last.write_condition)
    return write.instance


def write_run(store: Store, tenant: str, **changes: Any) -> Instance:
    start = Instance(
        id=f"wf_{uuid.uuid4().hex}",
        definition_id="demo",
        digest="d" * 64,
        state="open",
        version=1,
        context={"n": 1, "text": "ä"},
        input={"amount": 1.5},
        started_at=NOW,
    )
    last = write_step(store, tenant, None, replace(start, **changes))
    for version in range(2, STEPS + 1):
        last = write_step(store, tenant, last, replace(last, version=version, context={"n": version}))
    return last


def read(records: RunRecordReader, tenant: str, workflow_id: str) -> RunRecord:
    record = records.read_record(tenant, workflow_id)
    assert record is not None
    return record


@pytest.mark.invariant(99)
def test_the_record_of_a_run_is_read_as_it_was_hashed(store: Store, records: RunRecordReader, tenant: str) -> None:
    last = write_run(store, tenant)
    record = read(records, tenant, last.id)
    result = verify_record(record)
    assert isinstance(result, VerifiedRun), result
    assert (result.newest, result.is_complete, result.notes) == (last.link, True, 0)
    assert record.instance == last == store.load(tenant, last.id)
    assert [row.version for row in record.history] == [1, 2, 3]


def test_a_run_that_does_not_exist_has_no_record(records: RunRecordReader, tenant: str) -> None:
    assert records.read_record(tenant, "wf_none") is None


def test_a_long_context_and_many_events_agree_with_their_hash(
    store: Store, records: RunRecordReader, tenant: str
) -> None:
    last = write_run(store, tenant, context={"text": "ä" * 40_000})
    last = write_step(store, tenant, last, replace(last, version=4), events=12 * EVENTS_IN_A_ROW + 1)
    result = verify_record(read(records, tenant, last.id))
    assert isinstance(result, VerifiedRun), result


def test_two_writes_of_one_call_at_one_time_have_two_rows(store: Store, records: RunRecordReader, tenant: str) -> None:
    last = write_run(store, tenant)
    for version in (4, 5):
        write = InstanceWrite(replace(last, version=version), events=(build_event(version, NOW + 100),))
        write = link_write(tenant, last, write, NOW + 100)
        assert store.save(tenant, write, replacing=last.write_condition)
        last = write.instance
    assert isinstance(verify_record(read(records, tenant, last.id)), VerifiedRun)
    assert [event.record.payload["n"] for event in store.audit(tenant, last.id)][-2:] == [4, 5]


def test_notes_have_a_hash_of_their_own(store: Store, records: RunRecordReader, tenant: str) -> None:
    last = write_run(store, tenant)
    store.note(tenant, last.id, [build_event(1, NOW + 50), build_event(2, NOW + 51)])
    result = verify_record(read(records, tenant, last.id))
    assert isinstance(result, VerifiedRun), result
    assert result.notes == 1


@pytest.fixture
def edit_row(engine: str, dynamodb: Any, tenant: str) -> RowEditor:
    """Return a function that changes attributes of a row, or removes those that it sets to None."""

    def edit(workflow_id: str, sk_begins: str, attributes: Any) -> None:
        client = dynamodb(engine)
        (row, *_) = rows.query(client, TABLE, keys.workflow(tenant, workflow_id), sk_begins=sk_begins)
        edited = {name: value for name, value in {**row, **attributes}.items() if value is not None}
        client.put_item(TableName=TABLE, Item=edited)

    return edit


@pytest.mark.parametrize("engine", ENGINES[1:], indirect=True)
@pytest.mark.parametrize(
    ("row", "attributes", "place"),
    [
        (keys.AUDIT, {"subject": {"S": "eve"}}, "write 1 (version 1)"),
        (keys.AUDIT, {"correlation": {"S": "cor_2"}}, "write 1 (version 1)"),
        (keys.AUDIT, {"link": None}, "write 1 (version 1)"),
        (keys.history(2), {"link": None}, "write 2 (version 2)"),
        (keys.history(2), {"text": {"S": '{"hops":[],"evidence":[]}'}}, "write 2 (version 2)"),
        (keys.CONTEXT, {"text": {"S": '{"n":9}'}}, "the context"),
        (keys.INPUT, {"text": {"S": "{}"}}, "the input"),
    ],
)
def test_an_edited_row_is_noticed(
    store: Store,
    records: RunRecordReader,
    tenant: str,
    edit_row: RowEditor,
    row: str,
    attributes: Any,
    place: str,
) -> None:
    last = write_run(store, tenant)
    edit_row(last.id, row, attributes)
    fault = verify_record(read(records, tenant, last.id))
    assert isinstance(fault, ChainFault)
    assert fault.place == place


@pytest.mark.parametrize("engine", ENGINES[1:], indirect=True)
@pytest.mark.parametrize("row", [keys.AUDIT, keys.history(1), keys.HEAD])
@pytest.mark.parametrize("text", ["no JSON", "{}", "[]", "[{}]"])
def test_a_row_of_another_form_is_named(
    store: Store, records: RunRecordReader, tenant: str, edit_row: RowEditor, row: str, text: str
) -> None:
    last = write_run(store, tenant)
    edit_row(last.id, row, {"text": {"S": text}})
    with pytest.raises(UnreadableRow, match=row):
        records.read_record(tenant, last.id)


@pytest.mark.parametrize("engine", ENGINES[1:], indirect=True)
def test_rows_of_the_release_before_are_read_and_the_next_step_begins_the_chain(
    store: Store, records: RunRecordReader, tenant: str, engine: str, dynamodb: Any
) -> None:
    client = dynamodb(engine)
    instance = replace(write_run(store, tenant), link=None)
    _forget_hashes(client, tenant, instance)
    assert store.load(tenant, instance.id) == instance
    assert isinstance(verify_record(read(records, tenant, instance.id)), ChainFault)
    last = write_step(store, tenant, instance, replace(instance, version=4))
    assert last.link is not None
    assert (last.link.number, last.link.previous) == (1, "")
    result = verify_record(read(records, tenant, instance.id))
    assert isinstance(result, VerifiedRun), result
    assert (result.is_complete, result.first.version) == (False, 4)
    assert len(store.history(tenant, instance.id)) == 4


def _forget_hashes(client: Any, tenant: str, instance: Instance) -> None:
    """Write the rows of a run as the release before wrote them."""
    for row in list(rows.query(client, TABLE, keys.workflow(tenant, instance.id))):
        old = {name: value for name, value in row.items() if name not in ("link", "hash")}
        if row["sk"]["S"] == keys.HEAD:
            old["text"] = {"S": row["text"]["S"].rpartition(',"link":')[0] + "}"}
        if row["sk"]["S"].startswith(keys.HISTORY):
            old["text"] = {"S": row["text"]["S"].rpartition(',"state":')[0] + "}"}
        client.put_item(TableName=TABLE, Item=old)


@pytest.mark.parametrize("engine", ENGINES[1:], indirect=True)
def test_events_for_the_bus_have_the_hash_of_their_write(store: Store, tenant: str, engine: str, dynamodb: Any) -> None:
    last = write_run(store, tenant)
    assert last.link is not None
    found: Sequence[Any] = list(
        rows.query(dynamodb(engine), TABLE, keys.workflow(tenant, last.id), sk_begins=keys.AUDIT)
    )
    assert {event.hash for event in workflow_events_in(found[-1])} == {last.link.hash}
    store.note(tenant, last.id, [build_event(1, NOW + 50)])
    (*_, note) = rows.query(dynamodb(engine), TABLE, keys.workflow(tenant, last.id), sk_begins=keys.AUDIT)
    assert [event.hash for event in workflow_events_in(note)] == [note["hash"]["S"]]
    assert [event.hash for event in workflow_events_in({**note, "hash": {"S": ""}})] == [""]
