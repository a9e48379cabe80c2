"""What a tenant has and what is shipped to it, and how it changes: the same on every engine."""

import random
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from hashlib import sha256
from itertools import count
from threading import Barrier, Event
from time import perf_counter
from typing import Any

import pytest
from botocore.exceptions import ClientError

from signpost.adapters import object_keys
from signpost.adapters.dynamodb import DynamoContentStore, DynamoRevisionRows
from signpost.adapters.memory import FunctionTable, MemoryContentStore
from signpost.adapters.s3 import S3Bodies, S3ChangeBatchStore, S3Values
from signpost.content.model import (
    Announcement,
    CatalogueChange,
    Change,
    ChangeEvent,
    Layers,
    Overtaken,
    PromptChange,
    ScopeNames,
    Skill,
    SkillChange,
    StoredFile,
    StoredPrompt,
    Subscription,
    SubscriptionChange,
    WorkflowChange,
)
from signpost.content.ports import Bodies, ContentStore
from signpost.content.retention import PART
from signpost.model import PromptArgument
from tests.contract.conftest import BUCKET, TABLE, ContentPorts, build_change_batch_store
from tests.support.line_output import ShowLine

EMPTY_LAYERS = Layers[Skill](own=None, shipped=None, tenant_settings={})
DIGEST = "0f" * 32
EMPTY = sha256(b"").hexdigest()


def skill_of(skill_id: str, title: str = "Über Rechnungen") -> Skill:
    return Skill(skill_id, title, "Wie man sie schreibt, “genau”", 42, "2026-11-18T12:00:00.000Z", DIGEST)


def prompt_of(name: str, description: str = "Writes a letter") -> StoredPrompt:
    arguments = (PromptArgument("to", "an wen", required=True), PromptArgument("tone"))
    return StoredPrompt(name, description, "mail::letter", arguments, "2026-11-18T12:00:00.000Z")


def registrations(*ids: str, title: str = "Über Rechnungen") -> Sequence[SkillChange]:
    return [SkillChange(skill_id, skill_of(skill_id, title)) for skill_id in ids]


def unregistrations(*ids: str) -> Sequence[SkillChange]:
    return [SkillChange(skill_id, None) for skill_id in ids]


def subscription_change(target: str, registered_at: str = "2026-11-18T12:00:00.000Z") -> SubscriptionChange:
    one = Subscription("trigger", "skills::on-change", target, registered_at, {"größe": [1, None, {"a": "b"}]})
    return SubscriptionChange(one.name, one)


def unsubscription_change(target: str) -> SubscriptionChange:
    return SubscriptionChange(subscription_change(target).name, None)


def ids_of(content: ContentPorts, tenant: str | None) -> list[str]:
    return [skill.id for skill in content.store.skills(tenant)]


def event_keys(content: ContentPorts, tenant: str | None) -> list[tuple[int, str, str]]:
    return [(event.sequence, event.op, event.key) for event in content.list_events(tenant)]


def many_ids(size: int) -> list[str]:
    """In the order of a list."""
    return [f"many/{number:05}" for number in range(size)]


def test_a_new_tenant_has_no_content(content: ContentPorts, tenant: str) -> None:
    assert content.store.skill(tenant, "a") == EMPTY_LAYERS
    assert content.store.prompt(tenant, "a") == Layers[StoredPrompt](own=None, shipped=None, tenant_settings={})
    assert (list(content.store.skills(tenant)), list(content.store.prompts(tenant))) == ([], [])
    assert content.revisions.read(tenant).content == 0


def test_registered_entries_are_read_unchanged_at_once(content: ContentPorts, tenant: str) -> None:
    skills = [skill_of("mail/letters"), replace(skill_of("mail"), description=None)]
    prompts = [prompt_of("letter"), replace(prompt_of("bare"), arguments=())]
    changes = [*(SkillChange(one.id, one) for one in skills), *(PromptChange(one.name, one) for one in prompts)]
    assert list(content.store.apply(tenant, changes)) == [1, 2, 3, 4]
    assert content.store.skill(tenant, "mail") == replace(EMPTY_LAYERS, own=skills[1])
    assert content.store.prompt(tenant, "letter").own == prompts[0]
    assert list(content.store.skills(tenant)) == skills[::-1]
    assert list(content.store.prompts(tenant)) == prompts[::-1]
    assert content.revisions.read(tenant).content == 4


