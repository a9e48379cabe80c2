"""Steps that fail, crash and are taken up in every order: nothing is done twice without consent, nothing is lost."""

from functools import partial
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from signpost.model import InputRequired, JsonObject
from signpost.workflow.engine.permissions import ANSWER
from signpost.workflow.engine.questions import ask
from signpost.workflow.engine.steps import ExecutorFailure, ExecutorOutcome
from signpost.workflow.ports import Deferral, StepAttempt, StepOutcome
from tests.support.asking_steps import ROOTS
from tests.support.effort import count_examples
from tests.support.memory_workflows import TENANT, MemoryWorkflows, check_verified
from tests.support.played_executors import ExecutorCrash, PlayedExecutor
from tests.support.step_cases import AGENT, ATTEMPT_SECONDS, LEASE_SECONDS, RESOLVER

pytestmark = pytest.mark.no_cover

RUNS, STEPS = count_examples(500), 40
RELIABILITY: list[tuple[bool, Any]] = [
    (False, {}),
    (False, {"retry": {"maxAttempts": 2, "retryOn": ["transient_error"]}}),
    (False, {"fallback": {"executors": [{"kind": "act"}]}}),
    (True, {"retry": {"maxAttempts": 3, "backoff": "fixed", "initialDelayMs": 60_000}}),
    (True, {"retry": {"maxAttempts": 2}}),
]
"""Whether the author consents to the repetition of what was not heard of, and what they have written."""
_FATES = st.lists(st.sampled_from(["well", "none", "transient", "unknown", "crash", "asks"]), max_size=4)
"""Of the executions that follow; all others go well."""


