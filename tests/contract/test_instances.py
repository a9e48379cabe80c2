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
from signpost.model import Json, Principal
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
from signpost.workflow.step_questions import StepQuestions
from signpost.workflow.wakes import Wake
from tests.contract.conftest import ENGINES, TABLE, build_text_store

type Store = DynamoInstanceStore | MemoryInstanceStore
RACERS = 8


@pytest.fixture(params=ENGINES)
def store(request: pytest.FixtureRequest, dynamodb: Any) -> Store:
    if request.param == "memory":
        return MemoryInstanceStore()
    return DynamoInstanceStore(dynamodb(request.param), TABLE, build_text_store(request.param, request))


@dataclass(frozen=True, slots=True)
class Schedule:
    """What whoever looks after instances gets to see of one."""

    due_at: float | None
    wakes: Sequence[Wake]


@pytest.fixture
def read_schedule(
    store: Store, tenant: str, request: pytest.FixtureRequest, dynamodb: Any
) -> Callable[[str], Schedule]:
    """At what was written last."""

    def look(workflow_id: str) -> Schedule:
        if isinstance(store, MemoryInstanceStore):
            times = [at for at in TIMES if (tenant, workflow_id) in store.find_due(at)]
            wakes, store.wakes[:] = [wake for owner, wake in store.wakes if owner == tenant], []
            return Schedule(min(times, default=None), wakes)
        client = dynamodb(request.node.callspec.params["store"])
        row = rows.get(client, TABLE, keys.workflow_row(tenant, workflow_id, keys.HEAD))
        assert row is not None
        return Schedule(rows.optional_number(row, "due_at"), [wake for _, wake in wakes_in(row)])

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


def approval_request(instance: Instance, name: str = "hr_1", at: float = 1.5) -> ApprovalRequest:
    return ApprovalRequest(
        name, "editors", "bob", at, 9.5, instance.state, ("draft",), "digest", frozenset({"carol"})
    )  # fmt: skip


def hop_write(instance: Instance, to: str = "done", **changes: Any) -> InstanceWrite:
    after = replace(instance, state=to, version=instance.version + 1, **changes)
    return InstanceWrite(after, hops=(Hop(instance.state, "go", to, after.version),))


CAROL = Principal("carol", "acme", "t", frozenset({"b", "a"}), frozenset({"p"}), human=True)


def build_claim(token: str = "token-1", **fields: Any) -> Claim:
    job = Job("go", fields.pop("arguments", {"n": 1}), CAROL)
    return Claim(token, "running", job, since=1_800_000_001.5, until=TIMES[0], **fields)


def event(kind: str, correlation: str = "cor_1") -> AuditEvent:
    return AuditEvent(AuditRecord(kind, {"n": 1}), 1_800_000_000.5, correlation, "carol")


def test_an_instance_is_loaded_as_it_was_saved(store: Store, tenant: str, new: Instance) -> None:
    kept = replace(
        new,
        evidence={"scan": Tally(2, frozenset({"a", "b"}))},
        request=approval_request(new),
        end_unreported_since=1_800_000_003.5,
    )
    assert store.save(tenant, InstanceWrite(kept), replacing=None)
    found = store.load(tenant, new.id)
    assert found == kept
    assert found is not None
    assert list(found.context) == ["z", "a"]


def test_an_unknown_instance_or_one_of_another_tenant_is_not_found(store: Store, tenant: str, new: Instance) -> None:
    assert store.save(tenant, InstanceWrite(new), replacing=None)
    assert store.load(tenant, "wf_other") is None
    assert store.load("another", new.id) is None


def test_an_instance_is_created_once(store: Store, tenant: str, new: Instance) -> None:
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
def test_rows_of_two_versions_are_never_loaded_as_one_instance(
    engine: str, request: pytest.FixtureRequest, dynamodb: Any, tenant: str, new: Instance
) -> None:
    client, values = dynamodb(engine), build_text_store(engine, request)
    store = DynamoInstanceStore(client, TABLE, values)
    store.save(tenant, InstanceWrite(new), replacing=None)
    before = rows.get(client, TABLE, keys.workflow_row(tenant, new.id, keys.CONTEXT))
    after = hop_write(new, context={"z": 2})
    assert store.save(tenant, after, replacing=WriteCondition(1))

    def reading(torn: int) -> Instance | None:
        table: Any = TornReads(client, before, torn)
        return DynamoInstanceStore(table, TABLE, values).load(tenant, new.id)

    assert reading(torn=2) == after.instance
    with pytest.raises(Unavailable):
        reading(torn=99)


