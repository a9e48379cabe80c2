"""The order in which workers take the files of a run: the longest first, so that no worker works alone at the end.

`python -m tests.support.schedule` stores the times of the last run for the next one.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from local.stack import PROJECT
from tests.support.run_report import LAST_RUN, parse_file, sum_by_file

SECONDS_FILE = Path(__file__).parents[1] / "seconds.json"
"""The seconds of the longest files when `python -m tests.support.schedule` was last run."""
MIN_SECONDS = 3.0
UNKNOWN_SECONDS = 2.0
"""Seconds assumed for a file that the table does not have."""


def sort_by_length(items: list[pytest.Item]) -> None:
    """Sort whole files; within a file tests keep their order."""
    known = read_seconds()
    items.sort(key=lambda item: (-known.get(parse_file(item.nodeid), UNKNOWN_SECONDS), parse_file(item.nodeid)))


def read_seconds() -> Mapping[str, float]:
    """Return the seconds by file."""
    return json.loads(SECONDS_FILE.read_text()) if SECONDS_FILE.exists() else {}


def select_longest(seconds: Mapping[str, float]) -> Iterable[tuple[str, int]]:
    files = sorted(seconds.items(), key=lambda entry: (-round(entry[1]), entry[0]))
    return ((file, round(taken)) for file, taken in files if taken >= MIN_SECONDS)


def store_last_run() -> None:
    """Update the files of the last run in the table."""
    measured = sum_by_file(json.loads(LAST_RUN.read_text())["tests"])
    known = {
        file: seconds for file, seconds in read_seconds().items() if file not in measured and (PROJECT / file).exists()
    }
    SECONDS_FILE.write_text(json.dumps(dict(select_longest({**known, **measured})), indent=0) + "\n")


if __name__ == "__main__":
    store_last_run()