def test_a_skill_is_read_with_its_files(content: ContentPorts, tenant: str) -> None:
    files = (
        StoredFile("LICENSE", DIGEST, 3, "text/plain"),
        StoredFile("a/\u00fcber \u201cuns\u201d.md", DIGEST, 0, "text/markdown"),
    )
    tree = replace(skill_of("tree"), files=files)
    content.store.apply(tenant, [SkillChange("tree", tree), SkillChange("bare", skill_of("bare"))])
    assert content.store.skill(tenant, "tree").own == tree
    assert [skill.files for skill in content.store.skills(tenant)] == [(), files]
    content.store.apply(tenant, registrations("tree"))
    assert content.store.skill(tenant, "tree") == replace(EMPTY_LAYERS, own=skill_of("tree"))


def test_shipped_entries_lie_under_the_entries_of_a_tenant(content: ContentPorts, tenant: str) -> None:
    name = f"{tenant}/mail"  # what is shipped has no tenant that keeps tests apart
    before = content.revisions.read(tenant)
    content.store.apply(None, [SkillChange(name, skill_of(name, "shipped")), PromptChange(tenant, prompt_of(tenant))])
    content.store.apply(tenant, registrations(name, title="own"))
    content.settings.set(tenant, None, "breaker_failures", 5)
    assert content.store.skill(tenant, name) == Layers(
        skill_of(name, "own"), skill_of(name, "shipped"), {"breaker_failures": 5}
    )
    assert content.store.skill(f"{tenant}x", name) == replace(EMPTY_LAYERS, shipped=skill_of(name, "shipped"))
    assert content.store.prompt(tenant, tenant).shipped == prompt_of(tenant)
    own, shipped_content = {"breaker_failures": 5}, before.shipped_content + 2
    after = replace(before, content=1, shipped_content=shipped_content, own_settings=own)
    assert content.revisions.read(tenant) == after
    assert name in ids_of(content, None)
    content.store.apply(None, [*unregistrations(name), PromptChange(tenant, None)])
    assert content.store.skill(f"{tenant}x", name) == EMPTY_LAYERS


def test_every_effective_change_is_one_event(content: ContentPorts, tenant: str) -> None:
    apply = content.store.apply
    assert list(apply(tenant, unregistrations("a"))) == [None]
    assert list(apply(tenant, registrations("a"))) == [1]
    assert list(apply(tenant, registrations("a"))) == [2]  # again is a change: it has a new time
    assert list(apply(tenant, [PromptChange("a", None)])) == [None]
    assert list(apply(tenant, [PromptChange("a", prompt_of("a"))])) == [3]
    assert list(apply(tenant, unregistrations("a"))) == [4]
    assert list(apply(tenant, unregistrations("a"))) == [None]
    assert list(apply(tenant, [PromptChange("a", None)])) == [5]
    assert list(apply(tenant, [])) == []
    assert list(content.list_events(tenant)) == [
        ChangeEvent(tenant, 1, "skills::on-change", "register", "a"),
        ChangeEvent(tenant, 2, "skills::on-change", "register", "a"),
        ChangeEvent(tenant, 3, "prompts::on-change", "register", "a"),
        ChangeEvent(tenant, 4, "skills::on-change", "unregister", "a"),
        ChangeEvent(tenant, 5, "prompts::on-change", "unregister", "a"),
    ]
    assert content.revisions.read(tenant).content == 5


