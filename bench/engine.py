"""How long a step of a workflow takes without a table: the engine, and a store in memory."""

import statistics
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from time import process_time

from bench.bars import Verdict
from bench.table import judged
from local.json_values import JsonObject
from local.progress import Progress
from signpost.adapters.clock import SystemClock
from signpost.adapters.ids import RandomIds
from signpost.adapters.memory.definitions import MemoryDefinitions
from signpost.adapters.memory.instances import MemoryInstanceStore
from signpost.model import Principal
from signpost.workflow.engine.engine import Engine
from signpost.workflow.engine.steps import Submission
from signpost.workflow.running.answers import build_answer
from signpost.workflow.running.attempts import ExecutionServices
from signpost.workflow.running.executors.human import HumanExecutor
from signpost.workflow.running.service import StartRequest, StepResult, Workflows
from signpost.workflow.running.step_writer import StepWriter

TENANT, DEFINITION = "bench", "loop"
CONTEXT_BYTES = 4_096
CALL_SECONDS = 29.0
STEPS = 500
"""In a round, of which the median counts."""
HISTORY = 10_000
MOST_MS = 0.5
"""On the two-core test machine."""
MOST_GROWTH = 1.3
"""By how much a step may take longer after a long history. It takes no longer; this is for the clock of the machine."""

WORKFLOW: JsonObject = {
    "initialState": "open",
    "initialContext": {"text": "x" * CONTEXT_BYTES, "count": 0},
    "states": {
        "open": {
            "transitions": {
                "next": {
                    "target": "open",
                    "guards": [{"kind": "expr", "expr": "$.arguments.amount > 0"}, {"kind": "role", "role": "clerk"}],
                    "inputSchema": {
                        "type": "object",
                        "properties": {"amount": {"type": "number"}},
                        "required": ["amount"],
                    },
                    "output": {"last": "$.arguments.amount"},
                },
                "stop": {"target": "done", "guards": [{"kind": "permission", "permission": "stop"}]},
            }
        },
        "done": {"terminal": True},
    },
}


@dataclass(frozen=True, slots=True)
class Findings:
    submit_ms: float
    submit_after_history_ms: float
    history: int


def measure(progress: Progress) -> Findings:
    with progress.step("timing the engine"):
        instance = _Instance()
        instance.steps(STEPS)  # what a process does once
        early = instance.steps(STEPS)
        instance.steps(HISTORY - 2 * STEPS)
        return Findings(early, instance.steps(STEPS), HISTORY)


class _Instance:
    """One that goes on and on."""

    def __init__(self) -> None:
        definitions = MemoryDefinitions()
        definitions.publish(TENANT, DEFINITION, WORKFLOW)
        self._principal = Principal("somebody", TENANT, "bench", roles=frozenset({"clerk"}))
        self._clock, ids, instances, engine = SystemClock(), RandomIds(), MemoryInstanceStore(), Engine()
        world = ExecutionServices(find_executor=lambda _: None, clock=self._clock, pause=time.sleep, margin=0.0)
        people = HumanExecutor(clock=self._clock, ids=ids)
        self._workflows = Workflows(
            definitions=definitions,
            instances=instances,
            step_writer=StepWriter(instances=instances, human_executor=people, services=world, engine=engine, ids=ids),
            engine=engine,
            clock=self._clock,
            ids=ids,
        )
        started = self._workflows.start(StartRequest(DEFINITION), self._principal, self._ends_at)
        if not isinstance(started, StepResult):
            raise TypeError(started.message)
        self._id, self._version = started.step.instance.id, started.step.instance.version

    @property
    def _ends_at(self) -> float:
        return self._clock.now() + CALL_SECONDS

    def steps(self, count: int) -> float:
        """The median of so many, in milliseconds, from what was sent to what is answered."""
        taken = [self._step() for _ in range(count)]
        return statistics.median(taken) * 1000

    def _step(self) -> float:
        submitted = Submission(self._version, "next", {"amount": 7}, self._principal)
        began = process_time()
        told = self._workflows.submit(self._id, submitted, self._ends_at)
        if not isinstance(told, StepResult) or told.step.refusal is not None:
            raise TypeError(str(told))
        build_answer(told.definition, told.step)
        ended = process_time()
        self._version = told.step.instance.version
        return ended - began


def verdicts(findings: Findings, slowdown: float) -> Iterator[Verdict]:
    yield Verdict("workflow.submit, engine alone", findings.submit_ms / slowdown, MOST_MS, "ms")
    growth = findings.submit_after_history_ms / findings.submit_ms
    yield Verdict(f"the same after {findings.history:,} steps", growth, MOST_GROWTH, "x before")


def document(findings: Findings, judgement: Iterable[Verdict]) -> JsonObject:
    return {**asdict(findings), "verdicts": list(map(judged, judgement))}
