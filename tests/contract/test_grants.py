"""What the core relies on of the store of grants, whichever adapter stands behind the port."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any

import pytest

from signpost.adapters import keys
from signpost.adapters.dynamodb import rows
from signpost.adapters.dynamodb.grants import DynamoGrants
from signpost.adapters.memory.grants import MemoryGrants
from signpost.calling.breaker import digest_of
from signpost.calling.grants import MOST_GRANTS, HeldGrant
from signpost.calling.ports import GrantStore
from signpost.model import Principal
from tests.contract.conftest import ENGINES, TABLE

_tenants = count()
NOW = 1_800_000_000.0


@pytest.fixture(params=ENGINES)
def store(request: pytest.FixtureRequest, dynamodb: Callable[[str], Any]) -> GrantStore:
    return MemoryGrants() if request.param == "memory" else DynamoGrants(dynamodb(request.param), TABLE)


@pytest.fixture
def ann() -> Principal:
    return Principal("ann", f"grants-{next(_tenants)}", "https://issuer.test")


def grant(name: str, *, at: float = NOW, lasting: float | None = None) -> HeldGrant:
    return HeldGrant(name, at, "yard::unlock", None if lasting is None else at + lasting)


@pytest.mark.invariant(171)
def test_a_grant_is_held_by_its_principal_alone(store: GrantStore, ann: Principal) -> None:
    others = [
        Principal("bob", ann.tenant, ann.issuer),
        Principal("ann", f"{ann.tenant}-x", ann.issuer),
        Principal("ann", ann.tenant, "https://other.test"),
    ]
    assert store.of(ann) == {}
    assert store.give(ann, grant("unlocked", lasting=60.5))
    assert store.of(ann) == {"unlocked": grant("unlocked", lasting=60.5)}
    assert [store.of(other) for other in others] == [{}, {}, {}]


def test_roles_and_permissions_are_no_part_of_the_holder(store: GrantStore, ann: Principal) -> None:
    store.give(ann, grant("unlocked"))
    promoted = Principal("ann", ann.tenant, ann.issuer, frozenset({"boss"}), frozenset({"mail"}), claims={"a": "b"})
    assert set(store.of(promoted)) == {"unlocked"}


def test_a_grant_that_is_given_again_has_the_later_end(store: GrantStore, ann: Principal) -> None:
    store.give(ann, grant("unlocked", lasting=60))
    store.give(ann, grant("unlocked", at=NOW + 1))
    assert store.of(ann) == {"unlocked": grant("unlocked", at=NOW + 1)}
    store.give(ann, grant("unlocked", at=NOW + 2, lasting=10))
    assert store.of(ann) == {"unlocked": grant("unlocked", at=NOW + 2, lasting=10)}


def test_a_grant_is_taken_once(store: GrantStore, ann: Principal) -> None:
    store.give(ann, grant("unlocked"))
    store.give(ann, grant("extra"))
    assert not store.take(ann, "missing", NOW)
    assert store.take(ann, "unlocked", NOW)
    assert not store.take(ann, "unlocked", NOW)
    assert set(store.of(ann)) == {"extra"}
    assert store.take(ann, "extra", NOW)
    assert store.of(ann) == {}
    assert store.of_tenant(ann.tenant) == []


def test_a_grant_that_is_over_is_not_taken_and_goes_with_the_next_write(store: GrantStore, ann: Principal) -> None:
    store.give(ann, grant("short", lasting=5))
    assert not store.take(ann, "short", NOW + 5)
    store.give(ann, grant("next", at=NOW + 6))
    assert set(store.of(ann)) == {"next"}


def test_a_principal_holds_a_limited_number_of_grants(store: GrantStore, ann: Principal) -> None:
    for number in range(MOST_GRANTS):
        assert store.give(ann, grant(f"g{number}", lasting=60))
    assert not store.give(ann, grant("one-more"))
    assert store.give(ann, grant("g0")), "one of the same name takes its place"
    assert len(store.of(ann)) == MOST_GRANTS
    assert store.give(ann, grant("later", at=NOW + 61)), "those that are over take no place"
    assert set(store.of(ann)) == {"g0", "later"}


def test_operators_list_the_holders_of_a_tenant(store: GrantStore, ann: Principal) -> None:
    bob = Principal("bob", ann.tenant, "https://other.test")
    store.give(ann, grant("a"))
    store.give(bob, grant("b", lasting=9))
    store.give(Principal("eve", f"{ann.tenant}-x", ann.issuer), grant("c"))
    held = {(holder.issuer, holder.subject, *holder.grants.values()) for holder in store.of_tenant(ann.tenant)}
    assert held == {(ann.issuer, "ann", grant("a")), ("https://other.test", "bob", grant("b", lasting=9))}


def test_concurrent_grants_are_all_kept(store: GrantStore, ann: Principal) -> None:
    names = [f"g{number}" for number in range(6)]

    def give(name: str) -> bool:
        return store.give(ann, grant(name))

    with ThreadPoolExecutor(6) as pool:
        assert all(pool.map(give, names))
    assert sorted(store.of(ann)) == names


@pytest.mark.parametrize("engine", ENGINES[1:])
def test_a_row_lives_until_all_of_its_grants_are_over(
    engine: str, dynamodb: Callable[[str], Any], ann: Principal
) -> None:
    client = dynamodb(engine)
    store = DynamoGrants(client, TABLE)

    def time_to_live() -> int | None:
        row = rows.get(client, TABLE, keys.grants(ann.tenant, digest_of(ann)))
        assert row is not None
        return rows.optional_integer(row, "expires_at")

    store.give(ann, grant("short", lasting=10))
    store.give(ann, grant("long", lasting=100.5))
    assert time_to_live() == NOW + 101
    store.give(ann, grant("for-ever"))
    assert time_to_live() is None
    store.take(ann, "for-ever", NOW)
    assert time_to_live() == NOW + 101
