"""What only happens to content elsewhere: a crash at any step, a writer that slept, others in the way."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from time import time
from typing import Any, cast

import pytest
from botocore.exceptions import ClientError

from signpost.adapters import keys
from signpost.adapters.dynamodb import DynamoContentStore, rows
from signpost.adapters.dynamodb.content_head import ContentHead, head_in
from signpost.adapters.dynamodb.outbox import events_of
from signpost.content.model import Change, ChangeEvent, PromptChange
from signpost.errors import Unavailable
from tests.contract.conftest import SCOPES, TABLE, ContentPorts, RemoteEngine, build_dynamo_content, connect_dynamodb
from tests.contract.test_content import (
    event_keys,
    ids_of,
    many_ids,
    prompt_of,
    registrations,
    skill_of,
    unregistrations,
)
from tests.contract.test_placement_interruptions import Crash, Interference

pytestmark = pytest.mark.no_cover


class CrashSteps:
    """Between a store, and its table and its objects: each call has a step before and one after it."""

    def __init__(self, remote: RemoteEngine) -> None:
        self.objects_read: list[str] = []
        self._publications = remote.change_batches
        self._left = cast(Iterator[None], iter(()))
        self._armed = False
        remote.client.meta.events.register("before-call.dynamodb", self._step)
        remote.client.meta.events.register("after-call.dynamodb", self._step)

    def crash_after(self, steps: int) -> None:
        self._left, self._armed = iter([None] * steps), True

    def repair(self) -> None:
        self._armed = False

    def _step(self, **_: Any) -> None:
        if self._armed and next(self._left, "over") == "over":
            raise Crash

    def keep(self, tenant: str | None, batch_id: str, body: bytes) -> str:
        self._step()
        key = self._publications.keep(tenant, batch_id, body)
        self._step()
        return key

    def read(self, key: str) -> bytes:
        self.objects_read.append(key)
        self._step()
        body = self._publications.read(key)
        self._step()
        return body


@pytest.fixture
def steps(remote: RemoteEngine) -> CrashSteps:
    return CrashSteps(remote)


@pytest.fixture
def interference(remote: RemoteEngine) -> Interference:
    return Interference(remote.client)


@pytest.fixture
def content(remote: RemoteEngine, steps: CrashSteps, interference: Interference) -> ContentPorts:
    """Whose calls are counted, and go wrong."""
    del interference  # it has to stand there first
    return build_dynamo_content(remote.client, steps)


@pytest.fixture
def short_transactions(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a few entries take many."""
    monkeypatch.setattr("signpost.adapters.dynamodb.content_store.CHANGES_AT_ONCE", 3)
    monkeypatch.setattr("signpost.adapters.dynamodb.content_store.ROWS_AT_ONCE", 2)


def crash_at_each_step(steps: CrashSteps, act: Callable[[int], object]) -> Iterator[int]:
    """Acts again and again, each time a step further, until it comes through."""
    for number in range(100):
        steps.crash_after(number)
        with suppress(Crash):
            act(number)
            steps.repair()
            return
        steps.repair()
        yield number


def head_of(remote: RemoteEngine, tenant: str) -> ContentHead:
    return head_in(rows.get(remote.client, TABLE, keys.content_version(tenant)))


def stored_ids(remote: RemoteEngine, tenant: str) -> list[str]:
    """What the rows alone say."""
    return [row["sk"]["S"] for row in rows.query(remote.client, TABLE, keys.entries_of(tenant, SCOPES.skills))]


BEFORE = ["a", "b", "c", "d", "e", "f"]
SINGLE = [*registrations("a", "new", title="new"), *unregistrations("b")]
PUBLICATION = [
    *registrations("a", "new", "newer", title="new"),
    *unregistrations("b", "c", "d"),
    *registrations("newest"),
]


def visible_content(content: ContentPorts, tenant: str) -> tuple[list[str], str, list[tuple[int, str, str]], int]:
    """All that anybody can see of it, by each of the ways to look."""
    listed, events = content.store.skills(tenant), event_keys(content, tenant)
    names = {*BEFORE, "new", "newer", "newest"}
    single = [skill for name in sorted(names) if (skill := content.store.skill(tenant, name).own)]
    assert single == list(listed)
    assert content.revisions.read(tenant).content == len(events) == events[-1][0]
    return [skill.id for skill in listed], single[0].title, events, len(events)


