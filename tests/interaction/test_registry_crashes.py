"""A writer of the registry that is killed before and after every call of a port, with the real rules on stores in
memory. `tests/contract/test_content_interruptions.py` kills a store between its writes, and `tests/e2e/test_crashes.py`
the deployed function."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pytest

from signpost.adapters.memory import FunctionTable, MemoryBucket, MemoryContentStore, MemoryReferences
from signpost.catalogue.publishing.publisher import Publisher
from signpost.catalogue.publishing.request import PublishRequest, parse_request
from signpost.content.digests import digest_of
from signpost.content.documents import Skills
from signpost.content.retention import DAY, RetentionAges
from signpost.entrypoints.sweeper import RESERVE_MS, ContentSweeper
from signpost.telemetry import Telemetry
from tests.support.catalogues import build_catalogue_publisher
from tests.support.crash_points import NEVER, CrashPoints, ProcessKilled
from tests.support.registry import TENANT, CountingTimestamps, MemoryRegistry

OLD, NEW = "# Old", "# New"
LONGER_THAN_KEPT = 40
"""Days after which an object that no row names is gone."""
PROMPTS = [f"prompt-{number}" for number in range(3)]


class CrashStage:
    """What the processes of one tenant share: its rows, its objects and the clock."""

    def __init__(self) -> None:
        self._registry = MemoryRegistry()
        self.content = MemoryContentStore(FunctionTable())
        self.bucket = MemoryBucket(self._registry.clock)
        self._sweeper = ContentSweeper(
            references=MemoryReferences(self.content),
            objects=self.bucket,
            clock=self._registry.clock,
            telemetry=Telemetry("sweeper-under-test"),
            ages=RetentionAges(),
        )
        self.register("a", OLD, CrashPoints())

    def register(self, skill_id: str, body: str, points: CrashPoints) -> object:
        return self._skills(points).register(skill_id, body, self._registry.make_caller())

    def unregister(self, skill_id: str, points: CrashPoints) -> object:
        return self._skills(points).unregister(skill_id, self._registry.make_caller())

    def publish(self, manifest: Mapping[str, Any], points: CrashPoints) -> object:
        content = points.wrap_port(self.content)
        publisher = Publisher(
            content=content,
            catalogues=build_catalogue_publisher(content),
            bodies=points.wrap_port(self.bucket),
            timestamps=CountingTimestamps(),
        )
        sent = parse_request(manifest)
        assert isinstance(sent, PublishRequest), sent
        return publisher.publish(sent, TENANT)

    def _skills(self, points: CrashPoints) -> Skills:
        return Skills(
            content=points.wrap_port(self.content),
            bodies=points.wrap_port(self.bucket),
            view=self._registry.view,
            handlers=self._registry.skills._handlers,  # pyright: ignore[reportPrivateUsage] - of sections: here are none
            access=self._registry.document_access,
            timestamps=CountingTimestamps(),
        )

    def sweep_for(self, days: int) -> None:
        for _ in range(days):
            self._registry.clock.advance(DAY)
            self._sweeper.handle(lambda: 10 * RESERVE_MS, "request")

    @property
    def visible(self) -> tuple[Mapping[str, str], Sequence[str]]:
        """Every listed document as it is read, and every prompt."""
        skills = self.content.skills(TENANT)
        bodies = {skill.id: self.bucket.read(TENANT, skill.digest).decode() for skill in skills}
        return bodies, [prompt.name for prompt in self.content.prompts(TENANT)]

    @property
    def told(self) -> Sequence[tuple[str, str]]:
        return [(event.op, event.key) for event in self.content.events]

    def has_object(self, body: str) -> bool:
        return any(version.key.endswith(digest_of(body)) for version in self.bucket.versions(TENANT))


@dataclass(frozen=True, slots=True)
class Writing:
    write: Callable[[CrashStage, CrashPoints], object]
    after: tuple[Mapping[str, str], Sequence[str]]
    events: Sequence[tuple[str, str]]


BEFORE: tuple[Mapping[str, str], Sequence[str]] = ({"a": OLD}, [])
PUBLICATION = {
    "skills": [{"id": "b", "skill": NEW}],
    "prompts": [{"name": name, "description": "Writes.", "function_id": "mail::letter"} for name in PROMPTS],
    "prune": True,
}
WRITINGS = {
    "a registration": Writing(lambda world, at: world.register("a", NEW, at), ({"a": NEW}, []), [("register", "a")]),
    "a removal": Writing(lambda world, at: world.unregister("a", at), ({}, []), [("unregister", "a")]),
    "a publication": Writing(
        lambda world, at: world.publish(PUBLICATION, at),
        ({"b": NEW}, PROMPTS),
        [("register", "b"), *(("register", name) for name in PROMPTS), ("unregister", "a")],
    ),
}


@pytest.mark.invariant(42)
@pytest.mark.parametrize("kind", WRITINGS)
def test_a_writer_killed_at_any_call_has_written_all_rows_and_events_or_none(kind: str) -> None:
    writing, happened = WRITINGS[kind], list[bool]()
    for at in range(NEVER):
        world, points = CrashStage(), CrashPoints(at)
        with suppress(ProcessKilled):
            writing.write(world, points)
        if not points.was_reached:
            break
        happened.append(world.visible == writing.after)
        seen, told = (writing.after, writing.events) if happened[-1] else (BEFORE, ())
        assert (world.visible, world.told) == (seen, [("register", "a"), *told])
        world.sweep_for(LONGER_THAN_KEPT)
        assert world.visible == seen
        assert world.has_object(NEW) == (NEW in seen[0].values())  # what the dead writer left behind is gone
        writing.write(world, CrashPoints())
        assert world.visible == writing.after
    assert happened == sorted(happened)  # nothing up to some call, and everything from there on
    assert {*happened} == {False, True}
