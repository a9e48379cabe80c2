"""Workflows in memory with a gateway or worker that is killed, delayed or overtaken at a chosen call of a port."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from signpost.adapters.memory.instances import MemoryInstanceStore
from signpost.workflow.engine.permissions import RESOLVE
from signpost.workflow.engine.steps import ExecutorFailure, ExecutorOutcome
from signpost.workflow.instance import Instance, child_id_of
from signpost.workflow.ports import StepAttempt, StepOutcome
from signpost.workflow.running.service import StartRequest
from tests.support.crash_points import CrashPoints, Killed
from tests.support.machines import Played
from tests.support.memory_gateway import SetClock
from tests.support.step_cases import AGENT, RESOLVER
from tests.support.workshop import TENANT, Workshop, settle

SHORT_MS, LONG_MS, PAUSE_MS = 5_000, 60_000, 60_000
"""The timeouts of a step that fits into a gateway's call and of a step that does not, and a pause that is spent in the
queue."""
LONG_AFTER = 10_000.0
"""Seconds after which every lease and every pause is over."""
MOST_SWEEPS = 6
START = StartRequest("demo", client_token="the client's own")

type Document = Mapping[str, Any]
type Play = Callable[["Scene", Workshop], Any]
"""The action of one process; it returns its answer."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """The action of a process during the interference, and the possible outcomes of the step before."""

    transition: Callable[[Mapping[str, Any]], Document]
    """Makes the transition `go`, with the executor settings and the reliability that state the author's consent."""
    prepare: Sequence[Play]
    play: Play
    fates: Sequence[str] = ()
    """The fates of the first executions; all others succeed."""
    is_parent: bool = False
    outcomes: Sequence[str] = ("settled", "in doubt")
    """The outcomes at all crash points together, without the author's consent."""
    fails_again: bool = False
    """Whether a repeated execution fails: the result of the first one is in doubt then, with consent or without."""


class Scene:
    """The world that processes share: one workflow instance, its executor and the clock."""

    def __init__(self, scenario: Scenario, *, consents: bool) -> None:
        self.scenario = scenario
        self.consents = consents
        self.effects = 0
        self.clock = SetClock()
        self.instances = MemoryInstanceStore()
        self.fates = list(scenario.fates)
        self.id = self.process().workflows.id_for(START, AGENT)
        for play in scenario.prepare:
            play(self, self.process())

    def process(self, points: CrashPoints | None = None) -> Workshop:
        """Return a new process. It shares the stores, the executor and the clock with the others, and nothing else in
        memory."""
        crash_points = points or CrashPoints()
        executor = Played(lambda attempt: crash_points.call("execute", lambda: self._execute(attempt)))
        workshop = Workshop(
            {"act": executor}, clock=self.clock, instances=self.instances, store=crash_points.port(self.instances)
        )
        workshop.publish("child", one_step({}))
        step = self.scenario.transition(_consent(self))
        workshop.publish("demo", parent(step) if self.scenario.is_parent else one_step(step))
        return workshop

    def _execute(self, attempt: StepAttempt) -> StepOutcome:
        del attempt
        fate = self.fates.pop(0) if self.fates else "succeeded"
        if fate == "rate_limited":
            return ExecutorFailure("rate_limited", "Not yet.")
        if fate == "failed":
            return ExecutorFailure("permanent_error", "Not again.")
        self.effects += 1
        return ExecutorFailure("timeout", "No answer came.", "unknown") if fate == "unheard" else ExecutorOutcome(1)

    @property
    def stand(self) -> Instance | None:
        return self.instances.load(TENANT, self.id)

    def events(self) -> Counter[str]:
        return Counter(event.record.type for event in self.instances.audit(TENANT, self.id))

    def recover(self, points: CrashPoints | None = None) -> None:
        """Let clients and workers continue until no work is left. With points, the first process is killed."""
        with suppress(Killed):
            self._recover_with(self.process(points))
            return
        self._recover_with(self.process())

    def _recover_with(self, shop: Workshop) -> None:
        shop.start(AGENT, START)  # the client got no answer to its start
        for _ in range(MOST_SWEEPS):
            self.clock.advance(LONG_AFTER)
            shop.settle()
            self._end_child(shop)
        assert self.instances.find_due(self.clock.now()) == []

    def _end_child(self, shop: Workshop) -> None:
        instance = self.stand
        if instance is not None and instance.claim is not None and instance.claim.child is not None:
            end_child(self, shop)

    def resolve(self, *, happened: bool) -> bool:
        """Resolve an in-doubt step as an operator who states whether it happened. False if no step is in doubt."""
        shop = self.process()
        links = [link["args"] for link in shop.get(self.id, RESOLVER)["links"] if link["rel"] == "transition"]
        for args in [args for args in links if args["transition"] == RESOLVE]:
            resolved = shop.submit(self.id, RESOLVE, RESOLVER, {**args["arguments"], "happened": happened})
            assert "error" not in resolved
            return True
        return False


