"""A promise of seconds is lengthened by as much as the machine is slower, and by no more."""

import multiprocessing
import os
import time

import pytest

from tests.support.slowdown import ATTEMPTS, MAX_SLOWDOWN, SlowdownMeter, shortest
from tests.support.waiting import wait_for, wait_within

BUSY_PROCESSES = (os.cpu_count() or 1) * 2


def spin(seconds: float) -> None:
    ends_at = time.monotonic() + seconds
    while time.monotonic() < ends_at:
        pass


def test_a_second_is_longer_on_a_busy_machine() -> None:
    others = [multiprocessing.Process(target=spin, args=(3.0,)) for _ in range(BUSY_PROCESSES)]
    for other in others:
        other.start()
    with SlowdownMeter() as machine:
        time.sleep(1.5)
    for other in others:
        other.kill()
        other.join()
    assert 1.2 < machine.slowdown <= MAX_SLOWDOWN
    assert machine.extend(2.0) == 2.0 * machine.slowdown


def measure_extra_slowdown() -> float:
    """Return by how much more a test that works is slowed down than one that waits."""
    with SlowdownMeter() as alone:
        time.sleep(1.0)
    with SlowdownMeter() as working:
        spin(1.0)
    return working.slowdown - alone.slowdown


def test_the_work_of_the_test_itself_is_not_measured() -> None:
    """Other work may begin in the middle of an attempt."""
    assert any(measure_extra_slowdown() < 1.0 for _ in range(ATTEMPTS))


def test_one_attempt_that_keeps_the_promise_is_enough() -> None:
    times = iter([9.0, 0.5])
    assert shortest(lambda: next(times), promised=1.0) <= 0.5


def test_a_promise_that_every_attempt_breaks_is_broken() -> None:
    times = iter([9.0, 8.0, 9.5])
    assert shortest(lambda: next(times), promised=8.0 / MAX_SLOWDOWN) >= 8.0 / MAX_SLOWDOWN
    assert list(times) == []
    assert ATTEMPTS == 3


def test_an_unmet_expectation_is_reported_with_the_last_value() -> None:
    with pytest.raises(AssertionError, match=r"Waited 0\.2 s for the key to be refused; saw last: 200"):
        wait_for("the key to be refused", lambda: 200, lambda status: status == 401, patience=0.2)


def test_a_check_that_begins_after_the_promised_seconds_still_counts() -> None:
    """However long a look takes: a slow machine is no broken promise."""
    looks = iter(["before", "after"])

    def look() -> str:
        time.sleep(0.1)
        return next(looks)

    assert wait_within(0.15, "the change", look, lambda seen: seen == "after") == "after"