@pytest.mark.invariant(175)
def test_an_announcement_is_one_event_and_moves_the_version(content: ContentPorts, tenant: str) -> None:
    announced = Announcement("resources::on-change", "update", "yard://map")
    assert content.store.announce(tenant, announced) == 1
    assert content.revisions.read(tenant).content == 1
    assert list(content.store.apply(tenant, registrations("a"))) == [2]
    assert content.store.announce(tenant, Announcement("lists::on-change", "change", "tools")) == 3
    assert content.revisions.read(tenant).content == 3
    assert sorted(content.list_events(tenant), key=lambda event: event.sequence) == [
        ChangeEvent(tenant, 1, "resources::on-change", "update", "yard://map"),
        ChangeEvent(tenant, 2, "skills::on-change", "register", "a"),
        ChangeEvent(tenant, 3, "lists::on-change", "change", "tools"),
    ]
    assert ids_of(content, tenant) == ["a"]


def test_announcements_and_publications_at_the_same_time_are_all_stored(content: ContentPorts, tenant: str) -> None:
    def announce(number: int) -> int:
        return content.store.announce(tenant, Announcement("resources::on-change", "update", f"yard://{number}"))

    def publish(number: int) -> object:
        return content.store.apply(tenant, registrations(*(f"p{number}/{one:03}" for one in range(40))))

    with ThreadPoolExecutor(4) as pool:
        announced, published = pool.map(announce, range(2)), pool.map(publish, range(2))
        assert len({*announced}) == 2
        assert len(list(published)) == 2
    assert len(ids_of(content, tenant)) == 80
    assert sorted(sequence for sequence, *_ in event_keys(content, tenant)) == list(range(1, 83))


def test_subscriptions_are_stored_without_change_events(content: ContentPorts, tenant: str) -> None:
    webhook = Subscription("webhook", "prompts::on-change", "https://hooks.test/a?b=%20#", "2026-11-18T12:00:00.000Z")
    changes = [
        *registrations("a"),
        subscription_change("mail::index"),
        SubscriptionChange(webhook.name, webhook),
        PromptChange("p", prompt_of("p")),
        subscription_change("a::b"),
    ]
    assert list(content.store.apply(tenant, changes)) == [1, 2, 3, 4, 5]
    known = [subscription_change("a::b").subscription, subscription_change("mail::index").subscription, webhook]
    assert list(content.store.subscriptions(tenant)) == known
    assert list(content.store.apply(tenant, [unsubscription_change("nobody"), unsubscription_change("a::b")])) == [
        None,
        6,
    ]
    again = subscription_change("mail::index", "2026-11-19T12:00:00.000Z")
    assert list(content.store.apply(tenant, [again])) == [7]
    assert list(content.store.subscriptions(tenant)) == [again.subscription, webhook]
    assert list(content.store.subscriptions(f"{tenant}x")) == []
    assert event_keys(content, tenant) == [(1, "register", "a"), (4, "register", "p")]
    assert (ids_of(content, tenant), content.revisions.read(tenant).content) == (["a"], 7)


def test_subscriptions_of_a_publication_are_stored_with_it(content: ContentPorts, tenant: str) -> None:
    changes = [
        *registrations(*many_ids(60)),
        subscription_change("a"),
        subscription_change("b"),
        unsubscription_change("a"),
        *registrations("last"),
    ]
    assert list(content.store.apply(tenant, changes)) == list(range(1, 65))
    assert list(content.store.subscriptions(tenant)) == [subscription_change("b").subscription]
    assert [sequence for sequence, *_ in event_keys(content, tenant)] == [*range(1, 61), 64]


