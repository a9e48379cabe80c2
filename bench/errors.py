"""The error of a bench that cannot be run."""


class BenchError(Exception):
    """A contender could not be timed."""