def test_a_step_is_saved_only_under_its_write_condition(store: Store, tenant: str, new: Instance) -> None:
    store.save(tenant, InstanceWrite(new), replacing=None)
    first, late = hop_write(new, "first"), hop_write(new, "late")
    assert store.save(tenant, first, replacing=WriteCondition(1))
    assert not store.save(tenant, late, replacing=WriteCondition(1))
    assert not store.save(tenant, late, replacing=WriteCondition(7))
    assert store.load(tenant, new.id) == first.instance
    assert len(store.history(tenant, new.id)) == 2


def test_a_step_of_an_unknown_instance_is_not_saved(store: Store, tenant: str, new: Instance) -> None:
    assert not store.save(tenant, hop_write(new), replacing=WriteCondition(1))
    assert store.load(tenant, new.id) is None


def test_one_of_concurrent_writes_is_saved_with_its_hops_and_events(store: Store, tenant: str, new: Instance) -> None:
    store.save(tenant, InstanceWrite(new), replacing=None)
    entries = [replace(hop_write(new, f"by-{n}"), events=(event(f"step-{n}", f"cor_{n}"),)) for n in range(RACERS)]

    def save(entry: InstanceWrite) -> bool:
        return store.save(tenant, entry, replacing=WriteCondition(1))

    with ThreadPoolExecutor(RACERS) as threads:
        saved = list(threads.map(save, entries))
    assert saved.count(True) == 1
    winner = entries[saved.index(True)]
    assert store.load(tenant, new.id) == winner.instance
    assert [hop for hops, _ in store.history(tenant, new.id) for hop in hops] == list(winner.hops)
    assert list(store.audit(tenant, new.id)) == list(winner.events)


def test_history_and_evidence_are_read_in_order(store: Store, tenant: str, new: Instance) -> None:
    store.save(tenant, InstanceWrite(new), replacing=None)
    instance = new
    for n in range(12):
        item = EvidenceItem("scan", "robot", {"uri": f"s3://{n}"})
        entry = replace(hop_write(instance, f"s{n}"), evidence=(item,))
        assert store.save(tenant, entry, replacing=instance.write_condition)
        instance = entry.instance
    told = store.history(tenant, new.id)
    assert [hop.version for hops, _ in told for hop in hops] == list(range(2, 14))
    assert [item.fields["uri"] for _, evidence in told for item in evidence] == [f"s3://{n}" for n in range(12)]


def test_events_without_a_step_are_noted(store: Store, tenant: str, new: Instance) -> None:
    store.save(tenant, InstanceWrite(new, events=(event("workflow.started"),)), replacing=None)
    refused = [event("transition.requested", "cor_2"), event("transition.rejected", "cor_2")]
    store.note(tenant, new.id, refused)
    assert [one.record.type for one in store.audit(tenant, new.id)] == [
        "workflow.started",
        "transition.requested",
        "transition.rejected",
    ]
    assert store.load(tenant, new.id) == new


def test_an_approval_request_is_listed_while_it_is_open(store: Store, tenant: str, new: Instance) -> None:
    other = replace(new, id=f"{new.id}-2")
    for instance, name, at in ((new, "hr_a", 2.0), (other, "hr_b", 1.0)):
        assert store.save(
            tenant, InstanceWrite(replace(instance, request=approval_request(instance, name, at))), replacing=None
        )
    assert [(one.workflow_id, one.request.id) for one in store.list_open_approvals(tenant)] == [
        (other.id, "hr_b"),
        (new.id, "hr_a"),
    ]
    assert store.save(tenant, replace(hop_write(new), closed_request_id="hr_a"), replacing=WriteCondition(1))
    assert [one.request for one in store.list_open_approvals(tenant)] == [approval_request(other, "hr_b", 1.0)]
    assert not store.save(tenant, replace(hop_write(other), closed_request_id="hr_b"), replacing=WriteCondition(7))
    assert len(store.list_open_approvals(tenant)) == 1


@pytest.mark.parametrize("size", [LONGEST_IN_A_ROW - 100, LONGEST_IN_A_ROW + 100, 600_000])
def test_a_long_context_is_kept_whole(store: Store, tenant: str, new: Instance, size: int) -> None:
    long = replace(new, context={"text": "ä" * size}, input={"text": "b" * size})
    assert store.save(tenant, InstanceWrite(long), replacing=None)
    assert store.load(tenant, new.id) == long


