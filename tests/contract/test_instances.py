"""What every store of instances promises."""

import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import pytest

from signpost.adapters import keys
from signpost.adapters.dynamodb import rows
from signpost.adapters.dynamodb.due import wakes_in
from signpost.adapters.dynamodb.instances import LONGEST_IN_A_ROW, DynamoInstanceStore
from signpost.adapters.memory.instances import MemoryInstanceStore
from signpost.errors import Unavailable
from signpost.model import Principal
from signpost.workflow.guards import Tally
from signpost.workflow.instance import (
    ApprovalRequest,
    AuditEvent,
    AuditRecord,
    Cancellation,
    Claim,
    EvidenceItem,
    Hop,
    Instance,
    InstanceFault,
    InstanceWrite,
    Job,
    WriteCondition,
)
from signpost.workflow.wakes import Wake
from tests.contract.conftest import ENGINES, TABLE, values_of

type Store = DynamoInstanceStore | MemoryInstanceStore
RACERS = 8


@pytest.fixture(params=ENGINES)
def store(request: pytest.FixtureRequest, dynamodb: Any) -> Store:
    if request.param == "memory":
        return MemoryInstanceStore()
    return DynamoInstanceStore(dynamodb(request.param), TABLE, values_of(request.param, request))


@dataclass(frozen=True, slots=True)
class Looked:
    """What whoever looks after instances gets to see of one."""

    due_at: float | None
    wakes: Sequence[Wake]


@pytest.fixture
def looked(store: Store, tenant: str, request: pytest.FixtureRequest, dynamodb: Any) -> Callable[[str], Looked]:
    """At what was written last."""

    def look(workflow_id: str) -> Looked:
        if isinstance(store, MemoryInstanceStore):
            times = [at for at in TIMES if (tenant, workflow_id) in store.find_due(at)]
            wakes, store.wakes[:] = [wake for owner, wake in store.wakes if owner == tenant], []
            return Looked(min(times, default=None), wakes)
        client = dynamodb(request.node.callspec.params["store"])
        row = rows.get(client, TABLE, keys.workflow_row(tenant, workflow_id, keys.HEAD))
        assert row is not None
        return Looked(rows.optional_number(row, "due_at"), [wake for _, wake in wakes_in(row)])

    return look


TIMES = (1_800_000_010.0, 1_800_000_020.0)


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


def asked(instance: Instance, name: str = "hr_1", at: float = 1.5) -> ApprovalRequest:
    return ApprovalRequest(
        name, "editors", "bob", at, 9.5, instance.state, ("draft",), "digest", frozenset({"carol"})
    )  # fmt: skip


def moved(instance: Instance, to: str = "done", **changes: Any) -> InstanceWrite:
    after = replace(instance, state=to, version=instance.version + 1, **changes)
    return InstanceWrite(after, hops=(Hop(instance.state, "go", to, after.version),))


WHO = Principal("carol", "acme", "t", frozenset({"b", "a"}), frozenset({"p"}), human=True)


def claimed(token: str = "token-1", **fields: Any) -> Claim:
    job = Job("go", fields.pop("arguments", {"n": 1}), WHO)
    return Claim(token, "running", job, since=1_800_000_001.5, until=TIMES[0], **fields)


def event(kind: str, correlation: str = "cor_1") -> AuditEvent:
    return AuditEvent(AuditRecord(kind, {"n": 1}), 1_800_000_000.5, correlation, "carol")


def test_what_was_saved_is_loaded_to_the_last_detail(store: Store, tenant: str, new: Instance) -> None:
    kept = replace(
        new,
        evidence={"scan": Tally(2, frozenset({"a", "b"}))},
        request=asked(new),
        end_unreported_since=1_800_000_003.5,
    )
    assert store.save(tenant, InstanceWrite(kept), replacing=None)
    found = store.load(tenant, new.id)
    assert found == kept
    assert found is not None
    assert list(found.context) == ["z", "a"]


def test_nothing_is_found_that_is_not_there_or_not_the_tenants(store: Store, tenant: str, new: Instance) -> None:
    assert store.save(tenant, InstanceWrite(new), replacing=None)
    assert store.load(tenant, "wf_other") is None
    assert store.load("another", new.id) is None


