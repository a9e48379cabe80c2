"""What coverage may not do in tests: hold its lock at a deadline, and trace tests that are marked `no_cover`."""

import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager

from coverage import Coverage


def drop_coverage_lock() -> None:
    """Let the tracer of this process record without its lock.

    A deadline raises an exception wherever the main thread is, and that may be inside of the tracer. The tracer would
    then keep its lock, and wait for itself at the next module. Its data are sets in a dict, whose single operations
    threads may do at once.
    """
    measurement = Coverage.current()
    collector = getattr(measurement, "_collector", None)
    if collector is not None:
        collector.data_lock = None


@contextmanager
def untraced() -> Generator[None]:
    """Trace nothing meanwhile.

    pytest-cov starts two measurements in each worker of pytest-xdist, and `no_cover` pauses only the second: the first
    one continues then, which is as slow.
    """
    of_this_thread, of_new_threads = sys.gettrace(), threading.gettrace()
    sys.settrace(None)
    threading.settrace(None)  # pyright: ignore[reportArgumentType] - None ends it, as its documentation says
    try:
        yield
    finally:
        threading.settrace(of_new_threads)  # pyright: ignore[reportArgumentType] - as above
        sys.settrace(of_this_thread)
