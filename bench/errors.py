"""Why a bench could not be run."""


class BenchError(Exception):
    """A contender could not be timed."""
