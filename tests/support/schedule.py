"""The order in which workers take the files of a run: the longest first, so that no worker works alone at the end."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from tests.support.run_report import LAST_RUN, by_file, file_of

SECONDS = Path(__file__).parents[1] / "seconds.json"
"""How long the files took that take longest, when `python -m tests.support.schedule` was last run."""
WORTH_A_LINE = 3.0
UNKNOWN = 2.0
"""Seconds that a file is taken for which the table does not name."""


def sort_by_length(items: list[pytest.Item]) -> None:
    """Sorts whole files; within a file tests keep their order."""
    known: Mapping[str, float] = json.loads(SECONDS.read_text()) if SECONDS.exists() else {}
    items.sort(key=lambda item: (-known.get(file_of(item.nodeid), UNKNOWN), file_of(item.nodeid)))


def longest(seconds: Mapping[str, float]) -> Iterable[tuple[str, int]]:
    files = sorted(by_file(seconds).items(), key=lambda one: (-round(one[1]), one[0]))
    return ((file, round(taken)) for file, taken in files if taken >= WORTH_A_LINE)


def keep_last_run() -> None:
    """Writes the table from what the last run took."""
    found = json.loads(LAST_RUN.read_text())["tests"]
    SECONDS.write_text(json.dumps(dict(longest(found)), indent=0) + "\n")


if __name__ == "__main__":
    keep_last_run()
