"""What the sweeper takes away, and what it never does, whatever happens meanwhile."""

from collections.abc import Callable, Sequence
from typing import Any, override

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from signpost.adapters.memory import FunctionTable, MemoryBucket, MemoryContentStore, MemoryReferences
from signpost.catalogue.publishing.publisher import Publisher
from signpost.catalogue.publishing.request import PublishRequest, SentDocument
from signpost.content.digests import digest_of
from signpost.content.documents import Skills
from signpost.content.kept_objects import ObjectVersion
from signpost.content.model import Change
from signpost.content.retention import DAY, RetentionAges
from signpost.entrypoints.sweeper import RESERVE_MS, ContentSweeper
from signpost.errors import Unavailable
from signpost.telemetry import Telemetry
from tests.support.catalogues import build_catalogue_publisher
from tests.support.effort import count_examples
from tests.support.registry import TENANT, CountingTimestamps, MemoryRegistry

RESTORABLE = 35 * DAY
LONGEST_REGISTER = 60.0
"""Seconds that the registry function may take."""
ENOUGH = 10 * RESERVE_MS

type Act = Callable[[], object]


class InterruptedContent(MemoryContentStore):
    """Whose writers may be slow: something else happens before they write."""

    def __init__(self, table: FunctionTable) -> None:
        super().__init__(table)
        self.meanwhile: list[Act] = []

    @override
    def apply(self, tenant: str | None, changes: Sequence[Change]) -> Sequence[int | None]:
        acts, self.meanwhile = self.meanwhile, []
        for act in acts:
            act()
        return super().apply(tenant, changes)


class SweeperStage:
    def __init__(self, tenant: str | None = TENANT) -> None:
        registry = MemoryRegistry()  # for its callers, and for what documents do not need
        self.tenant = tenant
        self.clock = registry.clock
        self.caller = registry.make_caller
        self.content = InterruptedContent(FunctionTable())
        self.bucket = MemoryBucket(self.clock)
        timestamps = CountingTimestamps()
        self.skills = Skills(
            content=self.content,
            bodies=self.bucket,
            view=registry.view,
            handlers=registry.skills._handlers,  # pyright: ignore[reportPrivateUsage] - for sections, of which there are none
            access=registry.document_access,
            timestamps=timestamps,
        )
        self.publisher = Publisher(
            content=self.content,
            catalogues=build_catalogue_publisher(self.content),
            bodies=self.bucket,
            timestamps=timestamps,
        )
        self.references = MemoryReferences(self.content)
        self.sweeper = ContentSweeper(
            references=self.references,
            objects=self.bucket,
            clock=self.clock,
            telemetry=Telemetry("sweeper-under-test"),
            ages=RetentionAges(),
        )

    def register(self, skill_id: str, body: str) -> None:
        self.skills.register(skill_id, body, self.caller(self.tenant))

    def unregister(self, skill_id: str) -> None:
        self.skills.unregister(skill_id, self.caller(self.tenant))

    def sweep(self, remaining_ms: Callable[[], int] = lambda: ENOUGH) -> Any:
        return self.sweeper.handle(remaining_ms, "request")

    def days(self, number: int, *, sweeping: bool = True) -> None:
        for _ in range(number):
            self.clock.advance(DAY)
            if sweeping:
                self.sweep()

    def digests(self) -> frozenset[str]:
        return frozenset(digest for skill in self.content.skills(self.tenant) for digest in skill.object_digests)

    def is_kept(self, body: str) -> bool:
        return any(version.key.endswith(digest_of(body)) for version in self.bucket.versions(self.tenant))


def request_with(document: SentDocument, parts: Sequence[str] = ()) -> PublishRequest:
    return PublishRequest([document], None, None, None, prune=False, parts=parts)


@pytest.fixture(params=[TENANT, None], ids=["a tenant", "what is shipped"])
def stage(request: pytest.FixtureRequest) -> SweeperStage:
    return SweeperStage(request.param)


