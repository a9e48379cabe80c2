"""What is kept beside the rows, and which rows name it: the same in memory and on AWS."""

import time
import uuid
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

import pytest

from signpost.adapters import object_keys
from signpost.adapters.clock import SystemClock
from signpost.adapters.dynamodb import DynamoContentStore
from signpost.adapters.dynamodb.references import DynamoReferences
from signpost.adapters.dynamodb.scopes import scopes_in
from signpost.adapters.memory import FunctionTable, MemoryBucket, MemoryContentStore, MemoryReferences
from signpost.adapters.s3 import S3Bodies, S3ChangeBatchStore
from signpost.adapters.s3_versions import S3KeptObjects
from signpost.content.kept_objects import RetentionScan
from signpost.content.model import ScopeNames, Skill, SkillChange, StoredFile
from signpost.content.ports import Bodies, ContentReferences, ContentStore, KeptObjects
from tests.contract.conftest import ENGINES, SCOPES, TABLE, connect_dynamodb
from tests.contract.test_content import registrations, skill_of, unregistrations
from tests.contract.test_content_interruptions import Crash

BUCKET = "versioned-content"
BODY = b"# A"
DIGEST, OTHER = sha256(BODY).hexdigest(), "2f" * 32
CLOCK_TOLERANCE = 5.0
"""Seconds; the emulator's objects have whole ones."""


@dataclass(frozen=True, slots=True)
class ContentStores:
    bodies: Bodies
    objects: KeptObjects
    store: ContentStore
    references: ContentReferences


@pytest.fixture(scope="session")
def versioned_bucket(laptop: Any) -> Any:
    client = laptop.client("s3")
    client.create_bucket(Bucket=BUCKET)
    client.put_bucket_versioning(Bucket=BUCKET, VersioningConfiguration={"Status": "Enabled"})
    return client


def aws_stores(s3: Any, dynamodb: Any, scopes: ScopeNames = SCOPES) -> ContentStores:
    publications = S3ChangeBatchStore(lambda: s3, BUCKET)
    return ContentStores(
        S3Bodies(lambda: s3, BUCKET),
        S3KeptObjects(lambda: s3, BUCKET),
        DynamoContentStore(dynamodb, TABLE, publications, scopes),
        DynamoReferences(dynamodb, TABLE, publications, scopes),
    )


@pytest.fixture(params=ENGINES[:2])
def stores(request: pytest.FixtureRequest, dynamodb: Any) -> ContentStores:
    if request.param == "memory":
        bucket, store = MemoryBucket(SystemClock()), MemoryContentStore(FunctionTable())
        return ContentStores(bucket, bucket, store, MemoryReferences(store))
    return aws_stores(request.getfixturevalue("versioned_bucket"), dynamodb("ministack"))


@pytest.fixture
def remote(versioned_bucket: Any, dynamodb: Any) -> ContentStores:
    return aws_stores(versioned_bucket, dynamodb("ministack"))


on_the_cloud = pytest.mark.cloud


def document(skill_id: str, digest: str) -> Skill:
    return replace(skill_of(skill_id), digest=digest)


def test_a_body_kept_again_is_a_second_version_that_outlives_the_first(stores: ContentStores, tenant: str) -> None:
    stores.bodies.keep(tenant, DIGEST, BODY)
    (first,) = stores.objects.versions(tenant)
    assert first.key == object_keys.body(tenant, DIGEST)
    assert abs(first.modified - time.time()) < CLOCK_TOLERANCE
    stores.bodies.keep(tenant, DIGEST, BODY)
    assert len(stores.objects.versions(tenant)) == 2
    stores.objects.remove([first])
    assert stores.bodies.read(tenant, DIGEST) == BODY
    stores.objects.remove(stores.objects.versions(tenant))
    assert stores.objects.versions(tenant) == []
    with pytest.raises(LookupError):
        stores.bodies.read(tenant, DIGEST)


def test_objects_of_other_tenants_are_not_listed(stores: ContentStores, tenant: str) -> None:
    stores.bodies.keep(f"{tenant}x", DIGEST, BODY)
    assert stores.objects.versions(tenant) == []
    assert {f"{tenant}x": 0.0}.items() <= stores.objects.scopes().items()
    assert tenant not in stores.objects.scopes()


def test_shipped_bodies_are_listed(stores: ContentStores) -> None:
    digest = uuid.uuid4().hex * 2
    stores.bodies.keep(None, digest, BODY)
    assert None in stores.objects.scopes()
    assert object_keys.body(None, digest) in {version.key for version in stores.objects.versions(None)}


def test_a_retention_scan_is_kept_until_the_next(stores: ContentStores, tenant: str) -> None:
    stores.bodies.keep(tenant, DIGEST, BODY)
    for number in (1, 2):
        look = RetentionScan(time.time(), "table", number, frozenset({"skills", "skills-b"}), {"content/t/x": 1.5})
        stores.objects.write_scan(tenant, look)
        assert stores.objects.read_last_scan(tenant) == look
    assert abs(stores.objects.scopes()[tenant] - time.time()) < CLOCK_TOLERANCE
    assert len(stores.objects.versions(tenant)) == 1  # a look is none of what it looks at


