"""Workflows in memory with a gateway or worker that is killed, delayed or overtaken at a chosen call of a port."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from signpost.adapters.memory.instances import MemoryInstanceStore
from signpost.workflow.engine.permissions import ANSWER, RESOLVE
from signpost.workflow.engine.steps import ExecutorFailure, ExecutorOutcome
from signpost.workflow.instance import Instance, child_id_of
from signpost.workflow.ports import Deferral, StepAttempt, StepOutcome
from signpost.workflow.running.service import StartRequest
from signpost.workflow.step_questions import StepQuestions
from tests.support.crash_points import CrashPoints, ProcessKilled
from tests.support.memory_gateway import ManualClock
from tests.support.memory_workflows import TENANT, MemoryWorkflows, run_until_idle
from tests.support.played_executors import PlayedExecutor
from tests.support.step_cases import AGENT, RESOLVER

QUESTION: Mapping[str, Any] = {"root": {"method": "roots/list"}}
SHORT_MS, LONG_MS, PAUSE_MS = 5_000, 60_000, 60_000
"""The timeouts of a step that fits into a gateway's call and of a step that does not, and a pause that is spent in the
queue."""
RECOVERY_SECONDS = 10_000.0
"""Seconds after which every lease and every pause is over."""
MAX_SWEEPS = 6
START_REQUEST = StartRequest("demo", client_token="the client's own")

type Document = Mapping[str, Any]
type ProcessAction = Callable[["ScenarioRun", MemoryWorkflows], Any]
"""The action of one process; it returns its answer."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """The action of a process during the interference, and the possible outcomes of the step before."""

    transition: Callable[[Mapping[str, Any]], Document]
    """Makes the transition `go`, with the executor settings and the reliability that state the author's consent."""
    preparations: Sequence[ProcessAction]
    action: ProcessAction
    first_results: Sequence[str] = ()
    """The fates of the first executions; all others succeed."""
    is_parent: bool = False
    outcomes: Sequence[str] = ("settled", "in doubt")
    """The outcomes at all crash points together, without the author's consent."""
    asks: bool = False
    """Whether the function asks a question, and has its effect once that is answered."""
    fails_when_repeated: bool = False
    """Whether a repeated execution fails: the result of the first one is in doubt then, with consent or without."""


