"""The order in which workers take the files of a run: the longest first, so that no worker works alone at the end.

`python -m tests.support.schedule` keeps what the last run took for the next one.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from local.stack import PROJECT
from tests.support.run_report import LAST_RUN, by_file, file_of

SECONDS = Path(__file__).parents[1] / "seconds.json"
"""How long the files took that take longest, when `python -m tests.support.schedule` was last run."""
WORTH_A_LINE = 3.0
UNKNOWN = 2.0
"""Seconds that a file is taken for which the table does not name."""


def sort_by_length(items: list[pytest.Item]) -> None:
    """Sorts whole files; within a file tests keep their order."""
    known = table()
    items.sort(key=lambda item: (-known.get(file_of(item.nodeid), UNKNOWN), file_of(item.nodeid)))


def table() -> Mapping[str, float]:
    """Seconds by file."""
    return json.loads(SECONDS.read_text()) if SECONDS.exists() else {}


def longest(seconds: Mapping[str, float]) -> Iterable[tuple[str, int]]:
    files = sorted(seconds.items(), key=lambda one: (-round(one[1]), one[0]))
    return ((file, round(taken)) for file, taken in files if taken >= WORTH_A_LINE)


def keep_last_run() -> None:
    """Brings the files that the last run had up to date in the table."""
    found = by_file(json.loads(LAST_RUN.read_text())["tests"])
    known = {file: seconds for file, seconds in table().items() if file not in found and (PROJECT / file).exists()}
    SECONDS.write_text(json.dumps(dict(longest({**known, **found})), indent=0) + "\n")


if __name__ == "__main__":
    keep_last_run()