def one_step(transition: Document) -> Document:
    states = {"open": {"transitions": {"go": {"target": "done", **transition}}}, "done": {"terminal": True}}
    return {"initialState": "open", "states": states}


def parent(after: Document) -> Document:
    """Return a workflow that waits for a child workflow and continues by itself when the child has ended."""
    ask = {"actor": "deterministic", "target": "after", "executor": {"kind": "workflow", "definitionId": "child"}}
    states = {
        "open": {"transitions": {"ask": ask}},
        "after": {"transitions": {"go": {"actor": "deterministic", "target": "done", **after}}},
        "done": {"terminal": True},
    }
    return {"initialState": "open", "states": states}


def _consent(scene: Scene) -> Mapping[str, Any]:
    return {"idempotent": True} if scene.consents else {}


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


def start(scene: Scene, shop: Workshop) -> Any:
    del scene
    return shop.start(AGENT, START)


def submit(scene: Scene, shop: Workshop) -> Any:
    return shop.submit(scene.id, "go", AGENT, version=1)


def wake(scene: Scene, shop: Workshop) -> None:
    shop.wake(scene.id)


def end_child(scene: Scene, shop: Workshop) -> Any:
    instance = scene.stand
    assert instance is not None
    assert instance.claim is not None
    return shop.submit(child_id_of(instance.claim), "go", AGENT, version=1)


def take_hints(scene: Scene, shop: Workshop) -> None:
    """Process all wakes that the stream has shown by now."""
    settle(shop.waker, scene.instances, scene.clock, is_swept=False)


def wait(scene: Scene, shop: Workshop) -> None:
    del shop
    scene.clock.advance(PAUSE_MS / 1000)


BY_ITSELF = {"actor": "deterministic"}
OF_A_SUBMIT = ("nothing", "settled", "in doubt")
SCENARIOS = {
    "a submit": Scenario(_step(SHORT_MS), [start], submit, outcomes=OF_A_SUBMIT),
    "a submit whose executor never reports": Scenario(
        _step(SHORT_MS), [start], submit, ["unheard"], outcomes=("nothing", "in doubt")
    ),
    "a submit that is retried at once": Scenario(
        _retried(1_000), [start], submit, ["rate_limited"], outcomes=OF_A_SUBMIT
    ),
    "a submit that fails when it is repeated": Scenario(
        _step(SHORT_MS), [start], submit, ["succeeded", *["failed"] * 9], outcomes=OF_A_SUBMIT, fails_again=True
    ),
    "a start that continues automatically": Scenario(_step(SHORT_MS, **BY_ITSELF), [], start),
    "a start that hands over to the worker": Scenario(_step(LONG_MS, **BY_ITSELF), [], start),
    "a worker": Scenario(_step(LONG_MS, **BY_ITSELF), [start], wake),
    "a worker after a pause": Scenario(_retried(PAUSE_MS, **BY_ITSELF), [start, wait], wake, ["rate_limited"]),
    "a start of a parent": Scenario(_step(SHORT_MS), [], start, is_parent=True),
    "a child that ends": Scenario(_step(SHORT_MS), [start, take_hints], end_child, is_parent=True),
    "a worker of a parent": Scenario(_step(SHORT_MS), [start, take_hints, end_child], wake, is_parent=True),
}
