"""Formats the report of a proof, and its table in docs/benchmarks.md."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from local.marked_part import MarkedPart

if TYPE_CHECKING:
    from local.prove.records import Record

PAGE = "docs/benchmarks.md"
TABLE = MarkedPart("<!-- prove: filled by `python -m local.prove --page` -->", "<!-- /prove -->")


def format_report(records: Sequence["Record"], missing: Sequence[str], sources: str) -> str:
    """Format a table with a row for each part, then lists of the failed and the skipped tests."""
    lines = [
        "# The last `make prove`", "", _verdict(records, missing), "", f"Sources: `{sources[:16]}`", "",
        "| part | tests | failures | skipped | seconds | date | |", "|---|---|---|---|---|---|---|",
    ]  # fmt: skip
    for record in records:
        cells = _count_cells(record.outcome.tests, len(record.outcome.failed), len(record.outcome.skipped))
        state = _state(record, sources)
        lines.append(f"| {record.part} | {cells} | {record.outcome.seconds:.0f} | {record.date} | {state} |")
    lines += [f"| {part} | | | | | | not run |" for part in missing]
    lines += _section("Failures", [test for record in records for test in record.outcome.failed])
    lines += _section("Skipped", [test for record in records for test in record.outcome.skipped])
    return "\n".join([*lines, ""])


def format_table(records: Sequence["Record"], missing: Sequence[str]) -> str:
    """Format the table of docs/benchmarks.md, with a row for each folder of tests."""
    if not records:
        return "No part has run yet.\n"
    dates = sorted(record.date for record in records)
    lines = [
        f"{_verdict(records, missing)} It ran from {dates[0]} to {dates[-1]}.", "",
        "| | parts | tests | failures | skipped | minutes |", "|---|---|---|---|---|---|",
    ]  # fmt: skip
    for folder in dict.fromkeys(record.folder for record in records):
        outcomes = [record.outcome for record in records if record.folder == folder]
        counts = (sum(len(outcome.failed) for outcome in outcomes), sum(len(outcome.skipped) for outcome in outcomes))
        cells = _count_cells(sum(outcome.tests for outcome in outcomes), *counts)
        minutes = sum(outcome.seconds for outcome in outcomes) / 60
        lines.append(f"| {folder} | {len(outcomes)} | {cells} | {minutes:.1f} |")
    return "\n".join([*lines, ""])


def _verdict(records: Sequence["Record"], missing: Sequence[str]) -> str:
    tests = sum(record.outcome.tests for record in records)
    failed = [record.part for record in records if not record.has_passed]
    hours = sum(record.outcome.seconds for record in records) / 3600
    extent = f"{tests:,} tests in {len(records)} parts, {hours:.1f} hours"
    if failed:
        return f"**Failed**: {', '.join(failed)}. {extent}."
    if missing:
        return f"**Incomplete**: {len(missing)} parts have not passed with these sources. {extent}."
    return f"**All parts passed**: {extent}."


def _state(record: "Record", sources: str) -> str:
    if not record.has_passed:
        return "FAILED"
    return "passed" if record.holds_for(sources) else "passed with other sources"


def _count_cells(tests: int, failed: int, skipped: int) -> str:
    return f"{tests:,} | {failed} | {skipped}"


def _section(title: str, lines: Sequence[str]) -> Sequence[str]:
    return ["", f"## {title}", "", *(f"- {line}" for line in lines)] if lines else []
