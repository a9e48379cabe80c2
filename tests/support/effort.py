"""The effort of a run: `make test` checks each promise once, `make prove` checks it exhaustively."""

import os

PROVE = "SIGNPOST_PROVE"
"""The environment variable that `make prove` sets to 1."""


def is_proof() -> bool:
    return os.environ.get(PROVE) == "1"


def count_examples(usually: int) -> int:
    """Return the number of generated examples in this run: ten times as many in `make prove`."""
    return count_repetitions(usually, 10 * usually)


def count_repetitions(usually: int, proof: int) -> int:
    """Return the number of repetitions in this run: `usually` in `make test`, `proof` in `make prove`."""
    return proof if is_proof() else usually
