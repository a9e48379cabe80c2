"""Whatever is sent gets a defined answer: never a fault of ours, never a word of an exception."""

import time
from collections import Counter
from dataclasses import dataclass, field

import pytest

from tests.fuzz.events import Event
from tests.fuzz.inputs import KINDS, inputs
from tests.fuzz.target import Target
from tests.fuzz.verdict import CODES, faults
from tests.support.line_output import ShowLine
from tests.support.oracle import parse_messages

pytestmark = pytest.mark.no_cover

FEWEST_INPUTS = 20_000
SHOWN = 3
REACHED = {200, 202, 204, 400, 401, 403, 404, 405, 413}


@dataclass(repr=False)
class Run:
    inputs: Counter[str] = field(default_factory=Counter[str])
    statuses: Counter[int] = field(default_factory=Counter[int])
    codes: Counter[int] = field(default_factory=Counter[int])
    faults: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    streams: int = 0
    seconds: float = 0.0
    slowest: float = 0.0

    def add(self, kind: str, sent: Event, target: Target) -> None:
        self.inputs[kind] += 1
        begun = time.perf_counter()
        try:
            answer = target.answer(sent)
        except Exception as fault:  # noqa: BLE001 - what escapes the handler takes the function down
            self._fault(kind, sent, f"escaped: {type(fault).__name__}: {fault}")
            return
        self.slowest = max(self.slowest, time.perf_counter() - begun)
        self.statuses[answer.status] += 1
        self.streams += answer.headers.get("content-type") == "text/event-stream"
        for message in parse_messages(answer.headers, answer.text):
            if "error" in message:
                self.codes[message["error"]["code"]] += 1
        for fault in faults(sent, answer):
            self._fault(kind, sent, f"{fault}\n  {answer.text[:300]!r}")

    def _fault(self, kind: str, sent: Event, fault: str) -> None:
        self.faults.setdefault(kind, []).append(f"{fault}\n  {ascii(sent)[:900]}")

    def table(self) -> str:
        total, found = self.inputs.total(), sum(map(len, self.faults.values()))
        return "\n".join(
            [
                f"fuzzing: {total} inputs in {self.seconds:.1f} s, the slowest {self.slowest:.3f} s, {found} faults",
                f"  statuses {dict(sorted(self.statuses.items()))}, {self.streams} streams",
                f"  codes    {dict(sorted(self.codes.items()))}",
                "",
            ]
        )


@pytest.fixture(scope="module")
def run(target: Target) -> Run:
    done, begun = Run(), time.perf_counter()
    for kind, sent in inputs(target.authorization, target.now):
        done.add(kind, sent, target)
    done.seconds = time.perf_counter() - begun
    return done


@pytest.mark.parametrize("kind", [kind.__name__ for kind, _ in KINDS])
def test_every_input_gets_a_defined_answer(run: Run, kind: str) -> None:
    found = run.faults.get(kind, [])
    assert run.inputs[kind]
    assert not found, "\n".join([f"{len(found)}, of which:", *found[:SHOWN]])


def test_the_run_is_large_and_reaches_every_answer(run: Run, show_line: ShowLine) -> None:
    show_line(run.table())
    assert run.inputs.total() >= FEWEST_INPUTS
    assert set(run.statuses) >= REACHED
    assert run.streams
    assert set(run.codes) >= CODES
