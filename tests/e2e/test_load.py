"""Many clients at once: of a stack without a warm sandbox, and of one skill."""

import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Barrier
from typing import Any

import pytest

from signpost.contract import HostedFunction
from stage.calls import CALL_FUNCTION
from tests.support.effort import count_repetitions
from tests.support.executors import Executors
from tests.support.line_output import ShowLine
from tests.support.memory_gateway import GatewayAnswer
from tests.support.slowdown import ATTEMPTS

pytestmark = pytest.mark.cloud

CLIENTS = 64
CALLS_OF_CLIENT = count_repetitions(3, proof=10)
CALLERS = 16
"""The clients that call one skill."""
ANSWERS = count_repetitions(30, proof=100) * CALLERS
"""The number of answers to all of them after which they stop."""
FUNCTION = "trials::show"
PARAMETERS: dict[str, Any] = {"name": CALL_FUNCTION.name, "arguments": {"function": FUNCTION, "arguments": {}}}


@dataclass(frozen=True, slots=True)
class TimedAnswer:
    answer: GatewayAnswer
    seconds: float

    @property
    def kind(self) -> str:
        """Describe the answer in a word: `result`, the code of the failure, or the status of a refusal."""
        if self.answer.status != 200:
            return str(self.answer.status)
        content = self.answer.json["result"]["structuredContent"]
        return "result" if "failure" not in content else content["failure"]["code"]


@pytest.fixture
def show_key(executors: Executors, tenant: str, key: str) -> str:
    """Return the key of a tenant with a skill that may take as long as a gateway waits."""
    executors.place("trials", [HostedFunction(FUNCTION)], tenant, timeout_ms=25_000)
    return key


def call_skill(executors: Executors, key: str) -> TimedAnswer:
    began = time.monotonic()
    answer = executors.gateway.request(key, "tools/call", PARAMETERS)
    return TimedAnswer(answer, time.monotonic() - began)


def test_many_clients_of_a_cold_stack_get_answers(executors: Executors, show_key: str, show_line: ShowLine) -> None:
    executors.restart_gateway()
    executors.restart("trials")
    start = Barrier(CLIENTS)

    def call_repeatedly(_: int) -> Sequence[TimedAnswer]:
        start.wait()
        return [call_skill(executors, show_key) for _ in range(CALLS_OF_CLIENT)]

    began = time.monotonic()
    with ThreadPoolExecutor(CLIENTS) as threads:
        answers = [answer for series in threads.map(call_repeatedly, range(CLIENTS)) for answer in series]
    kinds = Counter(answer.kind for answer in answers)
    longest = max(answer.seconds for answer in answers)
    show_line(
        f"{CLIENTS} clients, {len(answers)} calls of a cold stack in {time.monotonic() - began:.1f} s: "
        f"{dict(kinds)}, the longest {longest:.1f} s"
    )
    assert set(kinds) == {"result"}


def test_callers_of_one_skill_are_served_evenly(executors: Executors, show_key: str, show_line: ShowLine) -> None:
    """A busy machine serves callers unevenly now and then; a gateway or an emulator that does so always does."""
    assert any(serve_evenly(executors, show_key, show_line) for _ in range(ATTEMPTS))


def serve_evenly(executors: Executors, key: str, show_line: ShowLine) -> bool:
    """Let all callers call until they have enough answers together. Return whether the one with the fewest answers got
    at least half as many as the one with the most."""
    start_warm_up, start, counts = Barrier(CALLERS), Barrier(CALLERS), Counter(dict.fromkeys(range(CALLERS), 0))

    def call_until_all_have_enough(caller: int) -> None:
        start_warm_up.wait()
        call_skill(executors, key)
        start.wait()
        while counts.total() < ANSWERS:
            assert call_skill(executors, key).kind == "result"
            counts[caller] += 1

    began = time.monotonic()
    with ThreadPoolExecutor(CALLERS) as threads:
        list(threads.map(call_until_all_have_enough, range(CALLERS)))
    fewest, most, seconds = min(counts.values()), max(counts.values()), time.monotonic() - began
    show_line(
        f"{CALLERS} callers of one skill: {counts.total()} answers in {seconds:.1f} s, {fewest} to {most} a caller"
    )
    return fewest >= most / 2
