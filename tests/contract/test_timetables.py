"""Timetables, as each store has to keep them: a publication makes one due in its own write and overwrites no result."""

import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pytest
from botocore.awsrequest import AWSResponse

from signpost.adapters.dynamodb import DynamoContentStore
from signpost.adapters.dynamodb.due import DynamoDue, wakes_in
from signpost.adapters.dynamodb.timetables import DynamoTimetables, build_timetable_wake
from signpost.adapters.memory import FunctionTable, MemoryContentStore
from signpost.adapters.memory.due import MemoryDue
from signpost.adapters.memory.instances import MemoryInstanceStore
from signpost.adapters.memory.timetables import MemoryTimetables
from signpost.content.model import CatalogueChange, Overtaken, Skill, SkillChange
from signpost.content.ports import ContentStore
from signpost.workflow.ports import DueInstances, Timetables
from signpost.workflow.timetable import OccasionResult, Timetable
from signpost.workflow.wakes import SCHEDULES, Wake, WakeMessage
from tests.contract.conftest import ENGINES, SCOPES, TABLE, build_change_batch_store
from tests.contract.test_due_instances import TABLE as WORKFLOWS_TABLE
from tests.support.memory_gateway import ManualClock

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

RESULTS = {"nightly": OccasionResult(1_800_000_000.0, "refused", "wf_1", "NOT_FOUND", "There is none.")}


@dataclass(frozen=True, slots=True)
class Stores:
    content: ContentStore
    timetables: Timetables
    due: DueInstances
    now: Callable[[], float]
    tenant: str

    def publish(self, before: str | None, after: str, *more: SkillChange, wakes: bool = True) -> None:
        self.content.apply(self.tenant, [*more, CatalogueChange(before, after, wakes_schedules=wakes)])

    def load(self) -> Timetable:
        timetable = self.timetables.load(self.tenant)
        assert timetable is not None
        return timetable


@pytest.fixture(params=ENGINES)
def stores(request: pytest.FixtureRequest, dynamodb: Any) -> Stores:
    tenant = f"t-{uuid.uuid4().hex[:12]}"
    if request.param == "memory":
        clock = ManualClock()
        timetables = MemoryTimetables(clock)
        content = MemoryContentStore(FunctionTable(), timetables)
        return Stores(content, timetables, MemoryDue(MemoryInstanceStore(), timetables), clock.now, tenant)
    client: DynamoDBClient = dynamodb(request.param)
    table = f"timetables-{uuid.uuid4().hex[:12]}"
    shape = {name: WORKFLOWS_TABLE[name] for name in ("AttributeDefinitions", "KeySchema", "GlobalSecondaryIndexes")}
    client.create_table(TableName=table, BillingMode="PAY_PER_REQUEST", **shape)
    client.get_waiter("table_exists").wait(TableName=table)
    batches = build_change_batch_store(request.param, request)
    content = DynamoContentStore(client, TABLE, batches, SCOPES, table)
    return Stores(content, DynamoTimetables(client, table), DynamoDue(client, table), time.time, tenant)


def test_a_publication_of_schedules_makes_the_timetable_due(stores: Stores) -> None:
    assert stores.timetables.load(stores.tenant) is None
    stores.publish(None, "a", wakes=False)
    assert stores.timetables.load(stores.tenant) is None
    before = stores.now()
    stores.publish("a", "b")
    timetable = stores.load()
    assert (timetable.revision, timetable.results) == (1, {})
    assert timetable.due_at is not None
    assert before <= timetable.due_at <= stores.now()
    assert WakeMessage(stores.tenant, SCHEDULES) in stores.due.find_due(stores.now() + 1, 100)


def test_a_publication_keeps_the_results_and_changes_the_revision(stores: Stores) -> None:
    stores.publish(None, "a")
    later = stores.now() + 1_000
    assert stores.timetables.save(stores.tenant, Timetable(2, later, RESULTS), replacing=1)
    assert stores.load() == Timetable(2, later, RESULTS)
    assert stores.due.find_due(stores.now() + 1, 100) == []
    stores.publish("a", "b")
    timetable = stores.load()
    assert (timetable.revision, timetable.results) == (3, RESULTS)
    assert timetable.due_at is not None
    assert timetable.due_at <= stores.now()


def test_a_timetable_is_saved_over_the_revision_that_was_read_only(stores: Stores) -> None:
    missing = Timetable(1, None, {})
    assert not stores.timetables.save(stores.tenant, missing, replacing=0)
    assert stores.timetables.load(stores.tenant) is None
    stores.publish(None, "a")
    read = stores.load()
    stores.publish("a", "b")
    assert not stores.timetables.save(stores.tenant, replace(read, revision=read.revision + 1), replacing=read.revision)
    assert stores.load().revision == 2


@pytest.mark.parametrize("engine", [engine for engine in ENGINES if engine != "memory"])
def test_a_timetable_is_saved_while_a_publication_writes_its_row(dynamodb: Any, engine: str) -> None:
    """DynamoDB refuses a write of a row that a transaction is writing; the next attempt finds what came of it."""
    client: DynamoDBClient = dynamodb(engine)
    table, tenant = f"timetables-{uuid.uuid4().hex[:12]}", "acme"
    shape = {name: WORKFLOWS_TABLE[name] for name in ("AttributeDefinitions", "KeySchema", "GlobalSecondaryIndexes")}
    client.create_table(TableName=table, BillingMode="PAY_PER_REQUEST", **shape)
    client.transact_write_items(TransactItems=[build_timetable_wake(table, tenant)])
    left = iter(range(3))

    def refuse(**_: Any) -> Any:
        if next(left, None) is None:
            return None
        refused = {"Error": {"Code": "TransactionConflictException", "Message": "in the way"}}
        no_headers: Any = {}
        return AWSResponse("http://table.test", 400, no_headers, None), {
            **refused,
            "ResponseMetadata": {"HTTPStatusCode": 400},
        }

    timetables = DynamoTimetables(client, table)
    client.meta.events.register("before-call.dynamodb.PutItem", refuse)
    try:
        assert timetables.save(tenant, Timetable(2, None, RESULTS), replacing=1)
    finally:
        client.meta.events.unregister("before-call.dynamodb.PutItem", refuse)
    assert timetables.load(tenant) == Timetable(2, None, RESULTS)


def test_a_timetable_without_another_occasion_is_never_due(stores: Stores) -> None:
    stores.publish(None, "a")
    assert stores.timetables.save(stores.tenant, Timetable(2, None, RESULTS), replacing=1)
    assert stores.load() == Timetable(2, None, RESULTS)
    assert stores.due.find_due(stores.now() + 10**9, 100) == []


def test_an_overtaken_publication_makes_nothing_due(stores: Stores) -> None:
    stores.publish(None, "a", wakes=False)
    with pytest.raises(Overtaken):
        stores.publish(None, "b")
    assert stores.timetables.load(stores.tenant) is None


@pytest.mark.parametrize("documents", [1, 40])
def test_a_publication_of_any_size_makes_the_timetable_due_once(stores: Stores, documents: int) -> None:
    skills = [Skill(f"s{number}", "T", None, 1, "", "0" * 64) for number in range(documents)]
    stores.publish(None, "a", *(SkillChange(skill.id, skill) for skill in skills))
    assert stores.load().revision == 1


def test_the_row_of_a_timetable_wakes_the_worker() -> None:
    row = {"pk": {"S": f"tenant#acme#wf#{SCHEDULES}"}, "wake": {"S": '[{"workflowId":"schedules","at":5.0}]'}}
    assert wakes_in(row) == [("acme", Wake(SCHEDULES, 5.0))]
