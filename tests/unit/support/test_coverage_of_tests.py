"""Coverage in the processes of tests."""

import pytest
from coverage import Coverage


def test_the_tracer_of_a_test_process_has_no_lock() -> None:
    measurement = Coverage.current()
    if measurement is None:
        pytest.skip("this run measures no coverage")
    assert vars(measurement)["_collector"].data_lock is None
