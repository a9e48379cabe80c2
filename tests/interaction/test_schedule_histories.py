"""Random histories of schedules: clocks that go back, crashes, publications, switches and messages at any time."""

from collections import Counter
from datetime import UTC, datetime
from typing import Any, override

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from signpost.adapters.memory.timetables import MemoryTimetables
from signpost.errors import Unavailable
from signpost.workflow.timetable import Timetable
from tests.support.effort import count_repetitions
from tests.support.memory_gateway import ManualClock
from tests.support.scheduled_gateway import TENANT, ScheduledGateway

pytestmark = pytest.mark.no_cover

START = datetime(2026, 10, 24, 22, tzinfo=UTC)
"""Three hours before the clock is set back in Berlin."""
STATES = {"open": {"transitions": {"close": {"target": "done"}}}, "done": {"terminal": True}}
WORKFLOWS = {"report": {"initialState": "open", "states": STATES}}
SCHEDULES: Any = {
    "hourly": {"workflow": "report", "cron": "0 * * * *", "timezone": "Europe/Berlin"},
    "steady": {"workflow": "report", "rate": "25 minutes"},
    "nightly": {"workflow": "report", "cron": "30 2 * * *", "timezone": "Europe/Berlin"},
}
EVENTS = st.lists(
    st.one_of(
        st.tuples(st.just("advance"), st.sampled_from([1, 59, 60, 600, 3_600, 40_000, -1, -61, -4_000])),
        st.tuples(st.sampled_from(["sweep", "look", "look twice", "publish"]), st.just(0)),
        st.tuples(st.sampled_from(["off", "on", "lose the save", "change"]), st.sampled_from([0, 1, 2])),
    ),
    min_size=1,
    max_size=40,
)


class FailingTimetables(MemoryTimetables):
    """Loses saves: the worker dies before them, and the row stays as it is."""

    lost = 0

    @override
    def save(self, tenant: str, timetable: Timetable, *, replacing: int) -> bool:
        if self.lost:
            self.lost -= 1
            raise Unavailable("The worker died.")
        return super().save(tenant, timetable, replacing=replacing)


class History:
    def __init__(self) -> None:
        self.timetables = FailingTimetables(ManualClock())
        self.world = ScheduledGateway(START, self.timetables)
        self.schedules: dict[str, Any] = dict(SCHEDULES)
        self.latest = self.world.clock.now()
        self.publish()

    def publish(self) -> None:
        self.world.publish(workflows=WORKFLOWS, schedules=self.schedules)

    def play(self, event: str, number: int) -> None:
        name = sorted(SCHEDULES)[number % len(SCHEDULES)]
        match event:
            case "advance":
                self.world.clock.advance(number)
            case "sweep":
                self.world.sweep()
                self.world.work()
            case "look" | "look twice":
                for _ in range(1 + (event == "look twice")):
                    self.world.look()
            case "publish":
                self.publish()
            case "off" | "on":
                self.world.switch(name, enabled=event == "on")
            case "lose the save":
                self.timetables.lost = 1
                self.world.look()
            case _:
                self.schedules[name] = {**self.schedules[name], "description": str(self.world.clock.now())}
                self.publish()
        self.latest = max(self.latest, self.world.clock.now())


@pytest.mark.invariant(135)
@given(EVENTS)
@settings(max_examples=count_repetitions(15, 2_000), suppress_health_check=[HealthCheck.too_slow])
def test_each_occasion_starts_one_run_in_any_history(events: list[tuple[str, int]]) -> None:
    history = History()
    world = history.world
    for event, number in events:
        history.play(event, number)
    history.timetables.lost = 0
    for name in SCHEDULES:
        world.switch(name, enabled=True)
    world.clock.advance(history.latest - world.clock.now() + 1)
    before = Counter(run.started_by for run in world.runs)
    for _ in range(36):
        world.clock.advance(3_600)
        world.sweep()
        assert world.work() == []
    found = Counter(run.started_by for run in world.runs)
    assert all(found[f"schedule:{name}"] - before[f"schedule:{name}"] >= least for name, least in LEAST.items())
    assert all(found[f"schedule:{name}"] - before[f"schedule:{name}"] <= 37 for name in SCHEDULES)
    timetable = world.timetables.load(TENANT)
    assert timetable is not None
    assert timetable.due_at is not None
    assert timetable.due_at > world.clock.now()


LEAST = {"hourly": 34, "steady": 35, "nightly": 1}
"""Runs in 36 hours of sweeps. The repeated hour has no occasion of a cron expression."""
