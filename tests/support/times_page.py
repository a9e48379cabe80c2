"""Writes the part of docs/testing.md about the time that `make test` takes: python -m tests.support.times_page."""

import json
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from local.prove.records import GENERATED_PARTS
from local.stack import PROJECT
from tests.support.run_report import BUDGETS, LAST_RUN, parse_folder, sum_by_file, sum_by_folder

PAGE = PROJECT / "docs/testing.md"


def insert_times(page: str, run: Any) -> str:
    """Return the page with the times of this run between its marks."""
    return GENERATED_PARTS["docs/testing.md"].replaced(page, describe_times(run))


def describe_times(run: Any) -> str:
    """Return a sentence and a table: the seconds of each folder, its budget, and its longest file."""
    files, folders = sum_by_file(run["tests"]), sum_by_folder(run["tests"])
    counts = Counter(parse_folder(nodeid) for nodeid in run["tests"])
    took = f"{run['wall'] // 60:.0f} min {run['wall'] % 60:.0f} s"
    sentence = (
        f"On {run['date']} {sum(counts.values()):,} tests took {took} in {run['workers']} workers, coverage measured."
    )
    rows = [
        [f"`tests/{name}`", f"{counts[name]:,}", f"{seconds:.0f}", str(BUDGETS.get(name, 0)), _longest(files, name)]
        for name, seconds in sorted(folders.items(), key=lambda entry: -entry[1])
    ]
    return "\n".join(
        [
            sentence,
            "By folder, in seconds of a worker, beside the budget that the run compares with:",
            "",
            "| folder | tests | seconds | budget | longest file |",
            "|---|---|---|---|---|",
            *(f"| {' | '.join(row)} |" for row in rows),
            "",
        ]
    )


def _longest(files: Mapping[str, float], folder: str) -> str:
    seconds, file = max((seconds, file) for file, seconds in files.items() if parse_folder(file) == folder)
    return f"`{Path(file).name}`, {seconds:.0f} s"


if __name__ == "__main__":
    last = json.loads(LAST_RUN.read_text())
    if not last["is_whole"]:
        sys.exit("The last run had not all tests; run make test.")
    PAGE.write_text(insert_times(PAGE.read_text(), last))