def test_an_unreferenced_body_is_removed_after_the_restore_period(stage: SweeperStage) -> None:
    stage.register("a", "# Old")
    stage.days(50)
    stage.register("a", "# New")
    stage.days(36)
    assert stage.is_kept("# Old")
    stage.days(2)
    assert not stage.is_kept("# Old")
    assert stage.is_kept("# New")


def test_a_body_registered_again_is_kept(stage: SweeperStage) -> None:
    stage.register("a", "# Old")
    stage.register("a", "# New")
    stage.days(30)
    stage.register("a", "# Old")
    stage.register("a", "# New")
    stage.days(30)
    assert stage.is_kept("# Old")


@pytest.mark.invariant(43)
@pytest.mark.parametrize("meanwhile", ["put", "skipped"])
def test_a_body_is_kept_for_a_slow_writer_during_a_sweep(stage: SweeperStage, meanwhile: str) -> None:
    """It has been put again, or was still named when the writer looked."""
    stage.register("a", "# Old")
    if meanwhile == "put":
        stage.unregister("a")
        stage.days(36)
    stage.days(1, sweeping=False)
    stage.content.meanwhile = [lambda: stage.unregister("a"), stage.sweep]
    stage.register("a", "# Old")
    stage.days(40)
    assert stage.is_kept("# Old")


@pytest.mark.invariant(43)
def test_a_body_referenced_briefly_between_two_sweeps_can_be_restored(stage: SweeperStage) -> None:
    """By a part, so that the body was not put again."""
    document = SentDocument("a", digest_of("# A"), "# A")
    part = stage.publisher.keep(request_with(document), stage.tenant)
    stage.days(5)
    stage.publisher.publish(request_with(SentDocument("a", document.digest, None), parts=[part]), stage.tenant)
    stage.unregister("a")
    stage.days(35)
    assert stage.is_kept("# A")


def test_sweeps_that_run_too_seldom_remove_no_body(stage: SweeperStage) -> None:
    stage.register("a", "# Old")
    stage.register("a", "# New")
    for _ in range(10):
        stage.days(7, sweeping=False)
        stage.sweep()
    assert stage.is_kept("# Old")


def test_a_part_is_removed_after_a_week_and_its_bodies_after_the_restore_period(stage: SweeperStage) -> None:
    stage.publisher.keep(request_with(SentDocument("a", digest_of("# A"), "# A")), stage.tenant)
    stage.days(6)
    assert len(stage.bucket.versions(stage.tenant)) == 2
    stage.days(1)
    assert [version.key.endswith(digest_of("# A")) for version in stage.bucket.versions(stage.tenant)] == [True]
    stage.days(31)
    assert stage.bucket.versions(stage.tenant) == []


def test_a_tenant_is_swept_once_a_day(stage: SweeperStage) -> None:
    stage.register("a", "# A")
    assert stage.sweep()["looked_at"] == 1
    assert stage.sweep()["looked_at"] == 0
    stage.clock.advance(DAY)
    assert stage.sweep()["looked_at"] == 1


def test_work_left_by_a_sweep_out_of_time_is_done_by_the_next_one() -> None:
    world = SweeperStage()
    for number in range(250):
        world.bucket.keep(TENANT, f"{number:064x}", b"x")
    world.bucket.keep(None, "0" * 64, b"x")
    world.days(36)
    world.clock.advance(DAY)
    times = iter([ENOUGH] * 4 + [RESERVE_MS] * 10)  # for the shipped one, and for a hundred of the tenant's
    first = world.sweep(lambda: next(times))
    assert (first["looked_at"], first["waiting"]) == (1, 1)
    assert len(world.bucket.versions(TENANT)) == 150
    second = world.sweep()
    assert (second["looked_at"], second["removed"], second["waiting"]) == (1, 150, 0)
    assert world.bucket.versions(TENANT) == []


class BrokenBucket(MemoryBucket):
    @override
    def versions(self, tenant: str | None) -> Sequence[ObjectVersion]:
        if tenant == "broken":
            raise Unavailable("Overloaded.")
        return super().versions(tenant)


