"""What a tenant has and what is shipped to it, and how it changes: the same on every engine."""

import random
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import count
from threading import Barrier, Event
from time import perf_counter
from typing import Any

import pytest
from botocore.exceptions import ClientError

from signpost.adapters.dynamodb import DynamoContentStore, DynamoRevisionRows
from signpost.adapters.memory import FunctionTable, MemoryContentStore
from signpost.adapters.s3 import S3Bodies, S3ChangeBatchStore
from signpost.content.model import (
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
from signpost.model import PromptArgument
from tests.contract.conftest import BUCKET, TABLE, Content, publications_of
from tests.support.saying import Say

NOTHING = Layers[Skill](own=None, shipped=None, tenant_settings={})
DIGEST = "0f" * 32


def skill_of(skill_id: str, title: str = "Über Rechnungen") -> Skill:
    return Skill(skill_id, title, "Wie man sie schreibt, “genau”", 42, "2026-11-18T12:00:00.000Z", DIGEST)


def prompt_of(name: str, description: str = "Writes a letter") -> StoredPrompt:
    arguments = (PromptArgument("to", "an wen", required=True), PromptArgument("tone"))
    return StoredPrompt(name, description, "mail::letter", arguments, "2026-11-18T12:00:00.000Z")


def registered(*ids: str, title: str = "Über Rechnungen") -> Sequence[SkillChange]:
    return [SkillChange(skill_id, skill_of(skill_id, title)) for skill_id in ids]


def unregistered(*ids: str) -> Sequence[SkillChange]:
    return [SkillChange(skill_id, None) for skill_id in ids]


def subscribed(target: str, registered_at: str = "2026-11-18T12:00:00.000Z") -> SubscriptionChange:
    one = Subscription("trigger", "skills::on-change", target, registered_at, {"größe": [1, None, {"a": "b"}]})
    return SubscriptionChange(one.name, one)


def unsubscribed(target: str) -> SubscriptionChange:
    return SubscriptionChange(subscribed(target).name, None)


def ids_of(content: Content, tenant: str | None) -> list[str]:
    return [skill.id for skill in content.store.skills(tenant)]


def told(content: Content, tenant: str | None) -> list[tuple[int, str, str]]:
    return [(event.sequence, event.op, event.key) for event in content.told(tenant)]


def many(size: int) -> list[str]:
    """In the order of a list."""
    return [f"many/{number:05}" for number in range(size)]


def test_where_nothing_was_registered_there_is_nothing(content: Content, tenant: str) -> None:
    assert content.store.skill(tenant, "a") == NOTHING
    assert content.store.prompt(tenant, "a") == Layers[StoredPrompt](own=None, shipped=None, tenant_settings={})
    assert (list(content.store.skills(tenant)), list(content.store.prompts(tenant))) == ([], [])
    assert content.revisions.read(tenant).content == 0


def test_what_is_registered_comes_back_as_it_was_at_once(content: Content, tenant: str) -> None:
    skills = [skill_of("mail/letters"), replace(skill_of("mail"), description=None)]
    prompts = [prompt_of("letter"), replace(prompt_of("bare"), arguments=())]
    changes = [*(SkillChange(one.id, one) for one in skills), *(PromptChange(one.name, one) for one in prompts)]
    assert list(content.store.apply(tenant, changes)) == [1, 2, 3, 4]
    assert content.store.skill(tenant, "mail") == replace(NOTHING, own=skills[1])
    assert content.store.prompt(tenant, "letter").own == prompts[0]
    assert list(content.store.skills(tenant)) == skills[::-1]
    assert list(content.store.prompts(tenant)) == prompts[::-1]
    assert content.revisions.read(tenant).content == 4


def test_the_files_of_a_skill_come_back_with_it(content: Content, tenant: str) -> None:
    files = (
        StoredFile("LICENSE", DIGEST, 3, "text/plain"),
        StoredFile("a/\u00fcber \u201cuns\u201d.md", DIGEST, 0, "text/markdown"),
    )
    tree = replace(skill_of("tree"), files=files)
    content.store.apply(tenant, [SkillChange("tree", tree), SkillChange("bare", skill_of("bare"))])
    assert content.store.skill(tenant, "tree").own == tree
    assert [skill.files for skill in content.store.skills(tenant)] == [(), files]
    content.store.apply(tenant, registered("tree"))
    assert content.store.skill(tenant, "tree") == replace(NOTHING, own=skill_of("tree"))


def test_what_is_shipped_lies_under_what_a_tenant_has(content: Content, tenant: str) -> None:
    name = f"{tenant}/mail"  # what is shipped has no tenant that keeps tests apart
    before = content.revisions.read(tenant)
    content.store.apply(None, [SkillChange(name, skill_of(name, "shipped")), PromptChange(tenant, prompt_of(tenant))])
    content.store.apply(tenant, registered(name, title="own"))
    content.settings.set(tenant, None, "breaker_failures", 5)
    assert content.store.skill(tenant, name) == Layers(
        skill_of(name, "own"), skill_of(name, "shipped"), {"breaker_failures": 5}
    )
    assert content.store.skill(f"{tenant}x", name) == replace(NOTHING, shipped=skill_of(name, "shipped"))
    assert content.store.prompt(tenant, tenant).shipped == prompt_of(tenant)
    after = replace(before, content=1, shipped_content=before.shipped_content + 2, settings={"breaker_failures": 5})
    assert content.revisions.read(tenant) == after
    assert name in ids_of(content, None)
    content.store.apply(None, [*unregistered(name), PromptChange(tenant, None)])
    assert content.store.skill(f"{tenant}x", name) == NOTHING


def test_every_change_is_told_once_and_nothing_else(content: Content, tenant: str) -> None:
    apply = content.store.apply
    assert list(apply(tenant, unregistered("a"))) == [None]
    assert list(apply(tenant, registered("a"))) == [1]
    assert list(apply(tenant, registered("a"))) == [2]  # again is a change: it has a new time
    assert list(apply(tenant, [PromptChange("a", None)])) == [None]
    assert list(apply(tenant, [PromptChange("a", prompt_of("a"))])) == [3]
    assert list(apply(tenant, unregistered("a"))) == [4]
    assert list(apply(tenant, unregistered("a"))) == [None]
    assert list(apply(tenant, [PromptChange("a", None)])) == [5]
    assert list(apply(tenant, [])) == []
    assert list(content.told(tenant)) == [
        ChangeEvent(tenant, 1, "skills::on-change", "register", "a"),
        ChangeEvent(tenant, 2, "skills::on-change", "register", "a"),
        ChangeEvent(tenant, 3, "prompts::on-change", "register", "a"),
        ChangeEvent(tenant, 4, "skills::on-change", "unregister", "a"),
        ChangeEvent(tenant, 5, "prompts::on-change", "unregister", "a"),
    ]
    assert content.revisions.read(tenant).content == 5


def test_who_subscribes_is_kept_with_the_rest_and_nobody_is_told(content: Content, tenant: str) -> None:
    webhook = Subscription("webhook", "prompts::on-change", "https://hooks.test/a?b=%20#", "2026-11-18T12:00:00.000Z")
    changes = [
        *registered("a"),
        subscribed("mail::index"),
        SubscriptionChange(webhook.name, webhook),
        PromptChange("p", prompt_of("p")),
        subscribed("a::b"),
    ]
    assert list(content.store.apply(tenant, changes)) == [1, 2, 3, 4, 5]
    known = [subscribed("a::b").subscription, subscribed("mail::index").subscription, webhook]
    assert list(content.store.subscriptions(tenant)) == known
    assert list(content.store.apply(tenant, [unsubscribed("nobody"), unsubscribed("a::b")])) == [None, 6]
    again = subscribed("mail::index", "2026-11-19T12:00:00.000Z")
    assert list(content.store.apply(tenant, [again])) == [7]
    assert list(content.store.subscriptions(tenant)) == [again.subscription, webhook]
    assert list(content.store.subscriptions(f"{tenant}x")) == []
    assert told(content, tenant) == [(1, "register", "a"), (4, "register", "p")]
    assert (ids_of(content, tenant), content.revisions.read(tenant).content) == (["a"], 7)


def test_who_subscribes_in_a_publication_is_there_with_it(content: Content, tenant: str) -> None:
    changes = [*registered(*many(60)), subscribed("a"), subscribed("b"), unsubscribed("a"), *registered("last")]
    assert list(content.store.apply(tenant, changes)) == list(range(1, 65))
    assert list(content.store.subscriptions(tenant)) == [subscribed("b").subscription]
    assert [sequence for sequence, *_ in told(content, tenant)] == [*range(1, 61), 64]


@pytest.mark.cloud
@pytest.mark.parametrize("engine", ["ministack", "dynoxide"])
def test_a_scope_has_its_own_documents_and_its_own_prompts(
    request: pytest.FixtureRequest, dynamodb: Any, engine: str, tenant: str
) -> None:
    client, publications = dynamodb(engine), publications_of(engine, request)
    first = DynamoContentStore(client, TABLE, publications, ScopeNames("skills", "prompts"))
    second = DynamoContentStore(client, TABLE, publications, ScopeNames("skills-blue", "prompts"))
    first.apply(tenant, [*registered("a"), PromptChange("p", prompt_of("p"))])
    second.apply(tenant, registered("b"))
    assert [[skill.id for skill in store.skills(tenant)] for store in (first, second)] == [["a"], ["b"]]
    assert [[prompt.name for prompt in store.prompts(tenant)] for store in (first, second)] == [["p"], ["p"]]
    assert (first.skill(tenant, "b").own, second.skill(tenant, "a").own) == (None, None)
    assert DynamoRevisionRows(client, TABLE).read(tenant).content == 3


def test_what_is_shipped_is_told_without_a_tenant(content: Content, tenant: str) -> None:
    (sequence,) = content.store.apply(None, registered(tenant))
    assert content.told(None)[-1] == ChangeEvent(None, sequence or 0, "skills::on-change", "register", tenant)
    content.store.apply(None, unregistered(tenant))


def test_lists_are_in_the_order_of_bytes(content: Content, tenant: str) -> None:
    ordered = ["dock", "dock-a", "dock/x", "dock0", "dock_b", "z"]
    content.store.apply(tenant, registered(*random.Random(7).sample(ordered, len(ordered))))  # noqa: S311 - no secret
    content.store.apply(tenant, [PromptChange(name, prompt_of(name)) for name in ("b", "a-b", "a", "a_b", "a0")])
    assert ids_of(content, tenant) == ordered
    assert [prompt.name for prompt in content.store.prompts(tenant)] == ["a", "a-b", "a0", "a_b", "b"]


FILLINGS = pytest.mark.parametrize("filling", [0, 60], ids=["alone", "in a publication"])
"""Entries that come along, so that it is more than a transaction takes."""


@FILLINGS
def test_of_changes_of_one_entry_each_is_told_and_the_last_stays(content: Content, tenant: str, filling: int) -> None:
    content.store.apply(tenant, registered("gone"))
    changes = [
        *unregistered("a"),
        *registered("a", title="first"),
        *unregistered("a", "a"),
        *registered("a", title="last"),
        *unregistered("gone"),
        *registered("b"),
        *registered(*many(filling)),
        *unregistered("gone", "b"),
    ]
    sequences = content.store.apply(tenant, changes)
    assert list(sequences) == [None, 2, 3, None, 4, 5, 6, *range(7, 7 + filling), None, 7 + filling]
    assert content.store.skill(tenant, "a").own == skill_of("a", "last")
    assert ids_of(content, tenant) == ["a", *many(filling)]
    kept = [
        (sequence, "register" if change.skill else "unregister", change.id)
        for sequence, change in zip(sequences, changes, strict=True)
        if sequence
    ]
    assert told(content, tenant)[1:] == kept
    assert content.revisions.read(tenant).content == 7 + filling


def test_a_publication_replaces_and_removes_hundreds_at_once(content: Content, tenant: str) -> None:
    assert list(content.store.apply(tenant, registered(*many(250)))) == list(range(1, 251))
    changes = [*registered(*many(400)[100:], title="new"), *unregistered(*many(100))]
    assert list(content.store.apply(tenant, changes)) == list(range(251, 651))
    assert list(content.store.skills(tenant)) == [skill_of(skill_id, "new") for skill_id in many(400)[100:]]
    assert list(content.store.apply(tenant, unregistered("x", *many(400)[90:]))) == [*[None] * 11, *range(651, 951)]
    assert ids_of(content, tenant) == []
    assert [sequence for sequence, *_ in told(content, tenant)] == list(range(1, 951))


def test_entries_as_large_as_rows_may_be_are_kept_together(content: Content, tenant: str) -> None:
    large = [PromptChange(f"p{number}", prompt_of(f"p{number}", "ü" * 190_000)) for number in range(20)]
    assert list(content.store.apply(tenant, large)) == list(range(1, 21))
    assert sorted(content.store.prompts(tenant), key=lambda one: int(one.name[1:])) == [one.prompt for one in large]


def at_once[Answer](threads: int, act: Callable[[int], Answer]) -> list[Answer]:
    start = Barrier(threads)

    def started(number: int) -> Answer:
        start.wait()
        return act(number)

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(started, range(threads)))