def test_rare_fields_of_an_instance_are_kept(store: Store, tenant: str, new: Instance) -> None:
    job = Job("on_enter", {"z": 1, "a": ["ä"]}, replace(CAROL, human=False, owner="ada"), is_hop=True, chained=3)
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
        starter_owner="ada",
        readers=[{"kind": "role", "role": "clerk"}],
    )
    odd = replace(odd, releases=2)
    assert store.save(tenant, InstanceWrite(odd), replacing=None)
    assert store.load(tenant, new.id) == odd


@pytest.mark.parametrize("size", [10, LONGEST_IN_A_ROW + 100])
def test_the_questions_of_a_claim_are_kept_with_their_answers(
    store: Store, tenant: str, new: Instance, size: int
) -> None:
    questions = StepQuestions(
        "q_1", {"size": {"method": "roots/list"}}, {"colour": {"action": "accept"}}, {"deep": ["ä" * size]}, 3
    )
    parked = replace(build_claim(), standing="waiting", awaits="answers", questions=questions)
    assert store.save(tenant, InstanceWrite(replace(new, claim=parked)), replacing=None)
    assert store.load(tenant, new.id) == replace(new, claim=parked)
    running = replace(parked, token="token-2", standing="running", awaits="executor")
    assert store.hold(tenant, new.id, running, replacing=WriteCondition(1, "token-1"), due_at=None) == running
    assert store.load(tenant, new.id) == replace(new, claim=running)


def test_a_claim_without_questions_takes_the_place_of_one_with_questions(
    store: Store, tenant: str, new: Instance
) -> None:
    asking = replace(build_claim(), questions=StepQuestions("q_1", {"size": {"method": "roots/list"}}))
    assert store.save(tenant, InstanceWrite(replace(new, claim=asking)), replacing=None)
    fallback = replace(asking, token="token-2", candidate=1, questions=None)
    assert store.hold(tenant, new.id, fallback, replacing=WriteCondition(1, "token-1"), due_at=TIMES[0]) == fallback
    assert store.load(tenant, new.id) == replace(new, claim=fallback)


def test_the_first_claim_is_stored_and_a_later_claim_returns_it(store: Store, tenant: str, new: Instance) -> None:
    store.save(tenant, InstanceWrite(new), replacing=None)
    mine, other = build_claim(), build_claim("token-2")
    assert store.hold(tenant, new.id, mine, replacing=new.write_condition, due_at=TIMES[0]) == mine
    assert store.hold(tenant, new.id, other, replacing=new.write_condition, due_at=TIMES[0]) == mine
    found = store.load(tenant, new.id)
    assert found == replace(new, claim=mine)
    assert found is not None
    assert found.write_condition == WriteCondition(1, "token-1")


def test_a_repeated_claim_returns_the_stored_claim(store: Store, tenant: str, new: Instance) -> None:
    store.save(tenant, InstanceWrite(new), replacing=None)
    for stand in (new.write_condition, new.write_condition):
        held = store.hold(tenant, new.id, build_claim(), replacing=stand, due_at=TIMES[0])
        assert held is not None
        assert held.token == "token-1"
    taken = build_claim("token-2")
    for _ in range(2):
        assert store.hold(tenant, new.id, taken, replacing=WriteCondition(1, "token-1"), due_at=TIMES[0]) == taken


def test_a_changed_or_unknown_instance_cannot_be_claimed(store: Store, tenant: str, new: Instance) -> None:
    assert store.hold(tenant, new.id, build_claim(), replacing=new.write_condition, due_at=TIMES[0]) is None
    assert store.load(tenant, new.id) is None
    store.save(tenant, InstanceWrite(new), replacing=None)
    after = hop_write(new)
    store.save(tenant, after, replacing=new.write_condition)
    assert store.hold(tenant, new.id, build_claim(), replacing=new.write_condition, due_at=TIMES[0]) is None
    assert store.load(tenant, new.id) == after.instance
    somebody_elses = build_claim("token-2")
    store.hold(tenant, new.id, somebody_elses, replacing=WriteCondition(2), due_at=TIMES[0])
    assert store.hold(tenant, new.id, build_claim(), replacing=new.write_condition, due_at=TIMES[0]) is None
    assert store.load(tenant, new.id) == replace(after.instance, claim=somebody_elses)


def test_concurrent_claims_all_return_the_stored_claim(store: Store, tenant: str, new: Instance) -> None:
    store.save(tenant, InstanceWrite(new), replacing=None)

    def hold(number: int) -> Claim | None:
        return store.hold(
            tenant, new.id, build_claim(f"token-{number}"), replacing=new.write_condition, due_at=TIMES[0]
        )

    with ThreadPoolExecutor(RACERS) as threads:
        held = list(threads.map(hold, range(RACERS)))
    found = store.load(tenant, new.id)
    assert found is not None
    assert {claim.token for claim in held if claim is not None} == {found.write_condition.token}
    assert None not in held


