"""Random workflows and callers against a model that knows the rules in another form: version, state, context, history,
evidence and links agree after every step."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from signpost.model import Principal, as_object
from signpost.workflow.engine.links import build_links
from signpost.workflow.engine.steps import ON_ENTER, ExecutorFailure, ExecutorOutcome, Submission
from signpost.workflow.instance import EvidenceItem
from signpost.workflow.ports import StepAttempt
from signpost.workflow.running.service import StepResult, WorkflowRefusal
from tests.support.effort import count_examples
from tests.support.line_output import ShowLine
from tests.support.listed_runs import check_listed
from tests.support.memory_workflows import CALL_SECONDS, TENANT, MemoryWorkflows, check_verified
from tests.support.played_executors import PlayedExecutor

pytestmark = pytest.mark.no_cover

STEPS, RUNS = 50, count_examples(450)
"""More than ten thousand steps, though many runs end early."""
STATES = ("a", "b", "c", "d")
END, LATE = "end", "late"
TIMEOUT = 60.0
MOST_HOPS = 2
CALLERS = {
    "agent": Principal("agent", TENANT, "t"),
    "person": Principal("person", TENANT, "t", human=True),
    "writer": Principal("writer", TENANT, "t", permissions=frozenset({"write"})),
    "robot": Principal("robot", TENANT, "t", permissions=frozenset({"workflow.system"})),
}


class ChangingExecutors:
    """Some executors work only while it is fine."""

    def __init__(self) -> None:
        self.is_fine = True

    def perform(self, attempt: StepAttempt) -> ExecutorOutcome | ExecutorFailure:
        if attempt.executor.kind == "no" or (attempt.executor.kind == "fair" and not self.is_fine):
            return ExecutorFailure("permanent_error", "no")
        by = attempt.principal.subject
        return ExecutorOutcome({"by": by}, [EvidenceItem("scan", by)])


_GUARDS = st.sampled_from(
    [
        {"kind": "permission", "permission": "write"},
        {"kind": "expr", "expr": "$.context.n < 3"},
        {"kind": "expr", "expr": "$.context.n >= 3"},
        {"kind": "expr", "expr": "$.arguments.go == true"},
        {"kind": "evidence", "requires": [{"kind": "scan", "count": 2}]},
        {"kind": "not", "guard": {"kind": "permission", "permission": "write"}},
        {"kind": "astrology"},
    ]
)
_TRANSITIONS: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {
        "target": st.sampled_from([*STATES, END]),
        "actor": st.sampled_from(["agent", "human", "deterministic", "deterministic", "system"]),
        "guards": st.lists(_GUARDS, max_size=2),
        "output": st.sampled_from([{}, {"n": {"add": ["$.context.n", 1]}}, {"n": 0}]),
    },
    optional={"executor": st.sampled_from([{"kind": kind} for kind in ("ok", "fair", "no", "noop", "odd")])},
)
_STATES: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {
        "transitions": st.dictionaries(st.sampled_from(["x", "y", "z"]), _TRANSITIONS, min_size=1, max_size=3),
        "linkFilter": st.sampled_from(["all", "byGuards"]),
    },
    optional={"onEnter": st.sampled_from([{"executor": {"kind": kind}} for kind in ("ok", "fair", "no")])},
)
_DEFINITIONS: st.SearchStrategy[Any] = st.fixed_dictionaries(dict.fromkeys(STATES, _STATES)).map(
    lambda states: {
        "initialState": "a",
        "initialContext": {"n": 0},
        "maxChainDepth": MOST_HOPS,
        "timeoutMs": int(TIMEOUT * 1000),
        "onTimeout": {"target": LATE},
        "states": {**states, END: {"terminal": True}, LATE: {"transitions": {"x": {"target": END}}}},
    }
)


@dataclass
class WorkflowModel:
    """The rules, told as a story rather than as types."""

    written: Mapping[str, Any]
    state: str = "a"
    version: int = 1
    n: int = 0
    scans: int = 0
    moves: list[tuple[str, str, str, int]] = field(default_factory=list[tuple[str, str, str, int]])
    is_timed: bool = True
    is_fine: bool = True
    entering: bool = False
    """Whether the state stands, and what it does on being entered does not."""

    def offered(self, state: str | None = None) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.written["states"][state or self.state]
        return {} if found.get("terminal") else found.get("transitions", {})

    @property
    def runs_by_itself(self) -> bool:
        return bool(self.offered()) and all(one.get("actor") == "deterministic" for one in self.offered().values())

    def passes(self, transition: Mapping[str, Any], caller: Principal, arguments: Mapping[str, Any]) -> bool:
        answers: Mapping[str, bool] = {
            "permission": "write" in caller.permissions,
            "not": "write" not in caller.permissions,
            "evidence": self.scans >= 2,
            "astrology": False,
        }
        for guard in transition.get("guards", []):
            holds = answers.get(guard["kind"])
            if guard["kind"] == "expr":
                holds = {
                    "$.context.n < 3": self.n < 3,
                    "$.context.n >= 3": self.n >= 3,
                    "$.arguments.go == true": arguments.get("go") is True,
                }[guard["expr"]]
            if not holds:
                return False
        return True

    def move(self, name: str) -> str | None:
        """Why not, or None."""
        transition = self.offered()[name]
        kind, entry = transition.get("executor", {"kind": "noop"})["kind"], self._entry(transition["target"])
        acts = kind != "noop"
        if (acts and not self.works(kind)) or (not acts and entry and not self.works(entry)):
            return "EXECUTOR_FAILED"
        self.scans += acts + (entry is not None and not acts)
        if "n" in transition.get("output", {}):
            self.n = 0 if transition["output"]["n"] == 0 else self.n + 1
        self.arrive(name, transition["target"])
        return self.enter(entry) if entry is not None and acts else None

    def enter(self, kind: str) -> str | None:
        """A state that stands already: a step of its own."""
        self.entering = not self.works(kind)
        if self.entering:
            return "EXECUTOR_FAILED"
        self.version += 1
        self.scans += 1
        return None

    def works(self, kind: str) -> bool:
        return kind == "ok" or (kind == "fair" and self.is_fine)

    def arrive(self, name: str, target: str) -> None:
        self.version += 1
        self.moves.append((self.state, name, target, self.version))
        self.state = target

    def follow(self, caller: Principal) -> str | None:
        for _ in range(MOST_HOPS):
            if not self.runs_by_itself:
                return None
            ready = [name for name, one in self.offered().items() if self.passes(one, caller, {})]
            if len(ready) != 1 or self.move(ready[0]) is not None:
                return "CHAIN_FAILED"
        return None

    def submit(self, name: str, version: int, caller: Principal, arguments: Mapping[str, Any]) -> str | None:
        if version != self.version:
            return "STALE_WORKFLOW_VERSION"
        if self.entering and name == ON_ENTER:
            if arguments:
                return "INPUT_SCHEMA_VIOLATION"
            return self.enter(str(self._entry(self.state))) or self.follow(caller)
        if self.entering or name not in self.offered():
            return "INVALID_TRANSITION"
        return self.refuse(self.offered()[name], caller, arguments) or self.move(name) or self.follow(caller)

    def refuse(self, transition: Mapping[str, Any], caller: Principal, arguments: Mapping[str, Any]) -> str | None:
        if not self.is_actor(transition, caller):
            return "ACTOR_MISMATCH"
        about_caller = [guard for guard in transition.get("guards", []) if guard["kind"] in ("permission", "not")]
        if not self.passes({"guards": about_caller}, caller, {}):
            return "GUARD_REJECTED"
        if transition.get("actor") == "deterministic" and arguments:
            return "INPUT_SCHEMA_VIOLATION"
        return None if self.passes(transition, caller, arguments) else "GUARD_REJECTED"

    def is_actor(self, transition: Mapping[str, Any], caller: Principal) -> bool:
        match transition.get("actor"):
            case "human":
                return caller.human
            case "system":
                return "workflow.system" in caller.permissions
            case "deterministic":
                return self.runs_by_itself
            case _:
                return True

    def time_out(self) -> None:
        """The state that follows does nothing on being entered, and nothing follows it by itself."""
        self.is_timed = self.entering = False
        self.arrive("timeout", LATE)

    def linked(self, caller: Principal) -> Sequence[str]:
        if self.entering:
            return [ON_ENTER]
        offered = self.offered()
        filtered = self.runs_by_itself or self.written["states"][self.state].get("linkFilter") == "byGuards"
        shown = [name for name, one in offered.items() if one.get("actor") == "human" or self.is_actor(one, caller)]
        return [name for name in shown if not filtered or self.passes(offered[name], caller, {})]

    def _entry(self, target: str) -> str | None:
        """The kind of what it runs."""
        entry = self.written["states"][target].get("onEnter")
        return entry["executor"]["kind"] if entry else None

    def begin(self, caller: Principal) -> str | None:
        """The first state stands, whatever becomes of what it does."""
        entry = self._entry(self.state)
        return (self.enter(entry) if entry is not None else None) or self.follow(caller)


steps_taken = count()


class WorkflowStateMachine(RuleBasedStateMachine):
    @initialize(written=_DEFINITIONS, caller=st.sampled_from(sorted(CALLERS)))
    def start(self, written: Any, caller: str) -> None:
        self.weather = ChangingExecutors()
        machine = PlayedExecutor(self.weather.perform)
        self.shop = MemoryWorkflows({"ok": machine, "fair": machine, "no": machine})
        self.shop.publish("demo", written)
        self.clock, self.began = self.shop.clock, self.shop.clock.now()
        self.model = WorkflowModel(written)
        self.agree(self.shop.request_start(CALLERS[caller]), self.model.begin(CALLERS[caller]))

    @rule(
        name=st.sampled_from(["x", "y", "z", "nothing", ON_ENTER, ON_ENTER]),
        caller=st.sampled_from(sorted(CALLERS)),
        off=st.sampled_from([0, 0, 0, 0, -1, 1]),
        go=st.booleans(),
    )
    def submit(self, name: str, caller: str, off: int, go: bool) -> None:
        principal, arguments = CALLERS[caller], {"go": True} if go else {}
        version = self.model.version + off
        submitted = Submission(version, name, arguments, principal)
        told = self.shop.workflows.submit(self.workflow_id, submitted, self.clock.now() + CALL_SECONDS)
        if self.overdue:
            self.model.time_out()
            self.agree(told, None)
        else:
            self.agree(told, self.model.submit(name, version, principal, arguments))

    @rule()
    def change(self) -> None:
        """Of the weather."""
        self.weather.is_fine = self.model.is_fine = not self.model.is_fine

    @rule(seconds=st.sampled_from([1.0, 5.0, 30.0]))
    def wait(self, seconds: float) -> None:
        self.clock.advance(seconds)

    @rule(caller=st.sampled_from(sorted(CALLERS)))
    def look(self, caller: str) -> None:
        told = self.shop.workflows.get(self.workflow_id, CALLERS[caller], self.clock.now() + CALL_SECONDS)
        if self.overdue:
            self.model.time_out()
        self.agree(told, None)

    @property
    def overdue(self) -> bool:
        model = self.model
        return model.is_timed and model.state != END and self.clock.now() >= self.began + TIMEOUT

    def agree(self, told: StepResult | WorkflowRefusal, code: str | None) -> None:
        assert isinstance(told, StepResult)
        refusal = told.step.refusal
        assert (refusal.code if refusal else None) == code
        self.workflow_id = told.step.instance.id
        self.definition = told.definition

    @invariant()
    def the_instance_is_what_the_model_says(self) -> None:
        if not getattr(self, "workflow_id", ""):
            return
        next(steps_taken)
        kept, model = self.shop.load_instance(self.workflow_id), self.model
        assert kept.claim is None
        assert (kept.state, kept.version, kept.context) == (model.state, model.version, {"n": model.n})
        tally = kept.evidence.get("scan")
        assert (tally.count if tally else 0) == model.scans
        told = self.shop.instances.history(TENANT, self.workflow_id)
        hops = [(hop.from_state, hop.transition, hop.to_state, hop.version) for moves, _ in told for hop in moves]
        assert hops == model.moves
        assert sum(len(evidence) for _, evidence in told) == model.scans
        for caller in CALLERS.values():
            shown = build_links(self.definition, kept, caller, self.clock.now())
            assert [as_object(link["args"])["transition"] for link in shown] == model.linked(caller)
        check_listed(self.shop.instances, self.definition, self.workflow_id, self.clock.now())

    def teardown(self) -> None:
        if getattr(self, "workflow_id", ""):
            check_verified(self.shop.instances, self.workflow_id)


WorkflowStateMachine.TestCase.settings = settings(
    max_examples=RUNS,
    stateful_step_count=STEPS,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
TestWorkflowsAndTheirModel = WorkflowStateMachine.TestCase


def test_at_least_ten_thousand_steps_agree_with_the_model(show_line: ShowLine) -> None:
    compared = next(steps_taken)
    show_line(f"{compared} steps of random workflows agreed with the model")
    assert compared >= 10_000
