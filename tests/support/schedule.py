"""The order in which workers take the files of a run: the longest first, so that no worker works alone at the end.

`python -m tests.support.schedule` stores the times of the last run for the next one.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from local.stack import PROJECT
from tests.support.run_report import LAST_RUN, by_file, file_of

SECONDS = Path(__file__).parents[1] / "seconds.json"
"""The seconds of the longest files when `python -m tests.support.schedule` was last run."""
WORTH_A_LINE = 3.0
UNKNOWN = 2.0
"""Seconds assumed for a file that the table does not have."""


def sort_by_length(items: list[pytest.Item]) -> None:
    """Sort whole files; within a file tests keep their order."""
    known = table()
    items.sort(key=lambda item: (-known.get(file_of(item.nodeid), UNKNOWN), file_of(item.nodeid)))


def table() -> Mapping[str, float]:
    """Return the seconds by file."""
    return json.loads(SECONDS.read_text()) if SECONDS.exists() else {}


def longest(seconds: Mapping[str, float]) -> Iterable[tuple[str, int]]:
    files = sorted(seconds.items(), key=lambda entry: (-round(entry[1]), entry[0]))
    return ((file, round(taken)) for file, taken in files if taken >= WORTH_A_LINE)


def keep_last_run() -> None:
    """Update the files of the last run in the table."""
    measured = by_file(json.loads(LAST_RUN.read_text())["tests"])
    known = {file: seconds for file, seconds in table().items() if file not in measured and (PROJECT / file).exists()}
    SECONDS.write_text(json.dumps(dict(longest({**known, **measured})), indent=0) + "\n")


if __name__ == "__main__":
    keep_last_run()
