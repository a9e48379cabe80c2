"""When an attempt is made again, by the cases of `registry-cases.json` and for every failure."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signpost.cli.retry_plan import GIVE_UP_AFTER, LONGEST_PAUSE, build_handshake_plan

FILE = Path(__file__).parents[2] / "acceptance/registry-cases.json"
CASES = [case for case in json.loads(FILE.read_text()) if case.get("op") == "handshake.plan"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_a_plan_matches_its_case(case: dict[str, Any]) -> None:
    assert asdict(build_handshake_plan(**case["input"])) == case["expect"]["equals"]


def test_immediate_failures_are_retried_for_more_than_three_minutes() -> None:
    assert list(build_handshake_plan(0, None).attempts_at) == [0, 5, 15, 35, 75, 135, 195]


def test_an_attempt_over_its_time_limit_has_failed() -> None:
    assert build_handshake_plan(6, 0).outcome == "gave_up"
    assert build_handshake_plan(6, 0, attempt_s=65).outcome == "registered"


@given(st.floats(0, 65), st.none() | st.integers(0, 12))
def test_a_plan_ends_and_never_waits_longer_than_a_minute(latency: float, failures: int | None) -> None:
    planned = build_handshake_plan(latency, failures, attempt_s=65)
    pauses = [
        after - before - latency for before, after in zip(planned.attempts_at, planned.attempts_at[1:], strict=False)
    ]
    assert all(0 < pause <= LONGEST_PAUSE + 1e-6 for pause in pauses)
    assert planned.attempts_at[-1] <= GIVE_UP_AFTER + LONGEST_PAUSE
    if failures is not None and planned.outcome == "registered":
        assert len(planned.attempts_at) == failures + 1
