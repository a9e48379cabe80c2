"""What every store of instances promises."""

import uuid
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from signpost.adapters.dynamodb.instances import LONGEST_IN_A_ROW, DynamoInstances
from signpost.adapters.memory.instances import MemoryInstances
from signpost.workflow.guards import Tally
from signpost.workflow.instance import AuditEvent, Entry, EvidenceItem, Hop, Instance, Record, Request
from tests.contract.conftest import ENGINES, TABLE, values_of

type Store = DynamoInstances | MemoryInstances
RACERS = 8


@pytest.fixture(params=ENGINES)
def store(request: pytest.FixtureRequest, dynamodb: Any) -> Store:
    if request.param == "memory":
        return MemoryInstances()
    return DynamoInstances(dynamodb(request.param), TABLE, values_of(request.param, request))


@pytest.fixture
def new() -> Instance:
    return Instance(
        id=f"wf_{uuid.uuid4().hex}",
        definition_id="demo",
        digest="d" * 64,
        state="open",
        version=1,
        context={"z": 1, "a": {"list": [1, 2.5, None, True, "ä"]}},
        input={"repo": "x"},
        started_at=1_800_000_000.25,
        ends_at=1_800_000_005.25,
    )


def asked(instance: Instance, name: str = "hr_1", at: float = 1.5) -> Request:
    return Request(
        name, "editors", "bob", at, 9.5, instance.state, ("draft",), "digest", frozenset({"carol"})
    )  # fmt: skip


def moved(instance: Instance, to: str = "done", **changes: Any) -> Entry:
    after = replace(instance, state=to, version=instance.version + 1, **changes)
    return Entry(after, hops=(Hop(instance.state, "go", to, after.version),))


def event(kind: str, correlation: str = "cor_1") -> AuditEvent:
    return AuditEvent(Record(kind, {"n": 1}), 1_800_000_000.5, correlation, "carol")


def test_what_was_saved_is_loaded_to_the_last_detail(store: Store, tenant: str, new: Instance) -> None:
    kept = replace(new, evidence={"scan": Tally(2, frozenset({"a", "b"}))}, request=asked(new))
    assert store.save(tenant, Entry(kept), replacing=None)
    found = store.load(tenant, new.id)
    assert found == kept
    assert found is not None
    assert list(found.context) == ["z", "a"]


def test_nothing_is_found_that_is_not_there_or_not_the_tenants(store: Store, tenant: str, new: Instance) -> None:
    assert store.save(tenant, Entry(new), replacing=None)
    assert store.load(tenant, "wf_other") is None
    assert store.load("another", new.id) is None


def test_an_instance_begins_once(store: Store, tenant: str, new: Instance) -> None:
    assert store.save(tenant, Entry(new), replacing=None)
    assert not store.save(tenant, Entry(replace(new, state="other")), replacing=None)
    assert store.load(tenant, new.id) == new


def test_a_step_is_saved_only_where_it_was_decided(store: Store, tenant: str, new: Instance) -> None:
    store.save(tenant, Entry(new), replacing=None)
    first, late = moved(new, "first"), moved(new, "late")
    assert store.save(tenant, first, replacing=1)
    assert not store.save(tenant, late, replacing=1)
    assert not store.save(tenant, late, replacing=7)
    assert store.load(tenant, new.id) == first.instance
    assert len(store.history(tenant, new.id)) == 2


def test_a_step_needs_an_instance(store: Store, tenant: str, new: Instance) -> None:
    assert not store.save(tenant, moved(new), replacing=1)
    assert store.load(tenant, new.id) is None


def test_of_several_at_once_one_is_first_and_only_its_story_is_told(store: Store, tenant: str, new: Instance) -> None:
    store.save(tenant, Entry(new), replacing=None)
    entries = [replace(moved(new, f"by-{n}"), events=(event(f"step-{n}", f"cor_{n}"),)) for n in range(RACERS)]

    def save(entry: Entry) -> bool:
        return store.save(tenant, entry, replacing=1)

    with ThreadPoolExecutor(RACERS) as threads:
        saved = list(threads.map(save, entries))
    assert saved.count(True) == 1
    winner = entries[saved.index(True)]
    assert store.load(tenant, new.id) == winner.instance
    assert [hop for hops, _ in store.history(tenant, new.id) for hop in hops] == list(winner.hops)
    assert list(store.audit(tenant, new.id)) == list(winner.events)


def test_history_and_evidence_are_told_in_their_order(store: Store, tenant: str, new: Instance) -> None:
    store.save(tenant, Entry(new), replacing=None)
    instance = new
    for n in range(12):
        item = EvidenceItem("scan", "robot", {"uri": f"s3://{n}"})
        entry = replace(moved(instance, f"s{n}"), evidence=(item,))
        assert store.save(tenant, entry, replacing=instance.version)
        instance = entry.instance
    told = store.history(tenant, new.id)
    assert [hop.version for hops, _ in told for hop in hops] == list(range(2, 14))
    assert [item.fields["uri"] for _, evidence in told for item in evidence] == [f"s3://{n}" for n in range(12)]


def test_what_changed_nothing_is_noted_all_the_same(store: Store, tenant: str, new: Instance) -> None:
    store.save(tenant, Entry(new, events=(event("workflow.started"),)), replacing=None)
    refused = [event("transition.requested", "cor_2"), event("transition.rejected", "cor_2")]
    store.note(tenant, new.id, refused)
    assert [one.record.type for one in store.audit(tenant, new.id)] == [
        "workflow.started",
        "transition.requested",
        "transition.rejected",
    ]
    assert store.load(tenant, new.id) == new


def test_a_request_is_listed_while_it_is_open(store: Store, tenant: str, new: Instance) -> None:
    other = replace(new, id=f"{new.id}-2")
    for instance, name, at in ((new, "hr_a", 2.0), (other, "hr_b", 1.0)):
        assert store.save(tenant, Entry(replace(instance, request=asked(instance, name, at))), replacing=None)
    assert [(one.workflow_id, one.request.id) for one in store.waiting(tenant)] == [
        (other.id, "hr_b"),
        (new.id, "hr_a"),
    ]
    assert store.save(tenant, replace(moved(new), closed="hr_a"), replacing=1)
    assert [one.request for one in store.waiting(tenant)] == [asked(other, "hr_b", 1.0)]
    assert not store.save(tenant, replace(moved(other), closed="hr_b"), replacing=7)
    assert len(store.waiting(tenant)) == 1


@pytest.mark.parametrize("size", [LONGEST_IN_A_ROW - 100, LONGEST_IN_A_ROW + 100, 600_000])
def test_a_long_context_is_kept_whole(store: Store, tenant: str, new: Instance, size: int) -> None:
    long = replace(new, context={"text": "ä" * size}, input={"text": "b" * size})
    assert store.save(tenant, Entry(long), replacing=None)
    assert store.load(tenant, new.id) == long
