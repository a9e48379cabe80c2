"""Runs that the worker has given up are looked at once more, and none is lost on the way."""

import pytest

from signpost.cli.failed_work import WorkRetry
from signpost.errors import Unavailable
from tests.unit.cli.test_deliveries import Given, Queue


def test_what_the_worker_gave_up_goes_back_to_its_queue() -> None:
    failed, work = Given("a", "b"), Queue()
    assert WorkRetry(failed, work).run(dry=False) == 2
    assert (work.put_in, failed.left) == (["a", "b"], [])


def test_a_dry_run_counts_and_leaves_everything() -> None:
    failed, work = Given("a", "b"), Queue()
    assert WorkRetry(failed, work).run(dry=True) == 2
    assert (work.put_in, failed.left) == ([], ["a", "b"])


def test_what_cannot_be_sent_stays_where_it_was() -> None:
    failed, work = Given("a", "b"), Queue(1)
    with pytest.raises(Unavailable):
        WorkRetry(failed, work).run(dry=False)
    assert (work.put_in, failed.left) == (["a"], ["b"])