def test_a_failure_in_one_tenant_is_raised_after_the_others_are_swept() -> None:
    world = SweeperStage()
    bucket = BrokenBucket(world.clock)
    world.sweeper = ContentSweeper(
        references=world.references,
        objects=bucket,
        clock=world.clock,
        telemetry=Telemetry("sweeper-under-test"),
        ages=RetentionAges(),
    )
    for tenant in ("broken", "other"):
        bucket.keep(tenant, "0" * 64, b"x")
    with pytest.raises(Unavailable):
        world.sweep()
    assert bucket.scopes() == {"broken": 0.0, "other": world.clock.now()}


IDS = st.sampled_from(["a", "b"])
BODIES = st.sampled_from(["# One", "# Two", "# Three"])


class Interleavings(RuleBasedStateMachine):
    """Writers that look, dawdle and write; publications by parts; sweeps on time, late, or out of time."""

    def __init__(self) -> None:
        super().__init__()
        self.world = SweeperStage()
        self.parts: list[tuple[str, SentDocument]] = []
        self.was: list[tuple[float, frozenset[str]]] = []

    @rule(skill_id=IDS, body=BODIES)
    def register(self, skill_id: str, body: str) -> None:
        self.world.register(skill_id, body)

    @rule(skill_id=IDS, body=BODIES, data=st.data())
    def register_slowly(self, skill_id: str, body: str, data: st.DataObject) -> None:
        self.world.content.meanwhile = self._acts(data)
        self.world.register(skill_id, body)

    @rule(skill_id=IDS)
    def unregister(self, skill_id: str) -> None:
        self.world.unregister(skill_id)

    @rule(skill_id=IDS, body=BODIES)
    def send_a_body(self, skill_id: str, body: str) -> None:
        document = SentDocument(skill_id, digest_of(body), body)
        self.parts.append((self.world.publisher.keep(request_with(document), TENANT), document))

    @precondition(lambda self: self.parts)
    @rule(data=st.data())
    def publish_by_a_part(self, data: st.DataObject) -> None:
        """It may be lost by now; then the publisher is told, and nothing changes."""
        name, document = data.draw(st.sampled_from(self.parts))
        self.world.content.meanwhile = self._acts(data)
        named = SentDocument(document.id, document.digest, None)
        self.world.publisher.publish(request_with(named, parts=[name]), TENANT)
        self.world.content.meanwhile = []

    @rule(days=st.sampled_from([1, 2, 5, 36, 40]), sweeping=st.sampled_from([True, True, False]))
    def time_passes(self, days: int, sweeping: bool) -> None:
        for _ in range(days):
            self.world.days(1, sweeping=sweeping)
            self._note()

    @rule(calls=st.integers(0, 4))
    def a_sweep_runs_out_of_time(self, calls: int) -> None:
        times = iter([ENOUGH] * calls)
        self.world.sweep(lambda: next(times, 0))

    def _acts(self, data: st.DataObject) -> list[Act]:
        """Within the time that a registry function has."""
        world = self.world
        kinds = data.draw(st.lists(st.sampled_from(["unregister", "sweep", "wait"]), max_size=4))
        acts: list[Act] = []
        for kind in kinds:
            if kind == "unregister":
                skill_id = data.draw(IDS)
                acts.append(lambda skill_id=skill_id: world.unregister(skill_id))
            else:
                acts.append(world.sweep if kind == "sweep" else lambda: world.clock.advance(LONGEST_REGISTER / 5))
        return acts

    def _note(self) -> None:
        self.was.append((self.world.clock.now(), self.world.digests()))

    @invariant()
    def nothing_that_is_named_is_missing(self) -> None:
        self._note()
        self.was = [(at, digests) for at, digests in self.was if at > self.world.clock.now() - RESTORABLE]
        for _, digests in self.was:  # now, and at every moment that the table can be restored to
            for digest in digests:
                self.world.bucket.read(TENANT, digest)


@pytest.mark.invariant(43)
def test_no_interleaving_removes_a_referenced_body() -> None:
    run_state_machine_as_test(
        Interleavings, settings=settings(max_examples=count_examples(150), stateful_step_count=25)
    )