@pytest.mark.invariant(42)
@pytest.mark.usefixtures("short_transactions")
@pytest.mark.parametrize("changes", [SINGLE, PUBLICATION], ids=["a few", "a publication"])
@pytest.mark.parametrize("then", ["again", "another", "completed"])
def test_a_change_that_crashed_has_happened_with_its_events_or_not_at_all(
    remote: RemoteEngine, content: ContentPorts, steps: CrashSteps, tenant: str, changes: Sequence[Change], then: str
) -> None:
    remote.others.store.apply(f"{tenant}-whole", registrations(*BEFORE))
    old = visible_content(remote.others, f"{tenant}-whole")
    remote.others.store.apply(f"{tenant}-whole", changes)
    new, states = visible_content(remote.others, f"{tenant}-whole"), list[bool]()

    def act(number: int) -> None:
        remote.others.store.apply(f"{tenant}-{number}", registrations(*BEFORE))
        content.store.apply(f"{tenant}-{number}", changes)

    for number in crash_at_each_step(steps, act):
        found = visible_content(remote.others, f"{tenant}-{number}")
        assert found in (old, new)
        states.append(found == new)
        finish(remote, f"{tenant}-{number}", changes, then)
    assert states == sorted(states)  # not at all up to some step, whole from there on
    assert {*states} == {True, False}


def finish(remote: RemoteEngine, tenant: str, changes: Sequence[Change], then: str) -> None:
    """What comes after a crash leaves every row where it belongs, and loses no event."""
    store = remote.others.store
    assert isinstance(store, DynamoContentStore)
    before = len(event_keys(remote.others, tenant))
    if then == "completed":
        store.complete(tenant)
        store.complete(tenant)
        assert len(event_keys(remote.others, tenant)) == before
    else:
        made = store.apply(tenant, changes if then == "again" else registrations("other"))
        effective = [sequence for sequence in made if sequence is not None]
        assert effective == list(range(before + 1, before + 1 + len(effective)))
        assert len(event_keys(remote.others, tenant)) == before + len(effective)
    assert head_of(remote, tenant).overlay is None
    assert stored_ids(remote, tenant) == ids_of(remote.others, tenant)


@pytest.mark.usefixtures("short_transactions")
@pytest.mark.parametrize("moment", range(8))
def test_a_publisher_that_resumes_late_undoes_no_later_change(
    remote: RemoteEngine, content: ContentPorts, tenant: str, moment: int
) -> None:
    """Somebody else completes its publication and goes on, before any of its transactions."""
    remote.others.store.apply(tenant, registrations(*BEFORE))
    theirs = [*registrations("a", title="later"), *unregistrations("new", "f")]
    Interference(remote.client).meanwhile(moment, lambda: remote.others.store.apply(tenant, theirs))
    content.store.apply(tenant, PUBLICATION)
    ours_last = moment == 0
    expected = ["a", "e", "new", "newer", "newest"] if ours_last else ["a", "e", "newer", "newest"]
    if moment > 4:  # they never came: it does not take as many transactions
        expected = ["a", "e", "f", "new", "newer", "newest"]
    assert ids_of(remote.others, tenant) == expected == stored_ids(remote, tenant)
    title = "later" if 0 < moment <= 4 else "new"
    assert remote.others.store.skill(tenant, "a").own == skill_of("a", title)
    sequences = [sequence for sequence, *_ in event_keys(remote.others, tenant)]
    assert sequences == list(range(1, len(sequences) + 1))


@pytest.mark.usefixtures("short_transactions")
def test_a_transaction_that_arrives_late_is_refused(remote: RemoteEngine, content: ContentPorts, tenant: str) -> None:
    """Sent by a writer of the same rows, whose turn has been taken by another."""
    sent, replayed = list[Any](), list[Any]()

    def replay(params: Any, **_: Any) -> None:
        for items in sent:
            with pytest.raises(ClientError, match="ConditionalCheckFailed"):
                replayed.append(another.transact_write_items(TransactItems=items))
        sent.append(params["TransactItems"])

    another = connect_dynamodb(remote.client.meta.endpoint_url)
    remote.client.meta.events.register("before-parameter-build.dynamodb.TransactWriteItems", replay)
    content.store.apply(tenant, [*registrations("a", title="first"), *registrations(*BEFORE, title="last")])
    content.store.apply(tenant, registrations("g"))
    assert len(sent) == 6
    assert replayed == []
    assert remote.others.store.skill(tenant, "a").own == skill_of("a", "last")


