"""The alarm that ends a request at its deadline."""

import gc
import signal
import sys
import time
import weakref
from collections.abc import Callable

import pytest
from rpds import HashTrieMap

from signpost.adapters import alarm as alarm_module
from signpost.adapters.alarm import alarm
from signpost.errors import DeadlinePassed
from signpost.toolkit import deadline as deadline_module
from signpost.toolkit.deadline import DeadlineTimer


class SlowDestructor:
    """Takes until after the deadline to be destroyed."""

    def __del__(self) -> None:
        spin(0.1)


def spin(seconds: float) -> None:
    ends_at = time.monotonic() + seconds
    while time.monotonic() < ends_at:
        pass


def test_work_is_ended_at_the_deadline() -> None:
    with pytest.raises(DeadlinePassed), alarm(0.02):
        spin(60)


def destroy() -> None:
    destroyed = SlowDestructor()
    del destroyed


def destroy_in_map() -> None:
    kept = HashTrieMap({"a": SlowDestructor()})
    del kept


def call_back() -> None:
    referred = {SlowDestructor}
    reference = weakref.ref(referred, lambda _: spin(0.1))
    del referred
    assert reference() is None


def collect() -> None:
    circle: list[object] = [SlowDestructor()]
    circle.append(circle)
    del circle
    gc.collect()


def run_with_alarm(act: Callable[[], None]) -> None:
    with alarm(0.02):
        act()


def run_with_timer(act: Callable[[], None]) -> None:
    DeadlineTimer().run_within(time.monotonic() + 0.02, act)


@pytest.fixture
def dropped(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The exceptions that Python reports as dropped. No deadline is raised twice by the interval of its timer."""
    reported = list[object]()

    def report(dropped: "sys.UnraisableHookArgs") -> None:
        reported.append(dropped.exc_value)

    monkeypatch.setattr(sys, "unraisablehook", report)
    monkeypatch.setattr(alarm_module, "AGAIN_AFTER", 60.0)
    monkeypatch.setattr(deadline_module, "REPEAT_AFTER", 60.0)
    return reported


DROPS = (destroy, destroy_in_map, call_back, collect)
RUNS = (run_with_alarm, run_with_timer)


@pytest.mark.parametrize("drop", DROPS)
@pytest.mark.parametrize("run", RUNS)
def test_a_deadline_that_python_drops_is_raised_again_at_once_and_not_reported(
    run: Callable[[Callable[[], None]], None], drop: Callable[[], None], dropped: list[object]
) -> None:
    began = time.monotonic()

    def work() -> None:
        drop()
        spin(10)

    with pytest.raises(DeadlinePassed):
        run(work)
    assert time.monotonic() - began < 5
    assert dropped == []


@pytest.mark.parametrize("run", RUNS)
def test_other_exceptions_that_python_drops_are_reported_as_before(
    run: Callable[[Callable[[], None]], None], dropped: list[object]
) -> None:
    class Failing:
        def __init__(self, fault: BaseException) -> None:
            self.fault = fault

        def __del__(self) -> None:
            raise self.fault

    before, faults = sys.unraisablehook, [ValueError("theirs"), DeadlinePassed()]

    def fail() -> None:
        for fault in faults:
            Failing(fault)

    run(fail)
    assert dropped == faults
    assert sys.unraisablehook is before


def test_a_hook_that_code_installs_before_its_deadline_stays(dropped: list[object]) -> None:
    def report(_: object) -> None: ...

    with alarm(60):
        sys.unraisablehook = report
    assert sys.unraisablehook is report
    assert dropped == []


def test_the_nearer_of_two_deadlines_counts() -> None:
    with pytest.raises(DeadlinePassed), alarm(0.02), alarm(60):
        spin(60)
    with alarm(60):
        with pytest.raises(DeadlinePassed), alarm(0.02):
            spin(60)
        spin(0.2)


def test_the_outer_deadline_counts_after_the_inner_one() -> None:
    def work() -> None:
        with alarm(60):
            pass
        spin(60)

    with pytest.raises(DeadlinePassed), alarm(0.05):
        work()


def test_no_alarm_fires_after_its_block() -> None:
    before = signal.getsignal(signal.SIGALRM)
    with pytest.raises(DeadlinePassed), alarm(0.02):
        spin(60)
    spin(0.3)
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)
    assert signal.getsignal(signal.SIGALRM) is before


def test_the_timer_of_other_code_goes_on_after_an_alarm() -> None:
    rung = list[int]()
    before = signal.signal(signal.SIGALRM, lambda number, _frame: rung.append(number))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with alarm(60):
            assert rung == []
        spin(0.2)
        assert rung == [signal.SIGALRM]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_an_alarm_inside_the_timer_of_other_code_ends_with_that_timer() -> None:
    before = signal.signal(signal.SIGALRM, signal.SIG_IGN)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(DeadlinePassed), alarm(60):
            spin(60)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