def test_of_many_who_register_at_once_nobody_is_lost(content: Content, tenant: str) -> None:
    answers = at_once(16, lambda number: content.store.apply(tenant, registered(many(16)[number])))
    assert sorted(sequence or 0 for (sequence,) in answers) == list(range(1, 17))
    assert ids_of(content, tenant) == many(16)
    by_sequence = {sequence: many(16)[number] for number, (sequence,) in enumerate(answers)}
    assert told(content, tenant) == [(number, "register", by_sequence[number]) for number in range(1, 17)]


def test_of_many_who_unregister_the_same_at_once_one_does(content: Content, tenant: str) -> None:
    content.store.apply(tenant, registered("a"))
    answers = at_once(8, lambda _: content.store.apply(tenant, unregistered("a"))[0])
    assert sorted(answers, key=str) == [2, *[None] * 7]
    assert told(content, tenant) == [(1, "register", "a"), (2, "unregister", "a")]


def looks(store: ContentStore, tenant: str, ids: Sequence[str]) -> Iterator[str]:
    """The title that a reader sees, one look after the other; a list has to show one title only."""
    for number in count():
        if number % 8 == 0:
            (title,) = {skill.title for skill in store.skills(tenant)}
            yield title
        skill = store.skill(tenant, ids[number * 37 % len(ids)]).own
        assert skill is not None
        yield skill.title


