"""The lock of coverage's tracer, which a test of a deadline could leave held for ever."""

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
