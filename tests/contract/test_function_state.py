"""The stores of effects, handles and used nonces: the same promises on every engine."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier
from typing import TYPE_CHECKING, Any

import pytest
from botocore.awsrequest import AWSResponse

from signpost.adapters import keys
from signpost.adapters.dynamodb.effects import DynamoEffectRecords
from signpost.adapters.dynamodb.handles import DynamoHandles
from signpost.adapters.dynamodb.used_nonces import KEPT_AFTER_EXPIRY, DynamoUsedNonces
from signpost.adapters.memory import MemoryEffectRecords, MemoryHandles, MemoryUsedNonces
from signpost.calling.effects import EffectKey, EffectOutcome, EffectRecord, build_effect_key
from signpost.calling.handles import HandleOwner, ListedHandle, StoredHandle
from signpost.calling.ports import EffectRecords, Handles
from signpost.errors import Unavailable
from signpost.mcp.ports import UsedNonces
from signpost.model import Principal
from tests.contract.conftest import ENGINES, TABLE

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

NOW = 1_800_000_000.25
CLAIMED = EffectRecord("call-1/a", NOW + 30, kept_until=NOW + 86_400)
DONE = replace(CLAIMED, outcome=EffectOutcome('{"n": 1}', is_awaited=True))
RACERS = 8


def key_of(tenant: str, name: str = "charge", thread: str = "t1") -> EffectKey:
    return build_effect_key(tenant, thread, "desk::refund", "s", name)


def owner_of(tenant: str, principal: str = "ann", scope: str = "desk") -> HandleOwner:
    return HandleOwner(tenant, principal, scope)


def handle_of(name: str = "cart_a", version: int = 1, **members: Any) -> StoredHandle:
    handle = StoredHandle(name, version, '{"ü": [1]}', 2, 60.0, False, NOW + 60, "w1")
    return replace(handle, **members)


@pytest.fixture(params=ENGINES)
def effects(request: pytest.FixtureRequest, dynamodb: Any) -> EffectRecords:
    return MemoryEffectRecords() if request.param == "memory" else DynamoEffectRecords(dynamodb(request.param), TABLE)


@pytest.fixture(params=ENGINES)
def handles(request: pytest.FixtureRequest, dynamodb: Any) -> Handles:
    return MemoryHandles() if request.param == "memory" else DynamoHandles(dynamodb(request.param), TABLE)


@pytest.fixture(params=ENGINES)
def nonces(request: pytest.FixtureRequest, dynamodb: Any) -> UsedNonces:
    return MemoryUsedNonces() if request.param == "memory" else DynamoUsedNonces(dynamodb(request.param), TABLE)


def race[Answer](act: Callable[[int], Answer]) -> Sequence[Answer]:
    """Act as several callers at the same time."""
    barrier = Barrier(RACERS)

    def run(number: int) -> Answer:
        barrier.wait()
        return act(number)

    with ThreadPoolExecutor(RACERS) as pool:
        return list(pool.map(run, range(RACERS)))


class TestEffects:
    def test_an_added_record_is_read_as_it_was_written(self, effects: EffectRecords, tenant: str) -> None:
        for name, record in {"claimed": CLAIMED, "done": DONE, "lasting": replace(DONE, kept_until=None)}.items():
            assert effects.add(key_of(tenant, name), record) == record
            assert effects.add(key_of(tenant, name), replace(CLAIMED, claim="another")) == record

    def test_a_lost_value_is_read_as_it_was_written(self, effects: EffectRecords, tenant: str) -> None:
        lost = replace(CLAIMED, outcome=EffectOutcome(loss="it is too long"))
        effects.add(key_of(tenant), lost)
        assert effects.add(key_of(tenant), CLAIMED) == lost

    def test_effects_of_other_names_threads_and_tenants_are_others(self, effects: EffectRecords, tenant: str) -> None:
        effects.add(key_of(tenant), DONE)
        for other in (key_of(tenant, "other"), key_of(tenant, thread="t2"), key_of(f"{tenant}x")):
            assert effects.add(other, CLAIMED) == CLAIMED

    def test_one_of_concurrent_claims_wins(self, effects: EffectRecords, tenant: str) -> None:
        standing = race(lambda number: effects.add(key_of(tenant), replace(CLAIMED, claim=f"call-{number}")))
        assert len({record.claim for record in standing}) == 1

    def test_the_holder_of_a_claim_records_its_outcome(self, effects: EffectRecords, tenant: str) -> None:
        effects.add(key_of(tenant), CLAIMED)
        assert effects.replace(key_of(tenant), CLAIMED.claim, DONE) == DONE
        assert effects.add(key_of(tenant), CLAIMED) == DONE

    def test_a_record_of_another_claim_is_not_replaced(self, effects: EffectRecords, tenant: str) -> None:
        effects.add(key_of(tenant), CLAIMED)
        assert effects.replace(key_of(tenant), "another", DONE) == CLAIMED
        assert effects.add(key_of(tenant), DONE) == CLAIMED

    def test_an_outcome_is_never_replaced_or_removed(self, effects: EffectRecords, tenant: str) -> None:
        effects.add(key_of(tenant), DONE)
        assert effects.replace(key_of(tenant), DONE.claim, CLAIMED) == DONE
        effects.remove(key_of(tenant), DONE.claim)
        assert effects.add(key_of(tenant), CLAIMED) == DONE

    def test_a_record_that_does_not_exist_is_not_replaced(self, effects: EffectRecords, tenant: str) -> None:
        assert effects.replace(key_of(tenant), CLAIMED.claim, DONE) is None
        effects.remove(key_of(tenant), CLAIMED.claim)
        assert effects.add(key_of(tenant), CLAIMED) == CLAIMED

    def test_only_the_holder_of_a_claim_releases_it(self, effects: EffectRecords, tenant: str) -> None:
        effects.add(key_of(tenant), CLAIMED)
        effects.remove(key_of(tenant), "another")
        assert effects.add(key_of(tenant), DONE) == CLAIMED
        effects.remove(key_of(tenant), CLAIMED.claim)
        assert effects.add(key_of(tenant), DONE) == DONE

    def test_one_of_concurrent_takeovers_wins(self, effects: EffectRecords, tenant: str) -> None:
        effects.add(key_of(tenant), CLAIMED)
        takeovers = [replace(CLAIMED, claim=f"call-{number}") for number in range(RACERS)]
        standing = race(lambda number: effects.replace(key_of(tenant), CLAIMED.claim, takeovers[number]))
        assert len({record.claim for record in standing if record}) == 1
        assert sum(record == takeover for record, takeover in zip(standing, takeovers, strict=True)) == 1


class TestHandles:
    def test_a149_a_handle_is_read_as_it_was_written(self, handles: Handles, tenant: str) -> None:
        for handle in (handle_of(), handle_of("cart_b", is_sliding=True, seconds=1.5, version=1_800_000_000_250)):
            assert handles.add(owner_of(tenant), handle, NOW) == handle
            assert handles.read(owner_of(tenant), handle.id) == handle

    def test_a_handle_is_unknown_to_other_principals_scopes_and_tenants(self, handles: Handles, tenant: str) -> None:
        handles.add(owner_of(tenant), handle_of(), NOW)
        for other in (owner_of(tenant, "bob"), owner_of(tenant, scope="till"), owner_of(f"{tenant}x")):
            assert handles.read(other, "cart_a") is None
            assert handles.replace(other, handle_of(version=2), 1, NOW) is None
            handles.remove(other, "cart_a")
            assert list(handles.list(other, "cart_", NOW, 9)) == []
        assert handles.read(owner_of(tenant), "cart_a") == handle_of()

    def test_a_handle_is_not_added_over_a_living_one(self, handles: Handles, tenant: str) -> None:
        handles.add(owner_of(tenant), handle_of(), NOW)
        assert handles.add(owner_of(tenant), handle_of(write="w2"), NOW + 59) == handle_of()

    def test_a_handle_is_added_over_an_expired_one(self, handles: Handles, tenant: str) -> None:
        handles.add(owner_of(tenant), handle_of(), NOW)
        rebuilt = handle_of(version=7, write="w2", expires_at=NOW + 160)
        assert handles.add(owner_of(tenant), rebuilt, NOW + 60) == rebuilt
        assert handles.read(owner_of(tenant), "cart_a") == rebuilt

    def test_a_write_needs_the_version_that_it_replaces(self, handles: Handles, tenant: str) -> None:
        handles.add(owner_of(tenant), handle_of(), NOW)
        second = handle_of(version=2, text="2", write="w2")
        assert handles.replace(owner_of(tenant), second, 1, NOW) == second
        assert handles.replace(owner_of(tenant), handle_of(version=2, text="3", write="w3"), 1, NOW) == second
        assert handles.read(owner_of(tenant), "cart_a") == second

    def test_a149_one_of_concurrent_writes_of_a_version_wins(self, handles: Handles, tenant: str) -> None:
        handles.add(owner_of(tenant), handle_of(), NOW)
        written = race(
            lambda number: handles.replace(owner_of(tenant), handle_of(version=2, write=f"w{number}"), 1, NOW)
        )
        assert len({handle.write for handle in written if handle}) == 1

    def test_an_expired_handle_is_not_written(self, handles: Handles, tenant: str) -> None:
        handles.add(owner_of(tenant), handle_of(), NOW)
        assert handles.replace(owner_of(tenant), handle_of(version=2), 1, NOW + 60) == handle_of()

    def test_a_removed_handle_is_gone(self, handles: Handles, tenant: str) -> None:
        handles.add(owner_of(tenant), handle_of(), NOW)
        for _ in range(2):
            handles.remove(owner_of(tenant), "cart_a")
            assert handles.read(owner_of(tenant), "cart_a") is None

    def test_a149_a_list_has_the_living_handles_of_a_kind(self, handles: Handles, tenant: str) -> None:
        for handle in (handle_of("cart_b"), handle_of(), handle_of("cartoon_a"), handle_of("cart_c", expires_at=NOW)):
            handles.add(owner_of(tenant), handle, NOW - 1)
        listed = [ListedHandle(name, 1, NOW + 60) for name in ("cart_a", "cart_b")]
        assert list(handles.list(owner_of(tenant), "cart_", NOW, 9)) == listed
        assert list(handles.list(owner_of(tenant), "cart_", NOW, 1)) == listed[:1]


class TestUsedNonces:
    def test_a_nonce_is_used_once(self, nonces: UsedNonces, tenant: str) -> None:
        ann = Principal("ann", tenant, "issuer")
        assert nonces.use(ann, "n1", NOW)
        assert not nonces.use(ann, "n1", NOW)
        assert nonces.use(ann, "n2", NOW)

    def test_a_nonce_of_another_principal_is_another_one(self, nonces: UsedNonces, tenant: str) -> None:
        ann = Principal("ann", tenant, "issuer")
        others = [replace(ann, subject="bob"), replace(ann, issuer="another"), replace(ann, tenant=f"{tenant}x")]
        assert [nonces.use(one, "n1", NOW) for one in (ann, *others)] == [True] * 4

    def test_one_of_concurrent_requests_uses_a_nonce(self, nonces: UsedNonces, tenant: str) -> None:
        assert sum(race(lambda _: nonces.use(Principal("ann", tenant, "issuer"), "n1", NOW))) == 1


class LossyTable:
    """Interferes with the writes of a client: their answers get lost, or the table refuses them for a while."""

    def __init__(self, client: "DynamoDBClient") -> None:
        self._events = client.meta.events
        self.sent = 0

    def _count(self, **_: Any) -> None:
        self.sent += 1

    def lose_answer(self) -> None:
        """Have the client send the next write again although it was carried out."""
        left = iter([True])
        self._events.register("before-send.dynamodb.PutItem", self._count)

        def send_again(**_: Any) -> Any:
            return 0 if next(left, False) else None

        self._events.register_first("needs-retry.dynamodb.PutItem", send_again)

    def refuse_writes(self, code: str) -> None:
        def refuse(request_signer: Any, **_: Any) -> Any:
            del request_signer
            no_headers: Any = {}
            refused = {"Error": {"Code": code, "Message": "busy"}, "ResponseMetadata": {"HTTPStatusCode": 400}}
            return AWSResponse("http://table.test", 400, no_headers, None), refused

        for operation in ("PutItem", "DeleteItem"):
            self._events.register(f"before-call.dynamodb.{operation}", refuse)


@pytest.mark.cloud
class TestInterruptedWrites:
    def test_a_claim_with_a_lost_answer_recognises_itself(self, own_client: "DynamoDBClient", tenant: str) -> None:
        effects = DynamoEffectRecords(own_client, TABLE)
        lossy = LossyTable(own_client)
        lossy.lose_answer()
        assert effects.add(key_of(tenant), CLAIMED) == CLAIMED
        assert lossy.sent == 2

    def test_an_outcome_with_a_lost_answer_recognises_itself(self, own_client: "DynamoDBClient", tenant: str) -> None:
        effects = DynamoEffectRecords(own_client, TABLE)
        effects.add(key_of(tenant), CLAIMED)
        LossyTable(own_client).lose_answer()
        assert effects.replace(key_of(tenant), CLAIMED.claim, DONE) == DONE

    def test_a_handle_with_a_lost_answer_recognises_itself(self, own_client: "DynamoDBClient", tenant: str) -> None:
        handles, lossy = DynamoHandles(own_client, TABLE), LossyTable(own_client)
        lossy.lose_answer()
        assert handles.add(owner_of(tenant), handle_of(), NOW) == handle_of()
        second = handle_of(version=2, write="w2")
        lossy.lose_answer()
        assert handles.replace(owner_of(tenant), second, 1, NOW) == second

    def test_a_nonce_with_a_lost_answer_is_used(self, own_client: "DynamoDBClient", tenant: str) -> None:
        nonces, ann = DynamoUsedNonces(own_client, TABLE), Principal("ann", tenant, "issuer")
        LossyTable(own_client).lose_answer()
        assert nonces.use(ann, "n1", NOW)
        assert not nonces.use(ann, "n1", NOW)

    @pytest.mark.parametrize("code", ["ThrottlingException", "ProvisionedThroughputExceededException"])
    def test_a149_an_overloaded_table_is_unavailable(
        self, own_client: "DynamoDBClient", tenant: str, code: str
    ) -> None:
        LossyTable(own_client).refuse_writes(code)
        effects, handles = DynamoEffectRecords(own_client, TABLE), DynamoHandles(own_client, TABLE)
        nonces = DynamoUsedNonces(own_client, TABLE)
        writes: Sequence[Callable[[], object]] = [
            lambda: effects.add(key_of(tenant), CLAIMED),
            lambda: effects.replace(key_of(tenant), "c", DONE),
            lambda: effects.remove(key_of(tenant), "c"),
            lambda: handles.add(owner_of(tenant), handle_of(), NOW),
            lambda: handles.remove(owner_of(tenant), "cart_a"),
            lambda: nonces.use(Principal("ann", tenant, "issuer"), "n1", NOW),
        ]
        for write in writes:
            with pytest.raises(Unavailable):
                write()


@pytest.mark.cloud
def test_rows_end_with_what_they_record(dynamodb: Any, tenant: str) -> None:
    """The table deletes them by their time to live; effects of workflow steps stay."""
    client, ann = dynamodb("ministack"), Principal("ann", tenant, "issuer")
    effects = DynamoEffectRecords(client, TABLE)
    effects.add(key_of(tenant), CLAIMED)
    effects.add(key_of(tenant, "step"), replace(CLAIMED, kept_until=None))
    DynamoHandles(client, TABLE).add(owner_of(tenant), handle_of(), NOW)
    DynamoUsedNonces(client, TABLE).use(ann, "n1", NOW)

    def ends(pk: str) -> list[float | None]:
        found = client.query(
            TableName=TABLE, KeyConditionExpression="pk = :pk", ExpressionAttributeValues={":pk": {"S": pk}}
        )
        return [float(row["expires_at"]["N"]) if "expires_at" in row else None for row in found["Items"]]

    thread = key_of(tenant).thread
    assert sorted(ends(keys.effect(tenant, thread, "")["pk"]["S"]), key=str) == [NOW + 86_400, None]
    assert ends(keys.handles_of(tenant, "ann")) == [NOW + 60]
    partitions = {row["pk"]["S"] for row in client.scan(TableName=TABLE)["Items"]}
    (used,) = [pk for pk in partitions if pk.startswith(f"tenant#{tenant}#nonces#")]
    assert ends(used) == [NOW + KEPT_AFTER_EXPIRY]