def test_a_publication_is_seen_whole_or_not_at_all(content: Content, tenant: str) -> None:
    ids, begin, over = many(500), Barrier(3), Event()
    content.store.apply(tenant, registered(*ids, title="old"))

    def look(_: int) -> list[str]:
        titles = looks(content.store, tenant, ids)
        seen, last = [next(titles)], False
        begin.wait()
        while not last:
            last = over.is_set()  # before the last look, so that it has to see what is new
            seen.append(next(titles))
        return seen

    with ThreadPoolExecutor(2) as pool:
        readers = [pool.submit(look, number) for number in range(2)]
        begin.wait()
        content.store.apply(tenant, registered(*ids, title="new"))
        over.set()
        for reader in readers:
            seen = reader.result()
            assert seen == sorted(seen, reverse=True)  # "old" until it is "new", and never "old" again
            assert (seen[0], seen[-1]) == ("old", "new")


def test_single_changes_and_publications_do_not_lose_each_other(content: Content, tenant: str) -> None:
    def act(number: int) -> Sequence[int | None]:
        if number < 2:
            return content.store.apply(tenant, registered(*(f"p{number}/{name}" for name in many(150))))
        return content.store.apply(tenant, registered(f"single{number}"))

    answers = at_once(6, act)
    assert sorted(sequence or 0 for answer in answers for sequence in answer) == list(range(1, 305))
    assert len(ids_of(content, tenant)) == 304
    assert [sequence for sequence, *_ in told(content, tenant)] == list(range(1, 305))