def test_rows_name_their_bodies_and_the_files_beside_them(stores: ContentStores, tenant: str) -> None:
    assert named_objects(stores, tenant) == (set(), 0)
    file = StoredFile("reference.md", OTHER, 3, "text/markdown")
    stores.store.apply(tenant, [SkillChange("a", replace(document("a", DIGEST), files=[file]))])
    assert named_objects(stores, tenant) == ({DIGEST, OTHER}, 1)
    stores.store.apply(tenant, unregistrations("a"))
    assert named_objects(stores, tenant) == (set(), 2)


def test_objects_named_since_a_version_are_found(stores: ContentStores, tenant: str) -> None:
    stores.store.apply(tenant, [SkillChange("a", document("a", DIGEST))])
    stores.store.apply(tenant, [SkillChange("a", document("a", OTHER)), *unregistrations("a")])
    assert named_objects(stores, tenant, after=0) == ({DIGEST, OTHER}, 3)
    assert named_objects(stores, tenant, after=1) == ({OTHER}, 3)
    assert named_objects(stores, tenant, after=3) == (set(), 3)


def named_objects(kept: ContentStores, tenant: str, after: int | None = None) -> tuple[set[str], int]:
    found = kept.references.find_named_objects(tenant, kept.references.scopes, after=after)
    return {key.rpartition("/")[2] for key in found.keys}, found.version


@on_the_cloud
def test_versions_beyond_one_page_are_all_listed(remote: ContentStores, tenant: str) -> None:
    for number in range(340):
        for _ in range(3):
            remote.bodies.keep(tenant, f"{number:064x}", b"x")
    versions = remote.objects.versions(tenant)
    assert len({version.id for version in versions}) == 1020
    assert len({version.key for version in versions}) == 340


@on_the_cloud
def test_rows_of_a_renamed_scope_still_name_their_bodies(
    remote: ContentStores, versioned_bucket: Any, dynamodb: Any, tenant: str
) -> None:
    remote.store.apply(tenant, [SkillChange("a", document("a", DIGEST))])
    renamed = aws_stores(versioned_bucket, dynamodb("ministack"), ScopeNames("skills-b", SCOPES.prompts))
    renamed.store.apply(tenant, [SkillChange("a", document("a", OTHER))])
    assert renamed.references.scopes == {"skills-b"}
    found = renamed.references.find_named_objects(tenant, frozenset({SCOPES.skills, "skills-b"}), after=2)
    assert {key.rpartition("/")[2] for key in found.keys} == {DIGEST, OTHER}


@on_the_cloud
def test_bodies_of_changes_during_the_read_are_named(
    remote: ContentStores, versioned_bucket: Any, dynamodb: Any, tenant: str
) -> None:
    """The first page says that the later of two documents has one body; before it is read it has another one."""
    remote.store.apply(tenant, [SkillChange(one, document(one, DIGEST)) for one in ("a", "b")])
    client = connect_dynamodb(dynamodb("ministack").meta.endpoint_url)
    moments = iter([False, True])

    def one_row(params: Any, **_: Any) -> None:
        params["Limit"] = 1
        if next(moments, False):
            remote.store.apply(tenant, [SkillChange("a", document("a", OTHER)), *unregistrations("b")])

    client.meta.events.register("before-parameter-build.dynamodb.Query", one_row)
    references = aws_stores(versioned_bucket, client).references
    found = references.find_named_objects(tenant, references.scopes, after=None)
    assert {key.rpartition("/")[2] for key in found.keys} == {DIGEST, OTHER}
    assert found.version == 4


@on_the_cloud
def test_an_unfinished_publication_names_itself_and_its_bodies_until_it_is_finished(
    remote: ContentStores, versioned_bucket: Any, dynamodb: Any, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("signpost.adapters.dynamodb.content_store.CHANGES_AT_ONCE", 1)
    dying = connect_dynamodb(dynamodb("ministack").meta.endpoint_url)
    turns = iter([False, True])

    def die(**_: Any) -> None:
        if next(turns, False):
            raise Crash

    dying.meta.events.register("before-call.dynamodb.TransactWriteItems", die)
    changes = [SkillChange(one, document(one, digest)) for one, digest in (("a", DIGEST), ("b", OTHER))]
    with pytest.raises(Crash):
        aws_stores(versioned_bucket, dying).store.apply(tenant, changes)
    assert tenant in remote.references.list_unfinished_tenants()
    (publication,) = [version.key for version in remote.objects.versions(tenant)]
    found = remote.references.find_named_objects(tenant, remote.references.scopes, after=None)
    assert found.keys == {publication, *(object_keys.body(tenant, digest) for digest in (DIGEST, OTHER))}
    remote.references.complete(tenant)
    assert tenant not in remote.references.list_unfinished_tenants()
    found = remote.references.find_named_objects(tenant, remote.references.scopes, after=None)
    assert found.keys == {object_keys.body(tenant, digest) for digest in (DIGEST, OTHER)}


@on_the_cloud
def test_scopes_with_changes_are_found_without_a_table_scan(remote: ContentStores, dynamodb: Any, tenant: str) -> None:
    remote.store.apply(tenant, registrations("a"))
    remote.store.apply(None, registrations(tenant))
    assert {tenant, None} <= set(scopes_in(dynamodb("ministack"), TABLE))