def test_an_instance_begins_once(store: Store, tenant: str, new: Instance) -> None:
    assert store.save(tenant, InstanceWrite(new), replacing=None)
    assert not store.save(tenant, InstanceWrite(replace(new, state="other")), replacing=None)
    assert store.load(tenant, new.id) == new


class TornReads:
    """A table of which some queries see one row of a transaction and not yet another, as AWS allows it."""

    def __init__(self, client: Any, context: Any, torn: int) -> None:
        self._client = client
        self._context = context
        self._torn = torn

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def query(self, **arguments: Any) -> Any:
        page = self._client.query(**arguments)
        if self._torn:
            self._torn -= 1
            others = [row for row in page["Items"] if row["sk"]["S"] != keys.CONTEXT]
            page["Items"] = [self._context, *others]
        return page


@pytest.mark.parametrize("engine", ENGINES[1:])
def test_rows_of_two_versions_are_never_taken_for_a_stand(
    engine: str, request: pytest.FixtureRequest, dynamodb: Any, tenant: str, new: Instance
) -> None:
    client, values = dynamodb(engine), values_of(engine, request)
    store = DynamoInstanceStore(client, TABLE, values)
    store.save(tenant, InstanceWrite(new), replacing=None)
    before = rows.get(client, TABLE, keys.workflow_row(tenant, new.id, keys.CONTEXT))
    after = moved(new, context={"z": 2})
    assert store.save(tenant, after, replacing=WriteCondition(1))

    def reading(torn: int) -> Instance | None:
        table: Any = TornReads(client, before, torn)
        return DynamoInstanceStore(table, TABLE, values).load(tenant, new.id)

    assert reading(torn=2) == after.instance
    with pytest.raises(Unavailable):
        reading(torn=99)


def test_a_step_is_saved_only_where_it_was_decided(store: Store, tenant: str, new: Instance) -> None:
    store.save(tenant, InstanceWrite(new), replacing=None)
    first, late = moved(new, "first"), moved(new, "late")
    assert store.save(tenant, first, replacing=WriteCondition(1))
    assert not store.save(tenant, late, replacing=WriteCondition(1))
    assert not store.save(tenant, late, replacing=WriteCondition(7))
    assert store.load(tenant, new.id) == first.instance
    assert len(store.history(tenant, new.id)) == 2


def test_a_step_needs_an_instance(store: Store, tenant: str, new: Instance) -> None:
    assert not store.save(tenant, moved(new), replacing=WriteCondition(1))
    assert store.load(tenant, new.id) is None


def test_of_several_at_once_one_is_first_and_only_its_story_is_told(store: Store, tenant: str, new: Instance) -> None:
    store.save(tenant, InstanceWrite(new), replacing=None)
    entries = [replace(moved(new, f"by-{n}"), events=(event(f"step-{n}", f"cor_{n}"),)) for n in range(RACERS)]

    def save(entry: InstanceWrite) -> bool:
        return store.save(tenant, entry, replacing=WriteCondition(1))

    with ThreadPoolExecutor(RACERS) as threads:
        saved = list(threads.map(save, entries))
    assert saved.count(True) == 1
    winner = entries[saved.index(True)]
    assert store.load(tenant, new.id) == winner.instance
    assert [hop for hops, _ in store.history(tenant, new.id) for hop in hops] == list(winner.hops)
    assert list(store.audit(tenant, new.id)) == list(winner.events)


def test_history_and_evidence_are_told_in_their_order(store: Store, tenant: str, new: Instance) -> None:
    store.save(tenant, InstanceWrite(new), replacing=None)
    instance = new
    for n in range(12):
        item = EvidenceItem("scan", "robot", {"uri": f"s3://{n}"})
        entry = replace(moved(instance, f"s{n}"), evidence=(item,))
        assert store.save(tenant, entry, replacing=instance.write_condition)
        instance = entry.instance
    told = store.history(tenant, new.id)
    assert [hop.version for hops, _ in told for hop in hops] == list(range(2, 14))
    assert [item.fields["uri"] for _, evidence in told for item in evidence] == [f"s3://{n}" for n in range(12)]