@pytest.mark.usefixtures("short_transactions")
@pytest.mark.parametrize("moment", range(1, 5))
def test_two_writers_of_the_rows_of_a_publication_take_turns(
    remote: RemoteEngine, content: ContentPorts, tenant: str, moment: int
) -> None:
    other = remote.others.store
    assert isinstance(other, DynamoContentStore)
    Interference(remote.client).meanwhile(moment, lambda: other.complete(tenant))
    content.store.apply(tenant, registrations(*BEFORE))
    assert stored_ids(remote, tenant) == BEFORE
    assert head_of(remote, tenant).version == 6


def leave_unfinished_publication(content: ContentPorts, steps: CrashSteps, tenant: str) -> None:
    """Published, by somebody who died before any row was written: after reading the head, the object and its commit."""
    steps.crash_after(6)
    with pytest.raises(Crash):
        content.store.apply(tenant, [*registrations(*BEFORE), PromptChange("letter", prompt_of("letter"))])
    steps.repair()


@pytest.mark.usefixtures("short_transactions")
def test_a_change_waits_for_a_second_unfinished_publication(
    remote: RemoteEngine, content: ContentPorts, steps: CrashSteps, tenant: str
) -> None:
    """While we write the rows of one, somebody else does, publishes the next, and dies."""
    leave_unfinished_publication(content, steps, tenant)

    def publish_and_die() -> None:
        theirs = RemoteEngine(connect_dynamodb(remote.client.meta.endpoint_url), remote.change_batches, remote.others)
        others_steps = CrashSteps(theirs)
        store = build_dynamo_content(theirs.client, others_steps).store
        assert isinstance(store, DynamoContentStore)
        store.complete(tenant)
        others_steps.crash_after(6)
        with suppress(Crash):
            store.apply(tenant, registrations(*"ghij", title="next"))

    Interference(remote.client).meanwhile(1, publish_and_die)
    assert list(content.store.apply(tenant, registrations("g", title="last"))) == [12]
    assert head_of(remote, tenant).overlay is None
    assert stored_ids(remote, tenant) == [*BEFORE, *"ghij"] == ids_of(remote.others, tenant)
    assert remote.others.store.skill(tenant, "g").own == skill_of("g", "last")
    assert [sequence for sequence, *_ in event_keys(remote.others, tenant)] == list(range(1, 13))


@pytest.mark.usefixtures("short_transactions")
def test_an_entry_is_read_in_one_call_and_an_overlay_once(
    remote: RemoteEngine, content: ContentPorts, steps: CrashSteps, interference: Interference, tenant: str
) -> None:
    leave_unfinished_publication(content, steps, tenant)
    assert stored_ids(remote, tenant) == []
    interference.calls.clear()
    steps.objects_read.clear()
    for _ in range(3):
        assert content.store.skill(tenant, "a").own == skill_of("a")
        assert content.store.skill(tenant, "x").own is None
        assert content.store.prompt(tenant, "letter").own == prompt_of("letter")
    assert interference.calls == ["BatchGetItem"] * 9
    assert len(steps.objects_read) == 1


def test_without_an_overlay_no_object_is_read(
    content: ContentPorts, steps: CrashSteps, interference: Interference, tenant: str
) -> None:
    content.store.apply(tenant, registrations("a"))
    interference.calls.clear()
    content.store.skill(tenant, "a")
    content.revisions.read(tenant)
    assert interference.calls == ["BatchGetItem", "BatchGetItem"]
    assert steps.objects_read == []


def test_a_change_is_a_read_and_a_transaction(content: ContentPorts, interference: Interference, tenant: str) -> None:
    content.store.apply(tenant, registrations("a", "b"))
    assert interference.calls == ["GetItem", "TransactWriteItems"]
    interference.calls.clear()
    content.store.apply(tenant, unregistrations("a"))
    assert interference.calls == ["GetItem", "BatchGetItem", "TransactWriteItems"]
    interference.calls.clear()
    content.store.apply(tenant, unregistrations("a"))
    assert interference.calls == ["GetItem", "BatchGetItem"]


@pytest.mark.usefixtures("short_transactions")
def test_an_entry_read_before_its_row_was_written_is_read_again(
    remote: RemoteEngine, content: ContentPorts, interference: Interference, tenant: str
) -> None:
    """The table reads the rows of one call when it likes; here the entry first, and the head after the publication."""
    moments = iter([True])

    def entry_first(parsed: Any, **_: Any) -> None:
        if next(moments, False):
            found = parsed["Responses"][TABLE]
            parsed["Responses"][TABLE] = [row for row in found if row["sk"]["S"] == "content"]

    remote.others.store.apply(tenant, registrations(*BEFORE))
    remote.client.meta.events.register("after-call.dynamodb.BatchGetItem", entry_first)
    assert content.store.skill(tenant, "a").own == skill_of("a")
    assert interference.calls == ["BatchGetItem", "BatchGetItem"]