class StepsStateMachine(RuleBasedStateMachine):
    @initialize(written=st.sampled_from(RELIABILITY))
    def start(self, written: tuple[bool, Any]) -> None:
        self.has_consent, reliability = written
        self.fates: list[str] = []
        self.last: dict[str, str] = {}
        """What became of the last execution, by key; nothing once somebody who may has spoken of it."""
        self.done = 0
        """Executions that were heard to have gone well, and those of which somebody has said so."""
        self.in_doubt: set[str] = set()
        """The keys of what may have happened, and nobody has said whether it has."""
        self.is_executing = False
        self.shop = MemoryWorkflows({"act": PlayedExecutor(self.perform, ATTEMPT_SECONDS)})
        executor = {"kind": "act", "idempotencyKey": True}
        go = {
            "target": "a",
            "executor": executor,
            "reliability": reliability,
            "output": {"n": {"add": ["$.context.n", 1]}},
        }
        document = {"initialState": "a", "initialContext": {"n": 0}, "states": {"a": {"transitions": {"go": go}}}}
        self.shop.publish("demo", document)
        self.id = self.shop.start(AGENT)["workflowId"]

    def perform(self, attempt: StepAttempt) -> StepOutcome:
        key, fate = str(attempt.idempotency_key), self.fates.pop(0) if self.fates else "well"
        held = self.shop.load_instance(self.id).claim
        assert held is not None
        assert held.token == attempt.claim.token
        assert self.last.get(key) not in ("well", "unknown", "crash") or self.may_repeat(key), (key, self.last)
        self.last[key] = fate
        self.meanwhile()
        self.in_doubt |= {key} if fate in ("unknown", "crash") else set()
        self.in_doubt -= {key} if fate == "well" else set()
        self.done += fate == "well"
        match fate:
            case "well":
                return ExecutorOutcome(1)
            case "asks":
                return self.ask(attempt)
            case "crash":
                raise ExecutorCrash
            case "unknown":
                return ExecutorFailure("timeout", "Nobody knows.", "unknown")
            case "transient":
                return ExecutorFailure("transient_error", "Not now.")
            case _:
                return ExecutorFailure("permanent_error", "Never.")

    def ask(self, attempt: StepAttempt) -> StepOutcome:
        """Ask a question of its own in each round. All rounds before are answered."""
        before = attempt.claim.questions
        assert before is None or before.is_answered
        rounds = 0 if before is None else before.round
        assert before is None or before.answers.keys() == {f"q{number}" for number in range(rounds)}
        asked = ask(before, InputRequired({f"q{rounds}": ROOTS}), attempt.claim.token)
        if isinstance(asked, str):
            return ExecutorFailure("permanent_error", asked)
        return Deferral(attempt.claim.since, "answers", questions=asked)

    def meanwhile(self) -> None:
        """Whoever else comes while something is executed does nothing."""
        assert not self.is_executing
        self.is_executing = True
        before = self.shop.load_instance(self.id)
        self.shop.wake(self.id)
        refused = self.shop.submit(self.id, "go", AGENT)
        assert (refused["error"]["code"], self.shop.load_instance(self.id)) == ("STALE_WORKFLOW_VERSION", before)
        self.is_executing = False

    def may_repeat(self, key: str) -> bool:
        return self.has_consent and self.last[key] != "well"

    def doing(self, what: Any) -> Any:
        try:
            return what()
        except ExecutorCrash:
            return None

    @rule(fates=_FATES)
    def go(self, fates: list[str]) -> None:
        self.fates = fates
        self.doing(lambda: self.shop.submit(self.id, "go", AGENT))

    @rule(seconds=st.sampled_from([1.0, LEASE_SECONDS, 61.0]))
    def wait(self, seconds: float) -> None:
        self.shop.clock.advance(seconds)

    @rule(fates=_FATES)
    def settle(self, fates: list[str]) -> None:
        self.fates = fates
        self.doing(self.shop.run_until_idle)

    @rule()
    def look(self) -> None:
        self.shop.get(self.id, AGENT)

    @rule(which=st.sampled_from([0, 1]), happened=st.booleans(), fates=_FATES)
    def follow_an_order(self, which: int, happened: bool, fates: list[str]) -> None:
        """As it is linked for whoever may."""
        self.fates = fates
        links = [link for link in self.shop.get(self.id, RESOLVER)["links"] if link["rel"] == "transition"]
        orders = [link["args"] for link in links if link["args"]["transition"] in ("$retry", "$resolve")]
        if not orders:
            return
        args = orders[which]
        key = f"{self.id}.go.{args['expectedVersion']}"
        self.last.pop(key)
        said: dict[str, Any] = {**args["arguments"]}
        if args["transition"] == "$resolve":
            said["happened"] = happened
            self.done += happened
            self.in_doubt.discard(key)
        told = self.doing(lambda: self.shop.submit(self.id, args["transition"], RESOLVER, said))
        assert told is None or told.get("error", {}).get("code") in (None, "EXECUTOR_FAILED")

    @rule(fates=_FATES)
    def answer(self, fates: list[str]) -> None:
        """Answer the questions of a parked step, if there is one, as its link says."""
        links = [link["args"] for link in self.shop.get(self.id, AGENT)["links"]]
        for args in [args for args in links if args.get("transition") == ANSWER]:
            self.fates = fates
            claim: Any = self.shop.load_instance(self.id).claim
            keys: list[str] = [*claim.questions.requests]
            answers: JsonObject = {**args["arguments"], **{key: {"roots": []} for key in keys}}
            told = self.doing(partial(self.shop.submit, self.id, ANSWER, AGENT, answers))
            assert told is None or told.get("error", {}).get("code") in (None, "EXECUTOR_FAILED")

    @invariant()
    def what_was_done_counts_once(self) -> None:
        if not hasattr(self, "id"):
            return
        stand = self.shop.load_instance(self.id)
        assert (stand.version, stand.context) == (self.done + 1, {"n": self.done})
        assert stand.claim is not None or f"{self.id}.go.{stand.version}" not in self.in_doubt
        told = self.shop.instances.history(TENANT, self.id)
        assert [hop.version for hops, _ in told for hop in hops] == list(range(2, self.done + 2))

    def teardown(self) -> None:
        """With time, all of it ends: or somebody has to say how it goes on."""
        if not hasattr(self, "id"):
            return
        self.fates.clear()
        for _ in range(3):
            self.answer([])
            self.shop.clock.advance(10_000)
            self.shop.run_until_idle()
        claim = self.shop.load_instance(self.id).claim
        assert claim is None or claim.standing == "in_doubt"
        assert self.shop.instances.find_due(10**12) == []
        if claim is not None:
            self.shop.clock.advance(10_000)
            assert len(self.shop.get(self.id, RESOLVER)["links"]) == 3
        check_verified(self.shop.instances, self.id)


StepsStateMachine.TestCase.settings = settings(max_examples=RUNS, stateful_step_count=STEPS)
TestStepsInEveryOrder = StepsStateMachine.TestCase
