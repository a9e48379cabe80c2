"""The alarm that ends a request at its deadline."""

import signal
import time

import pytest

from signpost.adapters.alarm import alarm
from signpost.errors import DeadlinePassed


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


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_deadline_that_passes_in_a_destructor_is_raised_after_it() -> None:
    def destroy() -> None:
        destroyed = SlowDestructor()
        del destroyed
        spin(60)

    with pytest.raises(DeadlinePassed), alarm(0.02):
        destroy()


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