def test_a_read_overtaken_at_each_attempt_is_unavailable(
    remote: RemoteEngine, content: ContentPorts, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def publish(**_: Any) -> None:
        remote.others.store.apply(tenant, registrations("a"))

    monkeypatch.setattr("signpost.adapters.dynamodb.content_store.CHANGES_AT_ONCE", 0)
    remote.client.meta.events.register("before-call.dynamodb.BatchGetItem", publish)
    with pytest.raises(Unavailable):
        content.store.skill(tenant, "a")


def list_during_changes(
    remote: RemoteEngine, content: ContentPorts, tenant: str, changes: Sequence[Change], page: int
) -> list[str]:
    """The ids in a list of one row a page, when everything changes before one of the pages."""
    Interference(remote.client).shorten_pages()
    pages = iter([*[False] * page, True])

    def meanwhile(**_: Any) -> None:
        if next(pages, False):
            remote.others.store.apply(tenant, changes)
            remote.others.store.apply(tenant, [PromptChange("p", prompt_of("p"))])

    remote.client.meta.events.register("before-call.dynamodb.Query", meanwhile)
    listed = content.store.skills(tenant)
    assert list(listed) == list(remote.others.store.skills(tenant))
    return [skill.id for skill in listed]


CHANGES = pytest.mark.parametrize("changes", [SINGLE, PUBLICATION], ids=["a few", "a publication"])


@pytest.mark.usefixtures("short_transactions")
@CHANGES
@pytest.mark.parametrize("page", range(6))
def test_a_list_shows_one_moment_despite_changes_between_its_pages(
    remote: RemoteEngine, content: ContentPorts, tenant: str, changes: Sequence[Change], page: int
) -> None:
    content.store.apply(tenant, registrations(*BEFORE))
    listed = list_during_changes(remote, content, tenant, changes, page)
    assert "new" in listed
    assert listed == stored_ids(remote, tenant)


@pytest.mark.usefixtures("short_transactions")
@CHANGES
def test_a_list_shows_one_moment_despite_an_overlay_completed_meanwhile(
    remote: RemoteEngine, content: ContentPorts, steps: CrashSteps, tenant: str, changes: Sequence[Change]
) -> None:
    leave_unfinished_publication(content, steps, tenant)
    listed = list_during_changes(remote, content, tenant, changes, 0)
    assert "new" in listed
    assert listed == stored_ids(remote, tenant)


@pytest.mark.parametrize("code", ["TransactionConflict", "ThrottlingError"])
def test_a_change_is_retried_after_transaction_conflicts(
    content: ContentPorts, interference: Interference, tenant: str, code: str
) -> None:
    interference.conflict(3, code)
    assert list(content.store.apply(tenant, registrations("a"))) == [1]
    assert interference.calls.count("TransactWriteItems") == 4


def test_a_change_with_lasting_conflicts_is_unavailable(
    remote: RemoteEngine, content: ContentPorts, interference: Interference, tenant: str
) -> None:
    interference.conflict(1_000, "TransactionConflict")
    with pytest.raises(Unavailable):
        content.store.apply(tenant, registrations("a"))
    assert ids_of(remote.others, tenant) == event_keys(remote.others, tenant) == []


def test_a_change_overtaken_at_each_attempt_is_unavailable(
    remote: RemoteEngine, content: ContentPorts, interference: Interference, tenant: str
) -> None:
    for number in range(20):
        name = f"other-{number:02}"
        interference.meanwhile(number, lambda name=name: remote.others.store.apply(tenant, registrations(name)))
    with pytest.raises(Unavailable):
        content.store.apply(tenant, registrations("a"))
    assert ids_of(remote.others, tenant) == [f"other-{number:02}" for number in range(rows.ATTEMPTS)]


@pytest.mark.parametrize("call", range(3))
def test_an_entry_unregistered_concurrently_is_unregistered_once(
    remote: RemoteEngine, content: ContentPorts, tenant: str, call: int
) -> None:
    remote.others.store.apply(tenant, registrations("a"))
    answers, calls = list[Sequence[int | None]](), iter([*[False] * call, True])

    def meanwhile(**_: Any) -> None:
        if next(calls, False):
            answers.append(remote.others.store.apply(tenant, unregistrations("a")))

    remote.client.meta.events.register("before-call.dynamodb", meanwhile)
    answers.append(content.store.apply(tenant, unregistrations("a")))
    assert list(map(list, answers)) == [[2], [None]]
    assert event_keys(remote.others, tenant) == [(1, "register", "a"), (2, "unregister", "a")]


@pytest.mark.usefixtures("short_transactions")
def test_a_publication_with_unwritten_rows_has_happened(
    remote: RemoteEngine, content: ContentPorts, steps: CrashSteps, interference: Interference, tenant: str
) -> None:
    writes = iter([True])

    def afterwards(**_: Any) -> None:
        if next(writes, False):
            interference.conflict(1_000, "TransactionConflict")

    remote.client.meta.events.register("after-call.dynamodb.TransactWriteItems", afterwards)
    assert list(content.store.apply(tenant, registrations(*BEFORE))) == [1, 2, 3, 4, 5, 6]
    assert stored_ids(remote, tenant) == []
    assert ids_of(remote.others, tenant) == BEFORE
    assert list(remote.others.store.apply(tenant, unregistrations("a"))) == [7]
    assert stored_ids(remote, tenant) == BEFORE[1:]
    assert steps.objects_read


@pytest.mark.parametrize("name", ["", "a" * 1025])
def test_an_entry_that_no_row_can_hold_is_refused_without_changes(
    remote: RemoteEngine, content: ContentPorts, name: str
) -> None:
    tenant = f"t-{time()}"
    large = PromptChange("p", prompt_of("p", "ü" * 200_000))
    for wrong in (large, *registrations(name)):
        with pytest.raises(ValueError, match=r"A name must have|has more than"):
            content.store.apply(tenant, [*registrations(*many_ids(40)), wrong])
    assert ids_of(remote.others, tenant) == event_keys(remote.others, tenant) == []
    assert head_of(remote, tenant) == ContentHead()


def outbox_of(remote: RemoteEngine, tenant: str | None) -> list[dict[str, Any]]:
    """As the stream shows the rows: through JSON."""
    return [json.loads(json.dumps(row)) for row in rows.query(remote.client, TABLE, keys.outbox_of(tenant))]


def test_an_outbox_row_holds_its_change_and_expires(remote: RemoteEngine, content: ContentPorts, tenant: str) -> None:
    content.store.apply(tenant, registrations("a"))
    (row,) = outbox_of(remote, tenant)
    assert (row["pk"], row["sk"]) == ({"S": f"tenant#{tenant}#outbox"}, {"S": "00000000000000000001"})
    assert (row["type"], row["op"], row["key"]) == ({"S": "skills::on-change"}, {"S": "register"}, {"S": "a"})
    assert rows.optional_number(row, "expires_at") == pytest.approx(time() + 7 * 24 * 3600, abs=120)
    assert row["schema"] == {"N": "1"}
    expected = [ChangeEvent(tenant, 1, "skills::on-change", "register", "a")]
    assert list(events_of(row, remote.change_batches)) == expected


def test_one_outbox_row_stands_for_a_publication(remote: RemoteEngine, content: ContentPorts, tenant: str) -> None:
    content.store.apply(tenant, registrations("a"))
    content.store.apply(tenant, [*registrations(*many_ids(100)), *unregistrations("a")])
    _, row = outbox_of(remote, tenant)
    assert (row["sk"], row["first"], row["last"]) == ({"S": f"{102:020}"}, {"N": "2"}, {"N": "102"})
    events = events_of(row, remote.change_batches)
    assert [event.sequence for event in events] == list(range(2, 103))
    assert [event.key for event in events] == [*many_ids(100), "a"]
    assert {event.tenant for event in events} == {tenant}


def test_rows_hold_entries_as_text(remote: RemoteEngine, content: ContentPorts, tenant: str) -> None:
    content.store.apply(tenant, [*registrations("a"), PromptChange("p", prompt_of("p"))])
    skill = rows.get(remote.client, TABLE, keys.entry(f"tenant#{tenant}#skills", "a"))
    prompt = rows.get(remote.client, TABLE, keys.entry(f"tenant#{tenant}#prompts", "p"))
    assert skill
    assert prompt
    assert json.loads(skill["entry"]["S"])["title"] == "Über Rechnungen"
    assert json.loads(prompt["entry"]["S"])["arguments"][0] == {
        "name": "to", "description": "an wen", "required": True,
    }  # fmt: skip