@pytest.mark.cloud
@pytest.mark.parametrize("engine", ["ministack", "dynoxide"])
def test_a_scope_has_its_own_documents_and_its_own_prompts(
    request: pytest.FixtureRequest, dynamodb: Any, engine: str, tenant: str
) -> None:
    client, publications = dynamodb(engine), build_change_batch_store(engine, request)
    first = DynamoContentStore(client, TABLE, publications, ScopeNames("skills", "prompts"))
    second = DynamoContentStore(client, TABLE, publications, ScopeNames("skills-blue", "prompts"))
    first.apply(tenant, [*registrations("a"), PromptChange("p", prompt_of("p"))])
    second.apply(tenant, registrations("b"))
    assert [[skill.id for skill in store.skills(tenant)] for store in (first, second)] == [["a"], ["b"]]
    assert [[prompt.name for prompt in store.prompts(tenant)] for store in (first, second)] == [["p"], ["p"]]
    assert (first.skill(tenant, "b").own, second.skill(tenant, "a").own) == (None, None)
    assert DynamoRevisionRows(client, TABLE).read(tenant).content == 3


def test_events_of_shipped_content_have_no_tenant(content: ContentPorts, tenant: str) -> None:
    (sequence,) = content.store.apply(None, registrations(tenant))
    assert content.list_events(None)[-1] == ChangeEvent(None, sequence or 0, "skills::on-change", "register", tenant)
    content.store.apply(None, unregistrations(tenant))


def test_lists_are_in_the_order_of_bytes(content: ContentPorts, tenant: str) -> None:
    ordered = ["dock", "dock-a", "dock/x", "dock0", "dock_b", "z"]
    content.store.apply(tenant, registrations(*random.Random(7).sample(ordered, len(ordered))))  # noqa: S311 - no secret
    content.store.apply(tenant, [PromptChange(name, prompt_of(name)) for name in ("b", "a-b", "a", "a_b", "a0")])
    assert ids_of(content, tenant) == ordered
    assert [prompt.name for prompt in content.store.prompts(tenant)] == ["a", "a-b", "a0", "a_b", "b"]


WITH_AND_WITHOUT_FILLING = pytest.mark.parametrize("filling", [0, 60], ids=["alone", "in a publication"])
"""Entries that come along, so that it is more than a transaction takes."""


@WITH_AND_WITHOUT_FILLING
def test_each_change_of_one_entry_is_an_event_and_the_last_is_stored(
    content: ContentPorts, tenant: str, filling: int
) -> None:
    content.store.apply(tenant, registrations("gone"))
    changes = [
        *unregistrations("a"),
        *registrations("a", title="first"),
        *unregistrations("a", "a"),
        *registrations("a", title="last"),
        *unregistrations("gone"),
        *registrations("b"),
        *registrations(*many_ids(filling)),
        *unregistrations("gone", "b"),
    ]
    sequences = content.store.apply(tenant, changes)
    assert list(sequences) == [None, 2, 3, None, 4, 5, 6, *range(7, 7 + filling), None, 7 + filling]
    assert content.store.skill(tenant, "a").own == skill_of("a", "last")
    assert ids_of(content, tenant) == ["a", *many_ids(filling)]
    kept = [
        (sequence, "register" if change.skill else "unregister", change.id)
        for sequence, change in zip(sequences, changes, strict=True)
        if sequence
    ]
    assert event_keys(content, tenant)[1:] == kept
    assert content.revisions.read(tenant).content == 7 + filling


def test_a_publication_replaces_and_removes_hundreds_at_once(content: ContentPorts, tenant: str) -> None:
    assert list(content.store.apply(tenant, registrations(*many_ids(250)))) == list(range(1, 251))
    changes = [*registrations(*many_ids(400)[100:], title="new"), *unregistrations(*many_ids(100))]
    assert list(content.store.apply(tenant, changes)) == list(range(251, 651))
    assert list(content.store.skills(tenant)) == [skill_of(skill_id, "new") for skill_id in many_ids(400)[100:]]
    assert list(content.store.apply(tenant, unregistrations("x", *many_ids(400)[90:]))) == [
        *[None] * 11,
        *range(651, 951),
    ]
    assert ids_of(content, tenant) == []
    assert [sequence for sequence, *_ in event_keys(content, tenant)] == list(range(1, 951))