def test_a_claim_is_taken_over_once_by_naming_its_token(store: Store, tenant: str, new: Instance) -> None:
    store.save(tenant, InstanceWrite(replace(new, claim=build_claim())), replacing=None)
    second, third = build_claim("token-2", attempt=2), build_claim("token-3", arguments={})
    assert store.hold(tenant, new.id, second, replacing=WriteCondition(1, "token-1"), due_at=TIMES[0]) == second
    assert store.hold(tenant, new.id, third, replacing=WriteCondition(1, "token-1"), due_at=TIMES[0]) == second
    assert store.load(tenant, new.id) == replace(new, claim=second)


def test_a_claimed_instance_is_changed_only_by_the_owner_of_the_claim(store: Store, tenant: str, new: Instance) -> None:
    held = replace(new, claim=build_claim())
    store.save(tenant, InstanceWrite(held), replacing=None)
    for late in (WriteCondition(1), WriteCondition(1, "token-0"), WriteCondition(2, "token-1")):
        assert not store.save(tenant, hop_write(new, "late"), replacing=late)
    assert store.load(tenant, new.id) == held
    settled = hop_write(new)
    assert store.save(tenant, settled, replacing=held.write_condition)
    assert store.load(tenant, new.id) == settled.instance
    assert not store.save(tenant, hop_write(new, "again"), replacing=held.write_condition)


def test_a_repeated_write_is_reported_as_saved(store: Store, tenant: str, new: Instance) -> None:
    begun = InstanceWrite(new, token=uuid.uuid4().hex)
    settled = replace(hop_write(new), token=uuid.uuid4().hex, events=(event("workflow.transitioned"),))
    for _ in range(2):
        assert store.save(tenant, begun, replacing=None)
    for _ in range(3):
        assert store.save(tenant, settled, replacing=new.write_condition)
    assert not store.save(tenant, replace(settled, token=uuid.uuid4().hex), replacing=new.write_condition)
    assert store.load(tenant, new.id) == settled.instance
    next_one = hop_write(settled.instance, "further")
    assert store.save(tenant, next_one, replacing=settled.instance.write_condition)
    assert store.save(tenant, settled, replacing=new.write_condition)  # it was, whatever came after it
    assert store.load(tenant, new.id) == next_one.instance
    assert len(store.history(tenant, new.id)) == 3
    assert len(store.audit(tenant, new.id)) == 1


@pytest.mark.parametrize("size", [LONGEST_IN_A_ROW - 100, LONGEST_IN_A_ROW + 100, 600_000])
def test_long_arguments_of_a_claim_are_kept_whole_and_can_be_replaced(
    store: Store, tenant: str, new: Instance, size: int
) -> None:
    long, short = build_claim(arguments={"text": "ä" * size}), build_claim("token-2", arguments={})
    store.save(tenant, InstanceWrite(new), replacing=None)
    assert store.hold(tenant, new.id, long, replacing=new.write_condition, due_at=TIMES[0]) == long
    assert store.load(tenant, new.id) == replace(new, claim=long)
    assert store.hold(tenant, new.id, short, replacing=WriteCondition(1, "token-1"), due_at=TIMES[0]) == short
    assert store.load(tenant, new.id) == replace(new, claim=short)
    begun = replace(new, id=f"{new.id}-2", claim=long)
    assert store.save(tenant, InstanceWrite(begun), replacing=None)
    assert store.load(tenant, begun.id) == begun


def test_a_released_claim_leaves_only_hops_and_events(store: Store, tenant: str, new: Instance) -> None:
    store.save(tenant, InstanceWrite(new), replacing=None)
    held = replace(hop_write(new), instance=replace(hop_write(new).instance, claim=build_claim()))
    store.save(tenant, held, replacing=new.write_condition)
    left = replace(held.instance, claim=None)
    assert store.save(
        tenant, InstanceWrite(left, events=(event("transition.rejected"),)), replacing=held.instance.write_condition
    )
    assert store.load(tenant, new.id) == left
    assert [list(hops) for hops, _ in store.history(tenant, new.id)] == [[], list(held.hops)]
    assert [one.record.type for one in store.audit(tenant, new.id)] == ["transition.rejected"]


