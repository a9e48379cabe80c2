"""Rows of breakers: those of the previous release are read, and it can read those of this one."""

from typing import Any

from signpost.adapters.dynamodb.breakers import CLOSED, breakers_in
from signpost.contract import BreakerState, OpenBreakers

PREVIOUS_ROW: dict[str, Any] = {
    "pk": {"S": "tenant#acme#breakers"},
    "sk": {"S": "email::send"},
    "opened_until": {"N": "1800000000.5"},
    "failures": {"N": "3"},
    "last_failure": {"S": "timed_out"},
    "probing_until": {"N": "1800000030.5"},
    "schema": {"N": "1"},
}


def test_a_row_of_the_previous_release_is_the_breaker_for_all_callers() -> None:
    expected = BreakerState(1_800_000_000.5, 3, "timed_out", probing_until=1_800_000_030.5)
    assert breakers_in(PREVIOUS_ROW) == OpenBreakers(expected)


def test_a_row_with_stopped_principals_alone_has_what_the_previous_release_reads() -> None:
    """The previous release takes it for a breaker whose pause is over, and lets calls probe."""
    stopped = {"M": {name: value for name, value in PREVIOUS_ROW.items() if name not in ("pk", "sk", "probing_until")}}
    row: dict[str, Any] = {**CLOSED, "principal#a1": stopped}
    assert float(row["opened_until"]["N"]) == int(row["failures"]["N"]) == 0
    assert breakers_in(row) == OpenBreakers(None, {"a1": BreakerState(1_800_000_000.5, 3, "timed_out")})