def test_entries_of_the_largest_row_size_are_stored_together(content: ContentPorts, tenant: str) -> None:
    large = [PromptChange(f"p{number}", prompt_of(f"p{number}", "ü" * 190_000)) for number in range(20)]
    assert list(content.store.apply(tenant, large)) == list(range(1, 21))
    assert sorted(content.store.prompts(tenant), key=lambda one: int(one.name[1:])) == [one.prompt for one in large]


def run_concurrently[Answer](threads: int, act: Callable[[int], Answer]) -> list[Answer]:
    start = Barrier(threads)

    def started(number: int) -> Answer:
        start.wait()
        return act(number)

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(started, range(threads)))


def test_concurrent_registrations_are_all_stored(content: ContentPorts, tenant: str) -> None:
    answers = run_concurrently(16, lambda number: content.store.apply(tenant, registrations(many_ids(16)[number])))
    assert sorted(sequence or 0 for (sequence,) in answers) == list(range(1, 17))
    assert ids_of(content, tenant) == many_ids(16)
    by_sequence = {sequence: many_ids(16)[number] for number, (sequence,) in enumerate(answers)}
    assert event_keys(content, tenant) == [(number, "register", by_sequence[number]) for number in range(1, 17)]


def test_one_of_concurrent_unregistrations_takes_effect(content: ContentPorts, tenant: str) -> None:
    content.store.apply(tenant, registrations("a"))
    answers = run_concurrently(8, lambda _: content.store.apply(tenant, unregistrations("a"))[0])
    assert sorted(answers, key=str) == [2, *[None] * 7]
    assert event_keys(content, tenant) == [(1, "register", "a"), (2, "unregister", "a")]


def read_titles(store: ContentStore, tenant: str, ids: Sequence[str]) -> Iterator[str]:
    """The title that a reader sees, one look after the other; a list has to show one title only."""
    for number in count():
        if number % 8 == 0:
            (title,) = {skill.title for skill in store.skills(tenant)}
            yield title
        skill = store.skill(tenant, ids[number * 37 % len(ids)]).own
        assert skill is not None
        yield skill.title


def test_a_publication_is_seen_whole_or_not_at_all(content: ContentPorts, tenant: str) -> None:
    ids, begin, over = many_ids(500), Barrier(3), Event()
    content.store.apply(tenant, registrations(*ids, title="old"))

    def look(_: int) -> list[str]:
        titles = read_titles(content.store, tenant, ids)
        seen, last = [next(titles)], False
        begin.wait()
        while not last:
            last = over.is_set()  # before the last look, so that it has to see what is new
            seen.append(next(titles))
        return seen

    with ThreadPoolExecutor(2) as pool:
        readers = [pool.submit(look, number) for number in range(2)]
        begin.wait()
        content.store.apply(tenant, registrations(*ids, title="new"))
        over.set()
        for reader in readers:
            seen = reader.result()
            assert seen == sorted(seen, reverse=True)  # "old" until it is "new", and never "old" again
            assert (seen[0], seen[-1]) == ("old", "new")


def test_concurrent_changes_and_publications_are_all_stored(content: ContentPorts, tenant: str) -> None:
    def act(number: int) -> Sequence[int | None]:
        if number < 2:
            return content.store.apply(tenant, registrations(*(f"p{number}/{name}" for name in many_ids(150))))
        return content.store.apply(tenant, registrations(f"single{number}"))

    answers = run_concurrently(6, act)
    assert sorted(sequence or 0 for answer in answers for sequence in answer) == list(range(1, 305))
    assert len(ids_of(content, tenant)) == 304
    assert [sequence for sequence, *_ in event_keys(content, tenant)] == list(range(1, 305))


def random_changes(source: random.Random) -> list[Change]:
    size = source.choice([1, 1, 2, 5, 40])
    return [
        source.choice([
            SkillChange(name, None if source.random() < 0.5 else skill_of(name, f"{source.random()}")),
            PromptChange(name, None if source.random() < 0.5 else prompt_of(name, f"{source.random()}")),
            unsubscription_change(name) if source.random() < 0.5 else subscription_change(name, f"{source.random()}"),
        ])
        for name in source.choices("abcdefgh", k=size)
    ]  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
