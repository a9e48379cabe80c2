"""What the core relies on, whichever adapter stands behind the port."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from signpost.adapters import keys
from signpost.adapters.dynamodb import DynamoApiKeys
from signpost.identity.credentials import ApiKey, IssuerKeySet
from signpost.identity.ports import ApiKeys, IssuerKeySets
from tests.contract.conftest import TABLE

NOW = 1_800_000_000.25


def key_of(tenant: str, key_id: str = "a1", created_at: float = NOW) -> ApiKey:
    return ApiKey(
        tenant=tenant,
        key_id=key_id,
        name="Schlüssel für CI",
        secret_digest="0" * 64,
        roles=frozenset({"author", "reader"}),
        permissions=frozenset({"signpost.admin"}),
        created_at=created_at,
        expires_at=NOW + 60,
    )


def test_a_key_is_read_with_its_owner(api_keys: ApiKeys, tenant: str) -> None:
    owned = replace(key_of(tenant), owner="ada")
    assert api_keys.add(owned)
    assert api_keys.find(tenant, "a1") == owned
    assert list(api_keys.of_tenant(tenant)) == [owned]


def test_a_key_is_read_as_it_was_stored(api_keys: ApiKeys, tenant: str) -> None:
    assert api_keys.add(key_of(tenant))
    assert api_keys.find(tenant, "a1") == key_of(tenant)


def test_a_key_without_roles_or_expiry_is_read_as_it_was_stored(api_keys: ApiKeys, tenant: str) -> None:
    bare = replace(key_of(tenant), roles=frozenset(), permissions=frozenset(), expires_at=None)
    api_keys.add(bare)
    assert api_keys.find(tenant, "a1") == bare


@pytest.mark.cloud
def test_the_row_of_an_expired_key_stays_for_audits(dynamodb: Any, tenant: str) -> None:
    client, key = dynamodb("ministack"), key_of(tenant)
    assert DynamoApiKeys(client, TABLE).add(key)
    row = client.get_item(TableName=TABLE, Key=keys.api_key(tenant, "a1"))["Item"]
    assert float(row["expires_at"]["N"]) == NOW + 60 + 90 * 86_400


@pytest.mark.cloud
def test_only_keys_that_expire_have_rows_that_an_earlier_release_reads_otherwise(dynamodb: Any, tenant: str) -> None:
    stored, key = DynamoApiKeys(dynamodb("ministack"), TABLE), key_of(tenant)
    assert stored.add(key)
    assert stored.add(replace(key_of(tenant, "a2"), expires_at=None))
    assert list(stored.list_kept_after_expiry(tenant)) == [(key, NOW + 60 + 90 * 86_400)]


@pytest.mark.cloud
def test_a_key_of_an_earlier_release_expires_when_its_row_does(dynamodb: Any, tenant: str) -> None:
    client, key = dynamodb("ministack"), key_of(tenant)
    assert DynamoApiKeys(client, TABLE).add(key)
    row = client.get_item(TableName=TABLE, Key=keys.api_key(tenant, "a1"))["Item"]
    earlier = {name: value for name, value in row.items() if name != "valid_until"}
    client.put_item(TableName=TABLE, Item={**earlier, "expires_at": {"N": str(NOW + 60)}})
    assert DynamoApiKeys(client, TABLE).find(tenant, "a1") == key


def test_an_unknown_key_is_none(api_keys: ApiKeys, tenant: str) -> None:
    api_keys.add(key_of(tenant))
    assert api_keys.find(tenant, "a2") is None
    assert api_keys.find(f"{tenant}x", "a1") is None


def test_a_key_is_not_overwritten(api_keys: ApiKeys, tenant: str) -> None:
    api_keys.add(key_of(tenant))
    assert not api_keys.add(replace(key_of(tenant), name="another"))
    assert api_keys.find(tenant, "a1") == key_of(tenant)


def test_the_keys_of_a_tenant_are_listed_oldest_first(api_keys: ApiKeys, tenant: str) -> None:
    for key_id, age in (("b", 3), ("c", 1), ("a", 2)):
        api_keys.add(key_of(tenant, key_id, NOW - age))
    api_keys.add(key_of(f"{tenant}x", "d"))
    assert [key.key_id for key in api_keys.of_tenant(tenant)] == ["b", "a", "c"]


def test_revoking_twice_keeps_the_first_time(api_keys: ApiKeys, tenant: str) -> None:
    api_keys.add(key_of(tenant))
    assert api_keys.revoke(tenant, "a1", NOW + 1) == replace(key_of(tenant), revoked_at=NOW + 1)
    assert api_keys.revoke(tenant, "a1", NOW + 2) == replace(key_of(tenant), revoked_at=NOW + 1)


def test_revoking_an_unknown_key_creates_none(api_keys: ApiKeys, tenant: str) -> None:
    assert api_keys.revoke(tenant, "a1", NOW) is None
    assert api_keys.find(tenant, "a1") is None


def test_a_key_set_is_read_as_it_was_saved(key_sets: IssuerKeySets, tenant: str) -> None:
    issuer = f"https://{tenant}.test"
    assert key_sets.read(issuer) is None
    saved = IssuerKeySet(keys={"a": {"kid": "a", "n": "…"}}, fetched_at=NOW, refresh_not_before=NOW + 300)
    key_sets.save(issuer, saved)
    assert key_sets.read(issuer) == saved


def test_a_claimed_refresh_is_not_yet_a_key_set(key_sets: IssuerKeySets, tenant: str) -> None:
    issuer = f"https://{tenant}.test"
    assert key_sets.claim_refresh(issuer, NOW, NOW + 10)
    assert key_sets.read(issuer) is None


def test_a_refresh_can_be_claimed_again_only_after_its_claim_expires(key_sets: IssuerKeySets, tenant: str) -> None:
    issuer = f"https://{tenant}.test"
    assert key_sets.claim_refresh(issuer, NOW, NOW + 10)
    assert not key_sets.claim_refresh(issuer, NOW + 9.9, NOW + 20)
    assert key_sets.claim_refresh(issuer, NOW + 10, NOW + 20)


def test_saving_a_key_set_postpones_the_next_refresh(key_sets: IssuerKeySets, tenant: str) -> None:
    issuer = f"https://{tenant}.test"
    key_sets.claim_refresh(issuer, NOW, NOW + 10)
    key_sets.save(issuer, IssuerKeySet(keys={}, fetched_at=NOW, refresh_not_before=NOW + 300))
    assert not key_sets.claim_refresh(issuer, NOW + 299, NOW + 400)
    assert key_sets.claim_refresh(issuer, NOW + 300, NOW + 400)


def test_one_of_concurrent_refresh_claims_succeeds(key_sets: IssuerKeySets, tenant: str) -> None:
    issuer = f"https://{tenant}.test"

    def claim(_caller: int) -> bool:
        return key_sets.claim_refresh(issuer, NOW, NOW + 10)

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(claim, range(16))).count(True) == 1