class ScenarioRun:
    """The world that processes share: one workflow instance, its executor and the clock."""

    def __init__(self, scenario: Scenario, *, consents: bool) -> None:
        self.scenario = scenario
        self.has_consent = consents
        self.effect_count = 0
        self.received_answers: list[Mapping[str, Any]] = []
        """The answers with which the function ran again."""
        self.clock = ManualClock()
        self.instances = MemoryInstanceStore()
        self.next_results = list(scenario.first_results)
        self.id = self.start_process().workflows.id_for(START_REQUEST, AGENT)
        for play in scenario.preparations:
            play(self, self.start_process())

    def start_process(self, points: CrashPoints | None = None) -> MemoryWorkflows:
        """Return a new process. It shares the stores, the executor and the clock with the others, and nothing else in
        memory."""
        crash_points = points or CrashPoints()
        executor = PlayedExecutor(lambda attempt: crash_points.call("execute", lambda: self._execute(attempt)))
        workshop = MemoryWorkflows(
            {"act": executor}, clock=self.clock, instances=self.instances, store=crash_points.wrap_port(self.instances)
        )
        workshop.publish("child", define_one_step({}))
        step = self.scenario.transition(_consent(self))
        workshop.publish("demo", define_parent(step) if self.scenario.is_parent else define_one_step(step))
        return workshop

    def _execute(self, attempt: StepAttempt) -> StepOutcome:
        if self.scenario.asks:
            if (asked := _ask(attempt)) is not None:
                return asked
            self.received_answers.append(attempt.claim.questions.answers if attempt.claim.questions else {})
        fate = self.next_results.pop(0) if self.next_results else "succeeded"
        if fate == "rate_limited":
            return ExecutorFailure("rate_limited", "Not yet.")
        if fate == "failed":
            return ExecutorFailure("permanent_error", "Not again.")
        self.effect_count += 1
        return ExecutorFailure("timeout", "No answer came.", "unknown") if fate == "unheard" else ExecutorOutcome(1)

    @property
    def instance(self) -> Instance | None:
        return self.instances.load(TENANT, self.id)

    def count_events(self) -> Counter[str]:
        return Counter(event.record.type for event in self.instances.audit(TENANT, self.id))

    def recover(self, points: CrashPoints | None = None) -> None:
        """Let clients and workers continue until no work is left. With points, the first process is killed."""
        with suppress(ProcessKilled):
            self._recover_with(self.start_process(points))
            return
        self._recover_with(self.start_process())

    def _recover_with(self, shop: MemoryWorkflows) -> None:
        shop.start(AGENT, START_REQUEST)  # the client got no answer to its start
        for _ in range(MAX_SWEEPS):
            self.clock.advance(RECOVERY_SECONDS)
            shop.run_until_idle()
            self._end_child(shop)
            self._answer_questions(shop)
        assert self.instances.find_due(self.clock.now()) == []

    def _end_child(self, shop: MemoryWorkflows) -> None:
        instance = self.instance
        if instance is not None and instance.claim is not None and instance.claim.child is not None:
            end_child(self, shop)

    def _answer_questions(self, shop: MemoryWorkflows) -> None:
        instance = self.instance
        if instance is not None and instance.claim is not None and instance.claim.is_parked:
            answer_question(self, shop)

    def resolve(self, *, happened: bool) -> bool:
        """Resolve an in-doubt step as an operator who states whether it happened. False if no step is in doubt."""
        shop = self.start_process()
        links = [link["args"] for link in shop.get(self.id, RESOLVER)["links"] if link["rel"] == "transition"]
        for args in [args for args in links if args["transition"] == RESOLVE]:
            resolved = shop.submit(self.id, RESOLVE, RESOLVER, {**args["arguments"], "happened": happened})
            assert "error" not in resolved
            return True
        return False


def _ask(attempt: StepAttempt) -> StepOutcome | None:
    """Ask as a function does that runs again with its answers: None once the question is answered."""
    questions = attempt.claim.questions
    if questions is not None and questions.is_answered:
        return None
    return Deferral(attempt.claim.since, "answers", questions=StepQuestions("q", QUESTION))


def define_one_step(transition: Document) -> Document:
    states = {"open": {"transitions": {"go": {"target": "done", **transition}}}, "done": {"terminal": True}}
    return {"initialState": "open", "states": states}


def define_parent(after: Document) -> Document:
    """Return a workflow that waits for a child workflow and continues by itself when the child has ended."""
    ask = {"actor": "deterministic", "target": "after", "executor": {"kind": "workflow", "definitionId": "child"}}
    states = {
        "open": {"transitions": {"ask": ask}},
        "after": {"transitions": {"go": {"actor": "deterministic", "target": "done", **after}}},
        "done": {"terminal": True},
    }
    return {"initialState": "open", "states": states}


def _consent(scene: ScenarioRun) -> Mapping[str, Any]:
    return {"idempotent": True} if scene.has_consent else {}


def _step(timeout_ms: int, **more: Any) -> Callable[[Mapping[str, Any]], Document]:
    def transition(consent: Mapping[str, Any]) -> Document:
        retry = {"retry": {"maxAttempts": 5}} if consent else {}
        return {"executor": {"kind": "act", **consent}, "reliability": {"timeoutMs": timeout_ms, **retry}, **more}

    return transition


def _retried(delay_ms: int, **more: Any) -> Callable[[Mapping[str, Any]], Document]:
    def transition(consent: Mapping[str, Any]) -> Document:
        retried = ["rate_limited", "timeout"] if consent else ["rate_limited"]
        retry = {"maxAttempts": 5, "backoff": "fixed", "initialDelayMs": delay_ms, "retryOn": retried}
        return {"executor": {"kind": "act", **consent}, "reliability": {"timeoutMs": SHORT_MS, "retry": retry}, **more}

    return transition