def test_what_changed_nothing_is_noted_all_the_same(store: Store, tenant: str, new: Instance) -> None:
    store.save(tenant, InstanceWrite(new, events=(event("workflow.started"),)), replacing=None)
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
        assert store.save(tenant, InstanceWrite(replace(instance, request=asked(instance, name, at))), replacing=None)
    assert [(one.workflow_id, one.request.id) for one in store.list_open_approvals(tenant)] == [
        (other.id, "hr_b"),
        (new.id, "hr_a"),
    ]
    assert store.save(tenant, replace(moved(new), closed_request_id="hr_a"), replacing=WriteCondition(1))
    assert [one.request for one in store.list_open_approvals(tenant)] == [asked(other, "hr_b", 1.0)]
    assert not store.save(tenant, replace(moved(other), closed_request_id="hr_b"), replacing=WriteCondition(7))
    assert len(store.list_open_approvals(tenant)) == 1


@pytest.mark.parametrize("size", [LONGEST_IN_A_ROW - 100, LONGEST_IN_A_ROW + 100, 600_000])
def test_a_long_context_is_kept_whole(store: Store, tenant: str, new: Instance, size: int) -> None:
    long = replace(new, context={"text": "ä" * size}, input={"text": "b" * size})
    assert store.save(tenant, InstanceWrite(long), replacing=None)
    assert store.load(tenant, new.id) == long


def test_all_that_is_unusual_about_an_instance_is_kept(store: Store, tenant: str, new: Instance) -> None:
    job = Job("on_enter", {"z": 1, "a": ["ä"]}, WHO, is_hop=True, chained=3)
    claim = Claim(
        token="t",
        standing="in_doubt",
        job=job,
        since=1.5,
        until=2.5,
        candidate=1,
        attempt=4,
        repeatable=True,
        tainted=True,
        awaits="workflow",
        child="wf_child",
        gives_up_at=9.5,
        lost=2,
        handed_over=7,
        message="Nobody knows.",
    )
    fault = InstanceFault("CHAIN_FAILED", "no", "go", "timeout", 3.5)
    odd = replace(
        new,
        entering=True,
        claim=claim,
        parent="wf_parent",
        depth=3,
        cancelled=Cancellation("bob", 4.5, "go"),
        fault=fault,
    )
    odd = replace(odd, releases=2)
    assert store.save(tenant, InstanceWrite(odd), replacing=None)
    assert store.load(tenant, new.id) == odd


def test_who_comes_first_holds_an_instance_and_whoever_comes_next_is_told_who(
    store: Store, tenant: str, new: Instance
) -> None:
    store.save(tenant, InstanceWrite(new), replacing=None)
    mine, other = claimed(), claimed("token-2")
    assert store.hold(tenant, new.id, mine, replacing=new.write_condition, due_at=TIMES[0]) == mine
    assert store.hold(tenant, new.id, other, replacing=new.write_condition, due_at=TIMES[0]) == mine
    found = store.load(tenant, new.id)
    assert found == replace(new, claim=mine)
    assert found is not None
    assert found.write_condition == WriteCondition(1, "token-1")


def test_whoever_has_not_heard_that_they_hold_it_is_told_when_they_come_again(
    store: Store, tenant: str, new: Instance
) -> None:
    store.save(tenant, InstanceWrite(new), replacing=None)
    for stand in (new.write_condition, new.write_condition):
        held = store.hold(tenant, new.id, claimed(), replacing=stand, due_at=TIMES[0])
        assert held is not None
        assert held.token == "token-1"
    taken = claimed("token-2")
    for _ in range(2):
        assert store.hold(tenant, new.id, taken, replacing=WriteCondition(1, "token-1"), due_at=TIMES[0]) == taken


