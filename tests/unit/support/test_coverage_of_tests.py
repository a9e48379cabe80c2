"""Coverage in the processes of tests."""

import sys
import threading

import pytest
from coverage import Coverage


def test_the_tracer_of_a_test_process_has_no_lock() -> None:
    measurement = Coverage.current()
    if measurement is None:
        pytest.skip("this run measures no coverage")
    assert vars(measurement)["_collector"].data_lock is None


@pytest.mark.no_cover
def test_a_test_that_is_marked_for_it_is_not_traced() -> None:
    assert sys.gettrace() is None
    assert threading.gettrace() is None