def start_instance(scene: ScenarioRun, shop: MemoryWorkflows) -> Any:
    del scene
    return shop.start(AGENT, START_REQUEST)


def submit_step(scene: ScenarioRun, shop: MemoryWorkflows) -> Any:
    return shop.submit(scene.id, "go", AGENT, version=1)


def wake_instance(scene: ScenarioRun, shop: MemoryWorkflows) -> None:
    shop.wake(scene.id)


def end_child(scene: ScenarioRun, shop: MemoryWorkflows) -> Any:
    instance = scene.instance
    assert instance is not None
    assert instance.claim is not None
    return shop.submit(child_id_of(instance.claim), "go", AGENT, version=1)


def answer_question(scene: ScenarioRun, shop: MemoryWorkflows) -> Any:
    return shop.submit(scene.id, ANSWER, AGENT, {"root": {"roots": []}}, version=1)


def process_wakes(scene: ScenarioRun, shop: MemoryWorkflows) -> None:
    """Process all wakes that the stream has shown by now."""
    run_until_idle(shop.waker, scene.instances, scene.clock, is_swept=False)


def spend_pause(scene: ScenarioRun, shop: MemoryWorkflows) -> None:
    del shop
    scene.clock.advance(PAUSE_MS / 1000)


DETERMINISTIC = {"actor": "deterministic"}
SUBMIT_OUTCOMES = ("nothing", "settled", "in doubt")
SCENARIOS = {
    "a submit": Scenario(_step(SHORT_MS), [start_instance], submit_step, outcomes=SUBMIT_OUTCOMES),
    "a submit whose executor never reports": Scenario(
        _step(SHORT_MS), [start_instance], submit_step, ["unheard"], outcomes=("nothing", "in doubt")
    ),
    "a submit that is retried at once": Scenario(
        _retried(1_000), [start_instance], submit_step, ["rate_limited"], outcomes=SUBMIT_OUTCOMES
    ),
    "a submit that fails when it is repeated": Scenario(
        _step(SHORT_MS),
        [start_instance],
        submit_step,
        ["succeeded", *["failed"] * 9],
        outcomes=SUBMIT_OUTCOMES,
        fails_when_repeated=True,
    ),
    "a start that continues automatically": Scenario(_step(SHORT_MS, **DETERMINISTIC), [], start_instance),
    "a start that hands over to the worker": Scenario(_step(LONG_MS, **DETERMINISTIC), [], start_instance),
    "a worker": Scenario(_step(LONG_MS, **DETERMINISTIC), [start_instance], wake_instance),
    "a worker after a pause": Scenario(
        _retried(PAUSE_MS, **DETERMINISTIC), [start_instance, spend_pause], wake_instance, ["rate_limited"]
    ),
    "a submit whose function asks": Scenario(
        _step(SHORT_MS), [start_instance], submit_step, outcomes=SUBMIT_OUTCOMES, asks=True
    ),
    "a worker whose function asks": Scenario(
        _step(LONG_MS, **DETERMINISTIC), [start_instance], wake_instance, asks=True
    ),
    "an answer": Scenario(_step(SHORT_MS), [start_instance, submit_step], answer_question, asks=True),
    "an answer that leaves the step to the worker": Scenario(
        _step(LONG_MS), [start_instance, submit_step, wake_instance], answer_question, asks=True
    ),
    "a start of a parent": Scenario(_step(SHORT_MS), [], start_instance, is_parent=True),
    "a child that ends": Scenario(_step(SHORT_MS), [start_instance, process_wakes], end_child, is_parent=True),
    "a worker of a parent": Scenario(
        _step(SHORT_MS), [start_instance, process_wakes, end_child], wake_instance, is_parent=True
    ),
}
