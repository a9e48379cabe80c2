"""What every store of instances promises about the ends of tasks."""

import uuid
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from signpost.adapters.dynamodb.instances import LONGEST_IN_A_ROW, DynamoInstanceStore
from signpost.adapters.memory.instances import MemoryInstanceStore
from signpost.workflow.instance import Instance, InstanceWrite, StoredTask
from signpost.workflow.task_ends import TaskEnd, TaskReply
from tests.contract.conftest import ENGINES, TABLE, build_text_store

type Store = DynamoInstanceStore | MemoryInstanceStore
NOW = 1_800_000_000.25
RACERS = 8
REPLY = TaskReply({"signpost": 1, "result": {"z": 1, "a": ["ä\u2028", None, 2.5, True]}}, has_output_schema=True)
COMPLETED = TaskEnd("completed", NOW + 1, reply=REPLY)
FAILED = TaskEnd("failed", NOW + 2, "It crashed.", code="crashed", is_effect_unknown=True)
CANCELLED = TaskEnd("cancelled", NOW + 3, "It was cancelled.")


@pytest.fixture(params=ENGINES)
def store(request: pytest.FixtureRequest, dynamodb: Any) -> Store:
    if request.param == "memory":
        return MemoryInstanceStore()
    return DynamoInstanceStore(dynamodb(request.param), TABLE, build_text_store(request.param, request))


@pytest.fixture
def task(store: Store, tenant: str) -> Instance:
    instance = Instance(
        f"wf_{uuid.uuid4().hex}", "proxy_default", "call:once:a", "ready", 1, {}, {"a": 1}, NOW, is_task=True
    )
    assert store.save(tenant, InstanceWrite(instance), replacing=None)
    return instance


def write_of(task: Instance, end: TaskEnd | None) -> InstanceWrite:
    return InstanceWrite(replace(task, version=task.version + 1), task_end=end)


def find(store: Store, tenant: str, task: Instance) -> StoredTask | None:
    return store.find_task(tenant, task.id, lambda head: head.is_task)


def test_a_task_without_an_end_is_found_as_its_run(store: Store, tenant: str, task: Instance) -> None:
    assert find(store, tenant, task) == StoredTask(task)
    assert store.load(tenant, task.id) == task


def test_a_task_that_may_not_be_seen_or_of_another_tenant_is_not_found(
    store: Store, tenant: str, task: Instance
) -> None:
    assert store.find_task(tenant, task.id, lambda _head: False) is None
    assert store.find_task("another", task.id, lambda _head: True) is None
    assert store.find_task(tenant, "wf_other", lambda _head: True) is None


@pytest.mark.parametrize("end", [COMPLETED, FAILED, CANCELLED])
def test_an_end_is_kept_with_the_write_of_its_step(store: Store, tenant: str, task: Instance, end: TaskEnd) -> None:
    entry = write_of(task, end)
    assert store.save(tenant, entry, replacing=task.write_condition)
    assert find(store, tenant, task) == StoredTask(entry.instance, end)


def test_the_end_of_a_write_that_was_refused_is_not_kept(store: Store, tenant: str, task: Instance) -> None:
    other = replace(task, version=7)
    assert not store.save(tenant, write_of(task, COMPLETED), replacing=other.write_condition)
    assert find(store, tenant, task) == StoredTask(task)


@pytest.mark.invariant(165)
def test_the_first_end_stays_and_the_step_is_written_all_the_same(store: Store, tenant: str, task: Instance) -> None:
    assert store.end_task(tenant, task.id, CANCELLED) == CANCELLED
    assert store.end_task(tenant, task.id, FAILED) == CANCELLED
    entry = write_of(task, COMPLETED)
    assert store.save(tenant, entry, replacing=task.write_condition)
    assert find(store, tenant, task) == StoredTask(entry.instance, CANCELLED)


@pytest.mark.invariant(165)
def test_an_end_that_was_written_with_a_step_stays(store: Store, tenant: str, task: Instance) -> None:
    entry = write_of(task, COMPLETED)
    assert store.save(tenant, entry, replacing=task.write_condition)
    assert store.end_task(tenant, task.id, CANCELLED) == COMPLETED
    assert find(store, tenant, task) == StoredTask(entry.instance, COMPLETED)


@pytest.mark.invariant(165)
def test_all_of_several_writers_get_the_same_end(store: Store, tenant: str, task: Instance) -> None:
    ends = [TaskEnd("failed", NOW + number, f"by {number}") for number in range(RACERS)]

    def keep(end: TaskEnd) -> TaskEnd:
        return store.end_task(tenant, task.id, end)

    with ThreadPoolExecutor(RACERS) as pool:
        kept = list(pool.map(keep, ends))
    assert set(kept) <= set(ends)
    assert find(store, tenant, task) == StoredTask(task, kept[0])
    assert len(set(kept)) == 1


def test_a_long_reply_is_kept_whole(store: Store, tenant: str, task: Instance) -> None:
    end = replace(COMPLETED, reply=TaskReply({"signpost": 1, "result": "x" * (LONGEST_IN_A_ROW * 20)}))
    entry = write_of(task, end)
    assert store.save(tenant, entry, replacing=task.write_condition)
    assert find(store, tenant, task) == StoredTask(entry.instance, end)
