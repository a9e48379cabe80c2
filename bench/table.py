"""Formats the results of a run as a table for people and as JSON for programs."""

import os
import platform
from collections.abc import Iterator, Mapping, Sequence

from bench.bars import Results, Row, Verdict, verdicts
from bench.laps import CALL, FIRST, INIT, LISTS, PEAK
from local.json_values import Json, JsonObject

_WARM = (*LISTS.values(), CALL)
_NAME = 42


def format_table(results: Results) -> Iterator[str]:
    yield _line("", ["cold init", "", "first list", "", "peak RSS", "list 200", "list 500", "call"])
    yield _line("", ["x floor", "ms", "x floor", "ms", "MB", "ms", "ms", "ms"])
    for row in results.rows:
        yield _line(row.name, list(_cells(results, row)))
    yield ""
    yield f"reference loop {results.reference_loop_ms:.1f} ms; all values are medians of rounds; list and call are warm"
    yield f"verdicts in ms are for the test machine, {results.slowdown:.2f} times as fast as this one during the run"
    yield ""
    yield from map(format_verdict, verdicts(results))


def _cells(results: Results, row: Row) -> Iterator[str]:
    for measure in (INIT, FIRST):
        yield _cell(results.to_floor(row, measure), 2)
        yield _cell(row.medians.get(measure), 0)
    yield _cell(row.medians.get(PEAK), 0)
    for measure in _WARM:
        yield _cell(row.medians.get(measure), 3)


def _cell(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:.{digits}f}"


def _line(name: str, cells: Sequence[str]) -> str:
    return f"{name:<{_NAME}}" + "".join(f"{cell:>11}" for cell in cells)


def format_verdict(verdict: Verdict) -> str:
    word, bound = "met" if verdict.is_met else "MISSED", "at least" if verdict.at_least else "at most"
    return f"{word:<8}{verdict.subject:<28}{verdict.value:>6.2f}, {bound} {verdict.bar:.2f} {verdict.unit}"


def build_document(results: Results, rounds: Mapping[str, int]) -> JsonObject:
    return {
        "machine": {"cores": os.cpu_count(), "python": platform.python_version(), "system": platform.platform()},
        "reference_loop_ms": round(results.reference_loop_ms, 2),
        "rounds": dict(rounds),
        "rows": [_row_json(results, row) for row in results.rows],
        "verdicts": [verdict_json(verdict) for verdict in verdicts(results)],
    }


def verdict_json(verdict: Verdict) -> JsonObject:
    return {
        "against": verdict.unit,
        "at_least": verdict.at_least,
        "bar": verdict.bar,
        "found": round(verdict.value, 4),
        "met": verdict.is_met,
        "what": verdict.subject,
    }


def _row_json(results: Results, row: Row) -> JsonObject:
    ratios: dict[str, Json] = {
        measure: round(ratio, 3) for measure in (INIT, FIRST) if (ratio := results.to_floor(row, measure)) is not None
    }
    laps: dict[str, Json] = {measure: [round(value, 4) for value in values] for measure, values in row.laps.items()}
    return {
        "laps": laps,
        "medians": {measure: round(value, 4) for measure, value in row.medians.items()},
        "rival": row.is_rival,
        "to_floor": ratios,
        "what": row.name,
    }
