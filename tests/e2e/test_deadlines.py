"""Nothing outlives its deadline: every form of blocking, through the deployed stack."""

import time
import uuid

import pytest

from stage.blocking import FORMS
from tests.support.executors import Executors
from tests.support.slowdown import measure_slowdown, shortest

pytestmark = pytest.mark.cloud

GRACE = 0.5
CALL_SECONDS = 1.5 + GRACE
"""Seconds until the answer has to be there; the deadline of the function is half a second before."""
MAX_CALL_SECONDS = 2.7
"""Seconds. Lambda itself ends the function after three."""
STOPPED_IN_PLACE = {"sleep", "spin", "join", "socket", "subprocess"}
BLOCKING = [form for form in FORMS if form not in ("return", "nap", "outlast")]


def choose_call_seconds() -> float:
    """How many seconds a call is given: more on a slow machine, on which its function begins later."""
    return min(MAX_CALL_SECONDS, CALL_SECONDS * measure_slowdown())


@pytest.mark.invariant(27)
@pytest.mark.parametrize("prefix", ["blocking", "isolated"])
@pytest.mark.parametrize("form", BLOCKING)
def test_a_blocking_call_is_answered_in_time_and_the_next_call_succeeds(
    executors: Executors, key: str, prefix: str, form: str
) -> None:
    assert executors.call(key, f"{prefix}::return", {"effect": "warm"})["result"] == "finished"

    def seconds_of_answer() -> float:
        """Seconds after the deadline of the function, which is half a second before that of the call."""
        effects.append(uuid.uuid4().hex)
        ends_at = time.time() + choose_call_seconds()
        reply = executors.call(key, f"{prefix}::{form}", {"effect": effects[-1]}, endsAt=ends_at)
        late = time.time() - ends_at
        assert reply["failure"]["code"] == "timed_out"
        assert (reply["failure"]["class"], reply["failure"]["outcome"]) == ("timeout", "unknown")
        assert executors.count_effect(f"{effects[-1]}.started") == 1
        return late + GRACE

    effects: list[str] = []
    assert shortest(seconds_of_answer, GRACE) <= GRACE
    assert executors.call(key, f"{prefix}::return", {"effect": effects[-1]})["result"] == "finished"


def test_orphans_of_a_function_are_named_in_the_log(executors: Executors, key: str) -> None:
    for form in ("join", "subprocess", "swallow"):
        executors.call(key, f"blocking::{form}", {"effect": "left"}, endsAt=time.time() + choose_call_seconds())
    executors.call(key, "blocking::return", {"effect": "left"})
    left = [line for line in executors.read_log_lines("blocking") if line.get("message") == "left behind"]
    by_function = {line["function"]: line for line in left}
    assert by_function["blocking::join"]["threads"] == ["the thread that was joined"]
    (process,) = by_function["blocking::subprocess"]["processes"]
    assert "python" in process
    assert by_function["blocking::subprocess"]["killed"] is True
    ours = [line for line in executors.read_log_lines("gateway") if line.get("message") == "left behind"]
    assert ours[-1]["thread_name"] == f"call of {executors.stack}-blocking"


def test_a_killed_function_does_not_continue(executors: Executors, key: str) -> None:
    for prefix, form in (("blocking", "nap"), ("isolated", "outlast")):
        effect = uuid.uuid4().hex
        reply = executors.call(key, f"{prefix}::{form}", {"effect": effect}, endsAt=time.time() + CALL_SECONDS)
        assert reply["failure"]["code"] == "timed_out"
        time.sleep(2)  # nothing can be waited for: it would have finished by now
        assert executors.count_effect(f"{effect}.finished") == 0