def test_nobody_holds_what_has_moved_or_is_not_there(store: Store, tenant: str, new: Instance) -> None:
    assert store.hold(tenant, new.id, claimed(), replacing=new.write_condition, due_at=TIMES[0]) is None
    assert store.load(tenant, new.id) is None
    store.save(tenant, InstanceWrite(new), replacing=None)
    after = moved(new)
    store.save(tenant, after, replacing=new.write_condition)
    assert store.hold(tenant, new.id, claimed(), replacing=new.write_condition, due_at=TIMES[0]) is None
    assert store.load(tenant, new.id) == after.instance
    somebody_elses = claimed("token-2")
    store.hold(tenant, new.id, somebody_elses, replacing=WriteCondition(2), due_at=TIMES[0])
    assert store.hold(tenant, new.id, claimed(), replacing=new.write_condition, due_at=TIMES[0]) is None
    assert store.load(tenant, new.id) == replace(after.instance, claim=somebody_elses)


def test_of_several_who_want_to_hold_it_one_does_and_the_others_know_who(
    store: Store, tenant: str, new: Instance
) -> None:
    store.save(tenant, InstanceWrite(new), replacing=None)

    def hold(number: int) -> Claim | None:
        return store.hold(tenant, new.id, claimed(f"token-{number}"), replacing=new.write_condition, due_at=TIMES[0])

    with ThreadPoolExecutor(RACERS) as threads:
        held = list(threads.map(hold, range(RACERS)))
    found = store.load(tenant, new.id)
    assert found is not None
    assert {claim.token for claim in held if claim is not None} == {found.write_condition.token}
    assert None not in held


def test_it_is_taken_over_by_whoever_names_who_holds_it_and_only_once(store: Store, tenant: str, new: Instance) -> None:
    store.save(tenant, InstanceWrite(replace(new, claim=claimed())), replacing=None)
    second, third = claimed("token-2", attempt=2), claimed("token-3", arguments={})
    assert store.hold(tenant, new.id, second, replacing=WriteCondition(1, "token-1"), due_at=TIMES[0]) == second
    assert store.hold(tenant, new.id, third, replacing=WriteCondition(1, "token-1"), due_at=TIMES[0]) == second
    assert store.load(tenant, new.id) == replace(new, claim=second)


def test_what_is_held_is_moved_by_its_owner_alone(store: Store, tenant: str, new: Instance) -> None:
    held = replace(new, claim=claimed())
    store.save(tenant, InstanceWrite(held), replacing=None)
    for late in (WriteCondition(1), WriteCondition(1, "token-0"), WriteCondition(2, "token-1")):
        assert not store.save(tenant, moved(new, "late"), replacing=late)
    assert store.load(tenant, new.id) == held
    settled = moved(new)
    assert store.save(tenant, settled, replacing=held.write_condition)
    assert store.load(tenant, new.id) == settled.instance
    assert not store.save(tenant, moved(new, "again"), replacing=held.write_condition)


def test_whoever_writes_the_same_again_is_told_that_it_is_written(store: Store, tenant: str, new: Instance) -> None:
    begun = InstanceWrite(new, token=uuid.uuid4().hex)
    settled = replace(moved(new), token=uuid.uuid4().hex, events=(event("workflow.transitioned"),))
    for _ in range(2):
        assert store.save(tenant, begun, replacing=None)
    for _ in range(3):
        assert store.save(tenant, settled, replacing=new.write_condition)
    assert not store.save(tenant, replace(settled, token=uuid.uuid4().hex), replacing=new.write_condition)
    assert store.load(tenant, new.id) == settled.instance
    next_one = moved(settled.instance, "further")
    assert store.save(tenant, next_one, replacing=settled.instance.write_condition)
    assert store.save(tenant, settled, replacing=new.write_condition)  # it was, whatever came after it
    assert store.load(tenant, new.id) == next_one.instance
    assert len(store.history(tenant, new.id)) == 3
    assert len(store.audit(tenant, new.id)) == 1


@pytest.mark.parametrize("size", [LONGEST_IN_A_ROW - 100, LONGEST_IN_A_ROW + 100, 600_000])
def test_long_arguments_are_held_whole_and_give_way_to_short_ones(
    store: Store, tenant: str, new: Instance, size: int
) -> None:
    long, short = claimed(arguments={"text": "ä" * size}), claimed("token-2", arguments={})
    store.save(tenant, InstanceWrite(new), replacing=None)
    assert store.hold(tenant, new.id, long, replacing=new.write_condition, due_at=TIMES[0]) == long
    assert store.load(tenant, new.id) == replace(new, claim=long)
    assert store.hold(tenant, new.id, short, replacing=WriteCondition(1, "token-1"), due_at=TIMES[0]) == short
    assert store.load(tenant, new.id) == replace(new, claim=short)
    begun = replace(new, id=f"{new.id}-2", claim=long)
    assert store.save(tenant, InstanceWrite(begun), replacing=None)
    assert store.load(tenant, begun.id) == begun


