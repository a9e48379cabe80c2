"""Measures the time of a workflow step without DynamoDB, with the engine and an instance store in memory."""

import statistics
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from time import process_time

from bench.bars import Verdict
from bench.table import verdict_json
from local.json_values import JsonObject
from local.progress import Progress
from signpost.adapters.alarm import alarm
from signpost.adapters.clock import SystemClock
from signpost.adapters.ids import RandomIds
from signpost.adapters.memory.definitions import MemoryDefinitions
from signpost.adapters.memory.identity import MemoryApiKeys
from signpost.adapters.memory.instances import MemoryInstanceStore
from signpost.identity.api_keys import ApiKeyAuthenticator
from signpost.model import Principal
from signpost.schema.validation import Validators
from signpost.workflow.engine.engine import Engine
from signpost.workflow.engine.steps import HUMAN_KIND, Submission
from signpost.workflow.running.answers import build_answer
from signpost.workflow.running.attempts import ExecutionServices
from signpost.workflow.running.executors.human import HumanExecutor
from signpost.workflow.running.service import StartRequest, StepResult, Workflows
from signpost.workflow.running.step_rights import RightsOfRequest
from signpost.workflow.running.step_writer import StepWriter

TENANT, DEFINITION = "bench", "loop"
CONTEXT_BYTES = 4_096
CALL_SECONDS = 29.0
STEPS = 500
"""The number of steps in a round; the median of their times is the result."""
HISTORY = 10_000
"""The number of steps that precede the last round."""
MAX_SUBMIT_MS = 0.5
"""For the two-core test machine."""
MAX_GROWTH = 1.3
"""The greatest ratio of the time of a step after a long history to the time before. A step takes no longer then; the
margin is for the clock of the machine."""

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
        instance = EndlessInstance(MemoryInstanceStore())
        instance.time_steps(STEPS)  # warms the process up
        early_ms = instance.time_steps(STEPS)
        instance.time_steps(HISTORY - 2 * STEPS)
        return Findings(early_ms, instance.time_steps(STEPS), HISTORY)


class EndlessInstance:
    """A workflow instance with a transition that leads back to the same state."""

    def __init__(self, instances: MemoryInstanceStore) -> None:
        definitions = MemoryDefinitions()
        definitions.publish(TENANT, DEFINITION, WORKFLOW)
        self._principal = Principal("clerk", TENANT, "bench", roles=frozenset({"clerk"}))
        self._clock, ids, engine = SystemClock(), RandomIds(), Engine(Validators(alarm))
        executors = {HUMAN_KIND: HumanExecutor(clock=self._clock, ids=ids)}
        services = ExecutionServices(
            step_executors=executors,
            clock=self._clock,
            pause=time.sleep,
            lease_margin=0.0,
            rights=RightsOfRequest(ApiKeyAuthenticator(keys=MemoryApiKeys(), clock=self._clock)),
        )
        self._workflows = Workflows(
            definitions=definitions,
            instances=instances,
            step_writer=StepWriter(instances=instances, services=services, engine=engine, ids=ids),
            engine=engine,
            clock=self._clock,
            ids=ids,
        )
        started = self._workflows.start(StartRequest(DEFINITION), self._principal, self._deadline)
        if not isinstance(started, StepResult):
            raise TypeError(started.message)
        self._id, self._version = started.step.instance.id, started.step.instance.version

    @property
    def _deadline(self) -> float:
        return self._clock.now() + CALL_SECONDS

    def time_steps(self, count: int) -> float:
        """Take this number of steps, and return the median of the milliseconds from the submission to the answer."""
        return statistics.median(self._time_step() for _ in range(count)) * 1000

    def _time_step(self) -> float:
        submission = Submission(self._version, "next", {"amount": 7}, self._principal)
        started = process_time()
        result = self._workflows.submit(self._id, submission, self._deadline)
        if not isinstance(result, StepResult) or result.step.refusal is not None:
            raise TypeError(str(result))
        build_answer(result.definition, result.step)
        ended = process_time()
        self._version = result.step.instance.version
        return ended - started


def verdicts(findings: Findings, slowdown: float) -> Iterator[Verdict]:
    yield Verdict("workflow.submit, engine alone", findings.submit_ms / slowdown, MAX_SUBMIT_MS, "ms")
    growth = findings.submit_after_history_ms / findings.submit_ms
    yield Verdict(f"the same after {findings.history:,} steps", growth, MAX_GROWTH, "x before")


def build_document(findings: Findings, judgement: Iterable[Verdict]) -> JsonObject:
    return {**asdict(findings), "verdicts": list(map(verdict_json, judgement))}