def test_random_changes_leave_the_same_content_as_in_memory(content: ContentPorts, tenant: str, seed: int) -> None:
    source, model = random.Random(seed), MemoryContentStore(FunctionTable())  # noqa: S311 - no secret
    for _ in range(15):
        changes = random_changes(source)
        assert list(content.store.apply(tenant, changes)) == list(model.apply(tenant, changes))
        assert list(content.store.skills(tenant)) == list(model.skills(tenant))
        assert list(content.store.prompts(tenant)) == list(model.prompts(tenant))
        assert list(content.store.subscriptions(tenant)) == list(model.subscriptions(tenant))
        assert content.store.skill(tenant, "a") == model.skill(tenant, "a")
    assert list(content.list_events(tenant)) == model.events


def test_ten_thousand_skills_are_listed(content: ContentPorts, tenant: str, show_line: ShowLine) -> None:
    started = perf_counter()
    content.store.apply(tenant, registrations(*many_ids(10_000)))
    written = perf_counter()
    listed = content.store.skills(tenant)
    show_line(f"10,000 published in {written - started:.2f} s, listed in {perf_counter() - written:.2f} s")
    assert [skill.id for skill in listed] == many_ids(10_000)


def test_a_body_is_read_as_it_was_kept(bodies: Bodies, tenant: str) -> None:
    body = f"# Für {tenant}\r\n\x00".encode()
    digest = sha256(body).hexdigest()
    for scope in (tenant, None):
        bodies.keep(scope, digest, body)
        bodies.keep(scope, digest, body)
        assert bodies.read(scope, digest) == body


def test_a_body_that_was_not_kept_is_not_found(bodies: Bodies, tenant: str) -> None:
    bodies.keep(tenant, EMPTY, b"")
    assert bodies.read(tenant, EMPTY) == b""
    with pytest.raises(LookupError, match="1234"):
        bodies.read(tenant, "1234")
    with pytest.raises(LookupError):
        bodies.read(f"{tenant}x", EMPTY)


@pytest.mark.invariant(98)
@pytest.mark.cloud
def test_an_object_that_was_changed_under_its_key_is_not_read(bucket: Any, tenant: str) -> None:
    bodies, values = S3Bodies(lambda: bucket, BUCKET), S3Values(lambda: bucket, BUCKET)
    batches = S3ChangeBatchStore(lambda: bucket, BUCKET)
    for name in (EMPTY, f"{PART}{EMPTY}"):
        bodies.keep(tenant, name, b"")
    digest, batch = values.keep(tenant, '{"approved": false}'), batches.keep(tenant, EMPTY, b"")
    reads: dict[str, Callable[[], object]] = {
        object_keys.body(tenant, EMPTY): lambda: bodies.read(tenant, EMPTY),
        object_keys.body(tenant, f"{PART}{EMPTY}"): lambda: bodies.read(tenant, f"{PART}{EMPTY}"),
        object_keys.value(tenant, digest): lambda: values.read(tenant, digest),
        batch: lambda: batches.read(batch),
    }
    for key, read in reads.items():
        read()
        bucket.put_object(Bucket=BUCKET, Key=key, Body=b'{"approved": true}')
        with pytest.raises(LookupError, match=f"{key} was changed"):
            read()


@pytest.mark.cloud
def test_only_a_missing_object_is_a_lookup_error(bucket: Any, tenant: str) -> None:
    publications = S3ChangeBatchStore(lambda: bucket, BUCKET)
    key = publications.keep(tenant, EMPTY, b"")
    assert (key, publications.read(key)) == (f"publications/{tenant}/{EMPTY}.json", b"")
    with pytest.raises(LookupError, match=r"publications/x\.json"):
        publications.read("publications/x.json")
    with pytest.raises(ClientError, match="NoSuchBucket"):
        S3Bodies(lambda: bucket, f"{tenant}-nowhere").read(tenant, DIGEST)