def test_who_lets_go_leaves_no_trace_but_what_happened(store: Store, tenant: str, new: Instance) -> None:
    store.save(tenant, InstanceWrite(new), replacing=None)
    held = replace(moved(new), instance=replace(moved(new).instance, claim=claimed()))
    store.save(tenant, held, replacing=new.write_condition)
    left = replace(held.instance, claim=None)
    assert store.save(
        tenant, InstanceWrite(left, events=(event("transition.rejected"),)), replacing=held.instance.write_condition
    )
    assert store.load(tenant, new.id) == left
    assert [list(hops) for hops, _ in store.history(tenant, new.id)] == [[], list(held.hops)]
    assert [one.record.type for one in store.audit(tenant, new.id)] == ["transition.rejected"]


def test_it_is_due_when_whoever_wrote_last_has_said(
    store: Store, tenant: str, new: Instance, looked: Callable[[str], Looked]
) -> None:
    store.save(tenant, InstanceWrite(new), replacing=None)
    assert looked(new.id).due_at is None
    store.hold(tenant, new.id, claimed(), replacing=new.write_condition, due_at=TIMES[0])
    assert looked(new.id).due_at == TIMES[0]
    store.hold(tenant, new.id, claimed("token-2"), replacing=WriteCondition(1, "token-1"), due_at=TIMES[1])
    assert looked(new.id).due_at == TIMES[1]
    store.hold(tenant, new.id, claimed("token-3"), replacing=WriteCondition(1, "token-2"), due_at=None)
    assert looked(new.id).due_at is None
    store.save(tenant, InstanceWrite(new, due_at=TIMES[0]), replacing=WriteCondition(1, "token-3"))
    assert looked(new.id).due_at == TIMES[0]
    store.save(tenant, moved(new), replacing=new.write_condition)
    assert looked(new.id).due_at is None


def test_what_is_to_be_woken_is_said_in_the_same_moment_and_not_again(
    store: Store, tenant: str, new: Instance, looked: Callable[[str], Looked]
) -> None:
    wakes = (Wake(new.id, TIMES[1]), Wake("wf_parent"))
    store.save(tenant, InstanceWrite(new, wakes=wakes), replacing=None)
    assert looked(new.id).wakes == list(wakes)
    assert not store.save(tenant, replace(moved(new), wakes=(Wake("wf_late"),)), replacing=WriteCondition(7))
    store.hold(tenant, new.id, claimed(), replacing=new.write_condition, due_at=TIMES[0])
    assert looked(new.id).wakes == []
    store.save(tenant, replace(moved(new), wakes=(Wake("wf_child"),)), replacing=WriteCondition(1, "token-1"))
    assert looked(new.id).wakes == [Wake("wf_child")]
    store.save(tenant, moved(moved(new).instance), replacing=WriteCondition(2))
    assert looked(new.id).wakes == []


def test_who_was_held_up_does_not_meet_what_somebody_claimed_and_left_meanwhile(
    store: Store, tenant: str, new: Instance
) -> None:
    store.save(tenant, InstanceWrite(new), replacing=None)
    store.hold(tenant, new.id, claimed(), replacing=new.write_condition, due_at=TIMES[0])
    left = replace(new, releases=1)
    assert store.save(tenant, InstanceWrite(left), replacing=WriteCondition(1, "token-1"))
    assert store.hold(tenant, new.id, claimed("token-2"), replacing=new.write_condition, due_at=TIMES[0]) is None
    assert not store.save(tenant, moved(new), replacing=new.write_condition)
    assert store.load(tenant, new.id) == left
    assert store.hold(tenant, new.id, claimed("token-2"), replacing=left.write_condition, due_at=TIMES[0]) == claimed(
        "token-2"
    )