def random_changes(source: random.Random) -> list[Change]:
    size = source.choice([1, 1, 2, 5, 40])
    return [
        source.choice([
            SkillChange(name, None if source.random() < 0.5 else skill_of(name, f"{source.random()}")),
            PromptChange(name, None if source.random() < 0.5 else prompt_of(name, f"{source.random()}")),
            unsubscribed(name) if source.random() < 0.5 else subscribed(name, f"{source.random()}"),
        ])
        for name in source.choices("abcdefgh", k=size)
    ]  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
def test_changes_leave_what_they_leave_in_the_model(content: Content, tenant: str, seed: int) -> None:
    source, model = random.Random(seed), MemoryContentStore(FunctionTable())  # noqa: S311 - no secret
    for _ in range(15):
        changes = random_changes(source)
        assert list(content.store.apply(tenant, changes)) == list(model.apply(tenant, changes))
        assert list(content.store.skills(tenant)) == list(model.skills(tenant))
        assert list(content.store.prompts(tenant)) == list(model.prompts(tenant))
        assert list(content.store.subscriptions(tenant)) == list(model.subscriptions(tenant))
        assert content.store.skill(tenant, "a") == model.skill(tenant, "a")
    assert list(content.told(tenant)) == model.events


def test_ten_thousand_skills_are_listed(content: Content, tenant: str, say: Say) -> None:
    started = perf_counter()
    content.store.apply(tenant, registered(*many(10_000)))
    written = perf_counter()
    listed = content.store.skills(tenant)
    say(f"10,000 published in {written - started:.2f} s, listed in {perf_counter() - written:.2f} s")
    assert [skill.id for skill in listed] == many(10_000)


def test_a_body_is_read_as_it_was_kept(bodies: Bodies, tenant: str) -> None:
    for scope in (tenant, None):
        bodies.keep(scope, f"{tenant}-digest", f"# Für {scope}\r\n\x00".encode())
        bodies.keep(scope, f"{tenant}-digest", f"# Für {scope}\r\n\x00".encode())
    assert bodies.read(tenant, f"{tenant}-digest") == f"# Für {tenant}\r\n\x00".encode()
    assert bodies.read(None, f"{tenant}-digest") == b"# F\xc3\xbcr None\r\n\x00"


