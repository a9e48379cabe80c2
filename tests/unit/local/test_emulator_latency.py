"""When changes take effect in an emulator that was started with a latency."""

from pathlib import Path

from local.emulator_latency import Latency, Timeline, Timelines
from tests.support.memory_gateway import ManualClock


def test_a_value_is_the_newest_that_was_seen_by_a_moment() -> None:
    timeline = Timeline[str]()
    for now, value in ((1.0, "a"), (2.0, "a"), (3.0, "b")):
        timeline.note(now, value)
    assert [timeline.value_at(moment) for moment in (0.9, 1.0, 2.9, 3.0)] == [None, "a", "a", "b"]


def test_a_change_takes_effect_after_its_seconds_and_the_value_before_holds_until_then() -> None:
    clock = ManualClock()
    permissions = Timelines[str, str](lambda: 5.0, clock.now)
    assert permissions.effective("role", "read") is None
    clock.advance(5.0)
    assert permissions.effective("role", "read and write") == "read"
    clock.advance(4.9)
    assert permissions.effective("role", "read and write") == "read"
    clock.advance(0.1)
    assert permissions.effective("role", "read and write") == "read and write"
    assert permissions.effective("another role", "read") is None


def test_without_seconds_a_change_takes_effect_at_once() -> None:
    assert Timelines[str, str](lambda: 0.0, ManualClock().now).effective("role", "read") == "read"


def test_a_latency_is_read_as_it_was_written(tmp_path: Path) -> None:
    latency = Latency(permissions=6.0, mappings=30.0)
    latency.write(tmp_path / "latency.json")
    assert Latency.read(tmp_path / "latency.json") == latency