def test_an_instance_is_due_at_the_time_of_the_last_write(
    store: Store, tenant: str, new: Instance, read_schedule: Callable[[str], Schedule]
) -> None:
    store.save(tenant, InstanceWrite(new), replacing=None)
    assert read_schedule(new.id).due_at is None
    store.hold(tenant, new.id, build_claim(), replacing=new.write_condition, due_at=TIMES[0])
    assert read_schedule(new.id).due_at == TIMES[0]
    store.hold(tenant, new.id, build_claim("token-2"), replacing=WriteCondition(1, "token-1"), due_at=TIMES[1])
    assert read_schedule(new.id).due_at == TIMES[1]
    store.hold(tenant, new.id, build_claim("token-3"), replacing=WriteCondition(1, "token-2"), due_at=None)
    assert read_schedule(new.id).due_at is None
    store.save(tenant, InstanceWrite(new, due_at=TIMES[0]), replacing=WriteCondition(1, "token-3"))
    assert read_schedule(new.id).due_at == TIMES[0]
    store.save(tenant, hop_write(new), replacing=new.write_condition)
    assert read_schedule(new.id).due_at is None


def test_wakes_are_stored_with_their_write_and_dropped_by_the_next(
    store: Store, tenant: str, new: Instance, read_schedule: Callable[[str], Schedule]
) -> None:
    wakes = (Wake(new.id, TIMES[1]), Wake("wf_parent"))
    store.save(tenant, InstanceWrite(new, wakes=wakes), replacing=None)
    assert read_schedule(new.id).wakes == list(wakes)
    assert not store.save(tenant, replace(hop_write(new), wakes=(Wake("wf_late"),)), replacing=WriteCondition(7))
    store.hold(tenant, new.id, build_claim(), replacing=new.write_condition, due_at=TIMES[0])
    assert read_schedule(new.id).wakes == []
    store.save(tenant, replace(hop_write(new), wakes=(Wake("wf_child"),)), replacing=WriteCondition(1, "token-1"))
    assert read_schedule(new.id).wakes == [Wake("wf_child")]
    store.save(tenant, hop_write(hop_write(new).instance), replacing=WriteCondition(2))
    assert read_schedule(new.id).wakes == []


def test_a_release_invalidates_earlier_write_conditions(store: Store, tenant: str, new: Instance) -> None:
    store.save(tenant, InstanceWrite(new), replacing=None)
    store.hold(tenant, new.id, build_claim(), replacing=new.write_condition, due_at=TIMES[0])
    left = replace(new, releases=1)
    assert store.save(tenant, InstanceWrite(left), replacing=WriteCondition(1, "token-1"))
    assert store.hold(tenant, new.id, build_claim("token-2"), replacing=new.write_condition, due_at=TIMES[0]) is None
    assert not store.save(tenant, hop_write(new), replacing=new.write_condition)
    assert store.load(tenant, new.id) == left
    assert store.hold(
        tenant, new.id, build_claim("token-2"), replacing=left.write_condition, due_at=TIMES[0]
    ) == build_claim("token-2")


def test_an_instance_that_its_head_hides_is_not_found(store: Store, tenant: str, new: Instance) -> None:
    readers: list[Json] = [{"kind": "role", "role": "clerk"}]
    assert store.save(tenant, InstanceWrite(replace(new, readers=readers)), replacing=None)
    heads: list[Instance] = []

    def see(head: Instance, *, is_visible: bool) -> bool:
        heads.append(head)
        return is_visible

    assert store.load(tenant, new.id, lambda head: see(head, is_visible=False)) is None
    assert store.load(tenant, new.id, lambda head: see(head, is_visible=True)) == replace(new, readers=readers)
    assert store.load(tenant, f"{new.id}x", lambda head: see(head, is_visible=True)) is None
    assert heads == [replace(new, readers=readers, context={}, input={})] * 2


class LostValues:
    """Values whose objects cannot be read."""

    def keep(self, tenant: str, text: str) -> str:
        del tenant
        return text[:64]

    def read(self, tenant: str, digest: str) -> str:
        raise AssertionError(f"the object {digest} of {tenant} was read")


@pytest.mark.invariant(103)
@pytest.mark.parametrize("engine", ENGINES[1:])
def test_long_values_of_an_instance_that_its_head_hides_are_not_read(
    engine: str, dynamodb: Any, tenant: str, new: Instance
) -> None:
    store = DynamoInstanceStore(dynamodb(engine), TABLE, LostValues())
    long = "x" * (LONGEST_IN_A_ROW + 100)
    store.save(tenant, InstanceWrite(replace(new, context={"text": long}, input={"text": long})), replacing=None)
    assert store.load(tenant, new.id, lambda _: False) is None
    with pytest.raises(AssertionError, match="was read"):
        store.load(tenant, new.id, lambda _: True)