def test_a_body_that_was_not_kept_is_not_found(bodies: Bodies, tenant: str) -> None:
    bodies.keep(tenant, DIGEST, b"")
    assert bodies.read(tenant, DIGEST) == b""
    with pytest.raises(LookupError, match="1234"):
        bodies.read(tenant, "1234")
    with pytest.raises(LookupError):
        bodies.read(f"{tenant}x", DIGEST)


@pytest.mark.cloud
def test_only_an_object_that_is_not_there_is_not_found(bucket: Any, tenant: str) -> None:
    publications = S3ChangeBatchStore(lambda: bucket, BUCKET)
    key = publications.keep(tenant, DIGEST, b"{}")
    assert (key, publications.read(key)) == (f"publications/{tenant}/{DIGEST}.json", b"{}")
    with pytest.raises(LookupError, match=r"publications/x\.json"):
        publications.read("publications/x.json")
    with pytest.raises(ClientError, match="NoSuchBucket"):
        S3Bodies(lambda: bucket, f"{tenant}-nowhere").read(tenant, DIGEST)


@pytest.mark.cloud
def test_no_tenant_can_spell_what_is_shipped(bucket: Any, tenant: str) -> None:
    S3Bodies(lambda: bucket, BUCKET).keep(None, tenant, b"# Shipped")
    assert bucket.get_object(Bucket=BUCKET, Key=f"content/_shipped/{tenant}")["Body"].read() == b"# Shipped"


def moved(store: ContentStore, tenant: str, after: str) -> CatalogueChange:
    return CatalogueChange(store.catalogue(tenant), after)


def test_the_catalogue_moves_with_what_is_told_of_it(content: Content, tenant: str) -> None:
    assert content.store.catalogue(tenant) is None
    changes = [moved(content.store, tenant, "a" * 64), WorkflowChange("deploy", DIGEST), *registered("a")]
    assert content.store.apply(tenant, changes) == [1, 2, 3]
    assert content.store.catalogue(tenant) == "a" * 64
    gone = [moved(content.store, tenant, "b" * 64), WorkflowChange("deploy", None)]
    assert content.store.apply(tenant, gone) == [4, 5]
    assert [(one.type, one.op, one.key, one.digest) for one in content.told(tenant)] == [
        ("workflows::on-change", "register", "deploy", DIGEST),
        ("skills::on-change", "register", "a", None),
        ("workflows::on-change", "unregister", "deploy", None),
    ]


def test_a_catalogue_stays_when_something_else_changes(content: Content, tenant: str) -> None:
    content.store.apply(tenant, [moved(content.store, tenant, "a" * 64)])
    content.store.apply(tenant, registered("a"))
    assert content.store.catalogue(tenant) == "a" * 64


def test_who_looks_at_what_has_changed_sees_which_catalogue_there_is(content: Content, tenant: str) -> None:
    assert content.revisions.read(tenant).catalogue is None
    content.store.apply(tenant, [moved(content.store, tenant, "a" * 64), *registered("a")])
    found = content.revisions.read(tenant)
    assert (found.content, found.catalogue, found.placements) == (2, "a" * 64, 0)


@pytest.mark.invariant(8)
def test_who_publishes_over_a_catalogue_that_has_moved_changes_nothing(content: Content, tenant: str) -> None:
    stale = moved(content.store, tenant, "b" * 64)
    content.store.apply(tenant, [moved(content.store, tenant, "a" * 64)])
    with pytest.raises(Overtaken):
        content.store.apply(tenant, [*registered("a"), stale])
    assert content.store.catalogue(tenant) == "a" * 64
    assert ids_of(content, tenant) == []


@pytest.mark.invariant(8)
def test_of_many_who_publish_over_the_same_catalogue_one_wins(content: Content, tenant: str) -> None:
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


def test_a_publication_of_many_moves_the_catalogue_at_once(content: Content, tenant: str) -> None:
    workflows = [WorkflowChange(f"workflow-{number}", DIGEST) for number in range(150)]
    skills = registered(*(f"skill-{number:03}" for number in range(120)))
    content.store.apply(tenant, [*workflows, *skills, moved(content.store, tenant, "c" * 64)])
    assert content.store.catalogue(tenant) == "c" * 64
    assert len(ids_of(content, tenant)) == 120
    assert len(content.told(tenant)) == 270
    assert content.store.apply(tenant, unregistered("skill-000")) == [272]
    assert content.store.catalogue(tenant) == "c" * 64