@pytest.mark.cloud
def test_the_key_of_a_shipped_body_contains_no_valid_tenant(bucket: Any, tenant: str) -> None:
    S3Bodies(lambda: bucket, BUCKET).keep(None, tenant, b"# Shipped")
    assert bucket.get_object(Bucket=BUCKET, Key=f"content/_shipped/{tenant}")["Body"].read() == b"# Shipped"


def catalogue_change(store: ContentStore, tenant: str, after: str) -> CatalogueChange:
    return CatalogueChange(store.catalogue(tenant), after)


def test_a_catalogue_change_is_stored_with_its_events(content: ContentPorts, tenant: str) -> None:
    assert content.store.catalogue(tenant) is None
    changes = [catalogue_change(content.store, tenant, "a" * 64), WorkflowChange("deploy", DIGEST), *registrations("a")]
    assert content.store.apply(tenant, changes) == [1, 2, 3]
    assert content.store.catalogue(tenant) == "a" * 64
    gone = [catalogue_change(content.store, tenant, "b" * 64), WorkflowChange("deploy", None)]
    assert content.store.apply(tenant, gone) == [4, 5]
    assert [(one.type, one.op, one.key, one.digest) for one in content.list_events(tenant)] == [
        ("workflows::on-change", "register", "deploy", DIGEST),
        ("skills::on-change", "register", "a", None),
        ("workflows::on-change", "unregister", "deploy", None),
    ]


def test_a_catalogue_stays_when_other_content_changes(content: ContentPorts, tenant: str) -> None:
    content.store.apply(tenant, [catalogue_change(content.store, tenant, "a" * 64)])
    content.store.apply(tenant, registrations("a"))
    assert content.store.catalogue(tenant) == "a" * 64


def test_list_revisions_name_the_catalogue(content: ContentPorts, tenant: str) -> None:
    assert content.revisions.read(tenant).catalogue is None
    content.store.apply(tenant, [catalogue_change(content.store, tenant, "a" * 64), *registrations("a")])
    found = content.revisions.read(tenant)
    assert (found.content, found.catalogue, found.placements) == (2, "a" * 64, 0)


@pytest.mark.invariant(8)
def test_a_publication_over_a_changed_catalogue_changes_nothing(content: ContentPorts, tenant: str) -> None:
    stale = catalogue_change(content.store, tenant, "b" * 64)
    content.store.apply(tenant, [catalogue_change(content.store, tenant, "a" * 64)])
    with pytest.raises(Overtaken):
        content.store.apply(tenant, [*registrations("a"), stale])
    assert content.store.catalogue(tenant) == "a" * 64
    assert ids_of(content, tenant) == []


@pytest.mark.invariant(8)
def test_one_of_concurrent_publications_over_a_catalogue_wins(content: ContentPorts, tenant: str) -> None:
    offers = [CatalogueChange(None, f"{number}" * 64) for number in range(8)]

    def publish(offer: CatalogueChange) -> bool:
        try:
            content.store.apply(tenant, [offer])
        except Overtaken:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        won = list(pool.map(publish, offers))
    assert won.count(True) == 1
    assert content.store.catalogue(tenant) == offers[won.index(True)].after


def test_a_large_publication_changes_the_catalogue_at_once(content: ContentPorts, tenant: str) -> None:
    workflows = [WorkflowChange(f"workflow-{number}", DIGEST) for number in range(150)]
    skills = registrations(*(f"skill-{number:03}" for number in range(120)))
    content.store.apply(tenant, [*workflows, *skills, catalogue_change(content.store, tenant, "c" * 64)])
    assert content.store.catalogue(tenant) == "c" * 64
    assert len(ids_of(content, tenant)) == 120
    assert len(content.list_events(tenant)) == 270
    assert content.store.apply(tenant, unregistrations("skill-000")) == [272]
    assert content.store.catalogue(tenant) == "c" * 64
