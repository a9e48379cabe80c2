"""The report of a proof, and the table of it in docs/benchmarks.md."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from local.marked_part import MarkedPart

if TYPE_CHECKING:
    from local.prove.records import Record

PAGE = "docs/benchmarks.md"
TABLE = MarkedPart("<!-- prove: filled by `python -m local.prove --page` -->", "<!-- /prove -->")


def report(records: Sequence["Record"], missing: Sequence[str], sources: str) -> str:
    """A row for each part, then what failed and what was skipped."""
    lines = [
        "# The last `make prove`", "", _verdict(records, missing), "", f"Sources: `{sources[:16]}`", "",
        "| part | tests | failures | skipped | seconds | date | |", "|---|---|---|---|---|---|---|",
    ]  # fmt: skip
    for record in records:
        numbers = _numbers(record.outcome.tests, len(record.outcome.failed), len(record.outcome.skipped))
        state = _state(record, sources)
        lines.append(f"| {record.part} | {numbers} | {record.outcome.seconds:.0f} | {record.date} | {state} |")
    lines += [f"| {part} | | | | | | not run |" for part in missing]
    lines += _listed("Failures", [test for record in records for test in record.outcome.failed])
    lines += _listed("Skipped", [test for record in records for test in record.outcome.skipped])
    return "\n".join([*lines, ""])


def page(records: Sequence["Record"], missing: Sequence[str]) -> str:
    """A row for each folder of tests."""
    if not records:
        return "None has run yet.\n"
    dates = sorted(record.date for record in records)
    lines = [
        f"{_verdict(records, missing)} It ran from {dates[0]} to {dates[-1]}.", "",
        "| | parts | tests | failures | skipped | minutes |", "|---|---|---|---|---|---|",
    ]  # fmt: skip
    for folder in dict.fromkeys(record.folder for record in records):
        some = [record.outcome for record in records if record.folder == folder]
        counts = (sum(len(one.failed) for one in some), sum(len(one.skipped) for one in some))
        numbers = _numbers(sum(one.tests for one in some), *counts)
        lines.append(f"| {folder} | {len(some)} | {numbers} | {sum(one.seconds for one in some) / 60:.1f} |")
    return "\n".join([*lines, ""])


def _verdict(records: Sequence["Record"], missing: Sequence[str]) -> str:
    tests = sum(record.outcome.tests for record in records)
    bad = [record.part for record in records if not record.has_passed]
    ran = f"{tests:,} tests in {len(records)} parts, {sum(one.outcome.seconds for one in records) / 3600:.1f} hours"
    if bad:
        return f"**It failed**: {', '.join(bad)}. {ran}."
    if missing:
        return f"**It is not finished**: {len(missing)} parts have not passed with these sources. {ran}."
    return f"**It passed whole**: {ran}."


def _state(record: "Record", sources: str) -> str:
    if not record.has_passed:
        return "FAILED"
    return "passed" if record.holds_for(sources) else "of other sources"


def _numbers(tests: int, failed: int, skipped: int) -> str:
    return f"{tests:,} | {failed} | {skipped}"


def _listed(title: str, lines: Sequence[str]) -> Sequence[str]:
    return ["", f"## {title}", "", *(f"- {line}" for line in lines)] if lines else []
