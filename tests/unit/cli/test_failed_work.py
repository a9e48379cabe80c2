"""Runs that the worker has given up are looked at once more, and none is lost on the way."""

import pytest

from signpost.cli.failed_work import WorkRetry
from signpost.errors import Unavailable
from tests.unit.cli.test_deliveries import FakeDeadLetters, FakeQueue


def test_failed_work_goes_back_to_its_queue() -> None:
    failed, work = FakeDeadLetters("a", "b"), FakeQueue()
    assert WorkRetry(failed, work).run(dry=False) == 2
    assert (work.put_in, failed.left) == (["a", "b"], [])


def test_a_dry_run_counts_and_moves_nothing() -> None:
    failed, work = FakeDeadLetters("a", "b"), FakeQueue()
    assert WorkRetry(failed, work).run(dry=True) == 2
    assert (work.put_in, failed.left) == ([], ["a", "b"])


def test_wakes_that_cannot_be_sent_stay_in_their_queue() -> None:
    failed, work = FakeDeadLetters("a", "b"), FakeQueue(1)
    with pytest.raises(Unavailable):
        WorkRetry(failed, work).run(dry=False)
    assert (work.put_in, failed.left) == (["a"], ["b"])
