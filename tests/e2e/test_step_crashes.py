"""Steps whose gateway, worker or herald is killed at every call to AWS that it makes, before it leaves and when it has
been carried out: once each in `make test`, twenty times in `make prove`, four at the same time.

Effects are counted in a table that only executors write. What dies is a process that each call has for itself, since
Lambda's own takes a second to be started anew; of the gateway it is also that: once for each step in `make prove`, at
both sides of the claim, of the execution and of what settles it in `make test`.

`tests/interaction/test_crash_points.py` plays all crash points in memory, with and without consent at each.
"""

import time
import uuid
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

import pytest

from signpost.adapters import keys
from signpost.adapters.dynamodb.instances import LONGEST_IN_A_ROW
from signpost.workflow.engine.permissions import MAY_RESOLVE, RESOLVE
from signpost.workflow.instance import Instance, child_id_of
from signpost.workflow.wakes import WakeMessage
from stage.crashes import BETWEEN, DIED_AT, DIES_AT, MORTAL, PASSED, PROCESS, SANDBOX
from tests.support.counted import CountedGateway, counted_gateway
from tests.support.driven_workflows import DrivenWorkflows, Ear, Event, at_once, driven, received
from tests.support.effort import is_proof, times
from tests.support.executors import SHORT_LEASE_MARGIN_MS
from tests.support.laptop import Laptop
from tests.support.saying import Say
from tests.support.silence import silence

pytestmark = pytest.mark.cloud

TIMES = times(1, proof=20)
"""Kills at each step: every other one of a definition whose author consents to repetition."""
ALL_WORK = [(("handed-over", "retried", "parent"), TIMES)]
PROVED_WORK = [(("handed-over",), TIMES), (("retried",), TIMES), *[(("parent",), TIMES // 2)] * 2]
WORK = PROVED_WORK if is_proof() else ALL_WORK
"""What the worker goes on with. Definitions of one test wait for their leases at the same time; of `make prove` each
has tests of its own, since none may take four minutes."""
LONG = "x" * (LONGEST_IN_A_ROW + 1)
"""It does not fit into a row: what carries it is read and written as an object as well."""
TIMEOUT_MS, TOO_LONG_MS, PAUSE_MS, CALL_MS = 4_000, 9_000, 5_000, 9_000
"""A step that fits into a call of a gateway in a hurry, one that does not, a pause between tries that does not, and
what such a gateway has."""
EXECUTOR_SECONDS = 4
"""That Lambda leaves to an executor: after a crash everybody waits for it to end."""
KILLERS, WORKERS = 4, 4
"""Callers of what dies, and workers that go on afterwards: of more, on two processors, all would only be started."""
LONG_CALL_MS = 29_000
"""One in which a lease can end."""
PATIENCE = 150.0
"""Seconds, for everything that was left to be gone on with."""
NEVER = 10_000
BEFORE_WRITTEN = "before dynamodb.TransactWriteItems"
WRITTEN, TOLD, SENT = "after dynamodb.TransactWriteItems", "after eventbridge.PutEvents", "after sqs.SendMessage"
"""Steps: what a run came to was written; the bus was told; the worker was sent to look."""
SANDBOXES = 2
"""That start at the same time, each of which takes a second of a processor."""
CLAIMED, EXECUTED = "after dynamodb.UpdateItem", "after lambda.Invoke"
OF_A_SANDBOX = ("before dynamodb.UpdateItem", CLAIMED, "before lambda.Invoke", EXECUTED, BEFORE_WRITTEN, WRITTEN)
"""At which the sandbox dies in `make test`."""
CONSENTS = {"careful": {}, "bold": {"idempotent": True}}


def _function(name: str, consent: Mapping[str, Any], arguments: Mapping[str, str]) -> Mapping[str, Any]:
    return {"kind": "function", "function": f"trials::{name}", "arguments": arguments, **consent}


def _counting(consent: Mapping[str, Any]) -> Mapping[str, Any]:
    return _function("show", consent, {"effect": "$.workflow.input.effect"})


def _one_step(transition: Mapping[str, Any]) -> Mapping[str, Any]:
    states = {"open": {"transitions": {"go": {"target": "done", **transition}}}, "done": {"terminal": True}}
    return {"initialState": "open", "initialContext": {"text": LONG}, "states": states}


def _by_itself(executor: Mapping[str, Any], reliability: Mapping[str, Any]) -> Mapping[str, Any]:
    return _one_step({"actor": "deterministic", "executor": executor, "reliability": reliability})


def _parent(after: Mapping[str, Any]) -> Mapping[str, Any]:
    """Goes on by itself when its child has ended."""
    child = {"kind": "workflow", "definitionId": "child"}
    return {
        "initialState": "open",
        "states": {
            "open": {"transitions": {"ask": {"actor": "deterministic", "target": "after", "executor": child}}},
            "after": {"transitions": {"go": {"actor": "deterministic", "target": "done", **after}}},
            "done": {"terminal": True},
        },
    }


def _workflows() -> Mapping[str, Any]:
    killed = _function("kill", {}, {"effect": "$.workflow.input.effect"})
    found: dict[str, Any] = {"child": _one_step({}), "killed": _one_step({"executor": killed})}
    for name, consent in CONSENTS.items():
        retried = ["rate_limited", "timeout"] if consent else ["rate_limited"]
        retry = {"maxAttempts": 5, "backoff": "fixed", "initialDelayMs": PAUSE_MS, "retryOn": retried}
        asked = _function("second", {}, {"once_asked": "$.workflow.input.effect"})
        again = {"retry": {"maxAttempts": 5}} if consent else {}
        inline = {"executor": _counting(consent), "reliability": {"timeoutMs": TIMEOUT_MS, **again}}
        found |= {
            f"inline-{name}": _one_step({**inline, "output": {"said": "$.arguments.text"}}),
            f"handed-over-{name}": _by_itself(_counting(consent), {"timeoutMs": TOO_LONG_MS, **again}),
            f"retried-{name}": _by_itself(asked, {"timeoutMs": TIMEOUT_MS, "retry": retry}),
            f"parent-{name}": _parent(inline),
        }
    return {"version": 1, "workflows": found}


@dataclass(frozen=True, slots=True)
class Run:
    """One workflow, in which somebody dies once."""

    workflow_id: str
    effect: str
    consents: bool
    steps: int
    """After which."""


@dataclass(frozen=True, slots=True)
class Ended:
    run: Run
    step: str
    """At which somebody died."""
    had_settled: bool = False
    """Whether the last thing to be written was written by then."""
    was_answered: bool = False


@pytest.fixture(scope="module")
def workflows(laptop: Laptop) -> DrivenWorkflows:
    found = driven(laptop, "mortal", _workflows(), LeaseMarginMs=SHORT_LEASE_MARGIN_MS)
    for function in ("Gateway", "Worker", "Herald"):
        found.functions.configure(function, **{MORTAL: PROCESS})
    found.functions.source("Worker", ScalingConfig={"MaximumConcurrency": WORKERS})
    trials = f"{found.executors.stack}-trials"
    found.functions.lambdas.update_function_configuration(FunctionName=trials, Timeout=EXECUTOR_SECONDS)
    found.executors.place_as_it_says("trials", tenant=None)
    return found


class Near:
    """A gateway that nobody kills, in this process: it prepares what others die of, without a process for each call."""

    def __init__(self, gateway: CountedGateway, key: str) -> None:
        self._gateway = gateway
        self._key = key

    def before_the_next(self, operation: str, happens: Callable[[], object]) -> None:
        self._gateway.before_the_next(operation, happens)

    def ask(self, tool: str, *, remaining_ms: int = CALL_MS, **arguments: Any) -> Any:
        params = {"name": tool, "arguments": arguments}
        with silence():
            answer, _ = self._gateway.ask(self._key, "tools/call", params, remaining_ms)
        assert answer.status == 200, answer.text
        return answer.json["result"]["structuredContent"]


@pytest.fixture(scope="module")
def near(laptop: Laptop, workflows: DrivenWorkflows) -> Iterator[Near]:
    with ExitStack() as still_open:
        with silence():
            gateway = still_open.enter_context(counted_gateway(laptop, workflows.stack, stopped=False))
        yield Near(gateway, workflows.key)


@pytest.fixture(scope="module")
def ear(workflows: DrivenWorkflows) -> Ear:
    return Ear(workflows)


@dataclass(frozen=True, slots=True)
class Told:
    """What is known of a call."""

    was_answered: bool
    passed: Sequence[str] = ()
    """Its steps, if nobody died."""
    died_at: str = ""
    """The last of them, if somebody did and could be heard."""


type Carry = Callable[[Run], Told]


@dataclass(frozen=True, slots=True)
class Dying:
    """Somebody who dies of a step."""

    workflows: DrivenWorkflows
    near: Near
    definition: str
    carry: Carry
    prepare: Callable[[Sequence[Run]], None] = lambda _runs: None

    def start(self, steps: int, *, consents: bool) -> Run:
        effect = f"{self.definition}-{uuid.uuid4().hex}"
        definition_id = f"{self.definition}-{'bold' if consents else 'careful'}"
        started = self.near.ask("workflow.start", definitionId=definition_id, input={"effect": effect})
        return Run(started["workflowId"], effect, consents, steps)

    def killed(self, repetitions: int) -> Sequence[Ended]:
        """At each step so often, half of them with consent."""
        names = self._steps()
        runs = self._prepared(repetitions, range(len(names)))
        told = at_once(self.carry, runs, KILLERS)
        assert all(one.died_at for one in told)
        settles = last_of(names, WRITTEN)
        return [Ended(run, one.died_at, run.steps >= settles) for run, one in zip(runs, told, strict=True)]

    def killed_with_its_sandbox(self, function: str) -> Sequence[Ended]:
        """At each of the steps once. All that is known of it is that it did not answer."""
        names = self._steps()
        steps = [number for number, name in enumerate(names) if is_proof() or name in OF_A_SANDBOX]
        runs = self._prepared(1, steps)
        self.workflows.functions.configure(function, **{MORTAL: SANDBOX})
        told = at_once(self.carry, runs, SANDBOXES)
        self.workflows.functions.configure(function, **{MORTAL: PROCESS})
        settles = last_of(names, WRITTEN)
        ended = [
            Ended(run, names[run.steps], not one.was_answered and run.steps >= settles, one.was_answered)
            for run, one in zip(runs, told, strict=True)
        ]
        assert sum(one.was_answered for one in ended) < len(ended) / 2
        return ended

    def _prepared(self, repetitions: int, steps: Sequence[int]) -> Sequence[Run]:
        """The author consents at every other step: what has happened after one call has happened before the next."""
        turns = [(turn, step) for turn in range(repetitions) for step in steps]
        runs = [self.start(step, consents=(step + turn) % 2 == 0) for turn, step in turns]
        self.prepare(runs)
        return runs

    def _steps(self) -> Sequence[str]:
        """Those that there are."""
        run = self.start(NEVER, consents=False)
        self.prepare([run])
        told = self.carry(run)
        assert told.was_answered
        return told.passed


def last_of(names: Sequence[str], name: str) -> int:
    """The number of the last step of this name, or that of none."""
    return max((number for number, one in enumerate(names) if one == name), default=NEVER)


def submitted(workflows: DrivenWorkflows) -> Carry:
    def carry(run: Run) -> Told:
        submit = {"workflowId": run.workflow_id, "expectedVersion": 1, "transition": "go"}
        arguments = {**submit, "arguments": {"text": LONG}}
        answer = workflows.call("workflow.submit", arguments, {DIES_AT: str(run.steps)})
        if answer.status != 200:
            return Told(was_answered=False, died_at=answer.headers.get(DIED_AT, ""))
        seen = answer.json["result"]["structuredContent"]
        assert (seen["version"], seen["state"]) == (2, "done")
        return Told(was_answered=True, passed=answer.headers.get(PASSED, "").split(BETWEEN))

    return carry


def woken(workflows: DrivenWorkflows) -> Carry:
    def event(run: Run) -> Mapping[str, Any]:
        record = {
            "messageId": run.effect,
            "receiptHandle": run.effect,
            "body": WakeMessage(workflows.tenant, run.workflow_id).text,
            "attributes": {"ApproximateReceiveCount": "1"},
        }
        return {"Records": [record]}

    return invoked(workflows, "Worker", event)


def invoked(workflows: DrivenWorkflows, function: str, event: Callable[[Run], Mapping[str, Any]]) -> Carry:
    def carry(run: Run) -> Told:
        answer = workflows.functions.invoke(function, {**event(run), DIES_AT: run.steps})
        if DIED_AT in answer:
            return Told(was_answered=False, died_at=answer[DIED_AT])
        assert answer["batchItemFailures"] == []
        return Told(was_answered=True, passed=answer[PASSED].split(BETWEEN))

    return carry


def at_rest(workflows: DrivenWorkflows, runs: Sequence[Run]) -> None:
    """When nothing of them is due any more, because the worker, which the sweeper wakes, has ended or shown it."""
    ends_at, wanted = time.monotonic() + PATIENCE, {run.workflow_id for run in runs}
    while left := wanted & workflows.due():
        assert time.monotonic() < ends_at, [workflows.stand(workflow_id).claim for workflow_id in left]
        if workflows.queued() == 0:
            workflows.sweep()
        time.sleep(0.5)  # a lease is over when it is over


@dataclass(frozen=True, slots=True)
class Outcome:
    ended: Ended
    instance: Instance
    effects: int
    events: set[Event]
    """Of the audit."""

    @property
    def name(self) -> str:
        if self.instance.state == "done":
            return "settled"
        return "nothing" if self.instance.claim is None else "in doubt"


def outcomes(workflows: DrivenWorkflows, ended: Sequence[Ended]) -> Sequence[Outcome]:
    def outcome(one: Ended) -> Outcome:
        stand, events = workflows.stand(one.run.workflow_id), workflows.told(one.run.workflow_id)
        return Outcome(one, stand, effects[one.run.effect], events)

    at_rest(workflows, [one.run for one in ended])
    effects = workflows.effects()
    return at_once(outcome, ended)


def check(outcome: Outcome) -> None:
    run, effects = outcome.ended.run, outcome.effects
    if outcome.name == "nothing":
        assert effects == 0
    if outcome.name == "settled":
        assert effects >= 1
    if run.consents:
        assert outcome.name != "in doubt"
    else:
        assert effects <= 1
    if outcome.ended.was_answered or outcome.ended.had_settled:
        assert outcome.name == "settled"
    check_audit(outcome)


def check_audit(outcome: Outcome) -> None:
    """Whatever became of it has been written down with it, once."""
    types = Counter(event for _, _, event, _ in outcome.events)
    steps = outcome.instance.version - 1
    assert types["workflow.started"] == 1
    assert types["workflow.transitioned"] == steps
    assert types["workflow.completed"] == (outcome.name == "settled")
    assert types["executor.succeeded"] == steps
    assert types["sub_workflow.completed"] == outcome.instance.definition_id.startswith("parent")
    doubts = types["executor.in_doubt"]
    if outcome.name == "in doubt":  # twice, where a slow executor reports nothing either and its lease ends
        assert 1 <= doubts <= 2
    else:  # a step that may be repeated can have been in doubt before
        assert doubts == 0 or outcome.ended.run.consents


def check_shown(near: Near, outcome: Outcome) -> None:
    """What is in doubt is shown."""
    seen = near.ask("workflow.get", workflowId=outcome.instance.id)
    assert seen["inDoubt"]["transition"] == "go"
    assert "pending" not in seen


def table(title: str, found: Sequence[Outcome], took: float) -> str:
    """A line for each step at which somebody died."""
    rows: dict[int, list[Outcome]] = defaultdict(list)
    for outcome in found:
        rows[outcome.ended.run.steps].append(outcome)
    lines = [f"  {some[0].ended.step:38} {_summary(some)}" for _, some in sorted(rows.items())]
    return "\n".join([f"{title}: {len(found)} killed, {took:.0f} s", *lines])


def _summary(some: Sequence[Outcome]) -> str:
    counts = Counter((one.ended.run.consents, one.name, one.effects) for one in some)
    words = {False: "without consent", True: "with consent"}
    return "; ".join(
        f"{words[consents]} {count} {name} ({effects} effects)"
        for (consents, name, effects), count in sorted(counts.items())
    )


@dataclass(frozen=True, slots=True)
class Court:
    """Whoever looks at what came of it."""

    workflows: DrivenWorkflows
    near: Near
    ear: Ear
    say: Say


@pytest.fixture
def court(workflows: DrivenWorkflows, near: Near, ear: Ear, say: Say) -> Court:
    return Court(workflows, near, ear, say)


def judged(court: Court, title: str, ended: Sequence[Ended], began: float) -> None:
    found = outcomes(court.workflows, ended)
    court.say(table(title, found, time.monotonic() - began))
    for outcome in found:
        check(outcome)
    for outcome in found:
        if outcome.name == "in doubt":
            check_shown(court.near, outcome)
    expected = {event for outcome in found for event in outcome.events}
    assert court.ear.missing(expected, PATIENCE) == set()
    court.say(f"  {len(expected)} events, all of them on the bus; {time.monotonic() - began:.0f} s")
    seen = {(outcome.ended.run.consents, outcome.name) for outcome in found}
    assert seen >= {(False, "in doubt"), (False, "settled"), (True, "settled")}


@pytest.mark.invariant(56)
def test_a_gateway_that_is_killed_at_any_step_of_a_submit_loses_nothing_and_repeats_nothing(
    workflows: DrivenWorkflows, near: Near, court: Court
) -> None:
    began = time.monotonic()
    ended = Dying(workflows, near, "inline", submitted(workflows)).killed(TIMES)
    judged(court, "gateway, submit", ended, began)


@pytest.mark.invariant(56)
def test_a_gateway_whose_sandbox_is_killed_at_any_step_of_a_submit_loses_nothing_and_repeats_nothing(
    workflows: DrivenWorkflows, near: Near, court: Court
) -> None:
    began = time.monotonic()
    ended = Dying(workflows, near, "inline", submitted(workflows)).killed_with_its_sandbox("Gateway")
    judged(court, "sandbox of the gateway, submit", ended, began)


@pytest.mark.invariant(56)
@pytest.mark.parametrize(("definitions", "repetitions"), WORK, ids=[", ".join(names) for names, _ in WORK])
def test_a_worker_that_is_killed_at_any_step_loses_nothing_and_repeats_nothing(
    workflows: DrivenWorkflows, near: Near, court: Court, definitions: Sequence[str], repetitions: int
) -> None:
    began, ended = time.monotonic(), dict[str, Sequence[Ended]]()
    with workflows.functions.asleep("Worker"):
        for definition in definitions:
            dying = Dying(workflows, near, definition, woken(workflows), lambda runs: ready(workflows, near, runs))
            ended[definition] = dying.killed(repetitions)
        drained(workflows)  # the messages that would wake the worker are lost, so that the sweeper has to
    for definition in definitions:
        judged(court, f"worker, {definition}", ended[definition], began)


def ready(workflows: DrivenWorkflows, near: Near, runs: Sequence[Run]) -> None:
    """The pause is over, and the child, if there is one, has ended: the worker has something to go on with."""
    claims = [claim for run in runs if (claim := workflows.stand(run.workflow_id).claim) is not None]
    assert [claim.standing for claim in claims] == ["waiting"] * len(runs)
    for claim in claims:
        if claim.child is not None:
            finished = near.ask("workflow.submit", workflowId=child_id_of(claim), expectedVersion=1, transition="go")
            assert finished["terminal"] is True
    while time.time() <= max(claim.until for claim in claims):
        time.sleep(0.2)  # only time ends a pause


@pytest.mark.invariant(56)
def test_a_gateway_that_slept_longer_than_its_lease_settles_nothing_that_others_have_decided(
    workflows: DrivenWorkflows, near: Near
) -> None:
    """When it writes what came of what it executed, somebody has already said that it did not happen."""
    effect = f"slept-{uuid.uuid4().hex}"
    workflow_id = near.ask("workflow.start", definitionId="inline-careful", input={"effect": effect})["workflowId"]
    may_resolve = workflows.laptop.key(workflows.stack, workflows.tenant, permissions=[MAY_RESOLVE])

    def ask(tool: str, **arguments: Any) -> Any:
        answer = workflows.call(tool, arguments, {"authorization": f"Bearer {may_resolve}"})
        assert answer.status == 200, answer.text
        return answer.json["result"]["structuredContent"]

    def sleep() -> None:
        links: Sequence[Any] = []
        while not links:
            time.sleep(0.2)  # only time ends a lease
            seen = ask("workflow.get", workflowId=workflow_id)
            links = [link["args"] for link in seen["links"] if link["args"].get("transition") == RESOLVE]
        resolved = ask("workflow.submit", **links[0])
        assert ("error" in resolved, resolved["state"], resolved["version"]) == (False, "open", 1)

    near.before_the_next("TransactWriteItems", sleep)
    late = near.ask(
        "workflow.submit", remaining_ms=LONG_CALL_MS, workflowId=workflow_id, expectedVersion=1, transition="go"
    )
    assert (late["error"]["code"], late["state"], late["version"]) == ("STALE_WORKFLOW_VERSION", "open", 1)
    stand = workflows.stand(workflow_id)
    assert (stand.state, stand.version, stand.claim) == ("open", 1, None)
    assert workflows.effects()[effect] == 1


@pytest.mark.invariant(56)
def test_what_an_executor_did_before_it_was_killed_is_in_doubt_and_not_repeated(
    workflows: DrivenWorkflows, near: Near
) -> None:
    effect = f"killed-{uuid.uuid4().hex}"
    workflow_id = near.ask("workflow.start", definitionId="killed", input={"effect": effect})["workflowId"]
    for code in ("EXECUTOR_FAILED", "IN_DOUBT"):
        seen = near.ask("workflow.submit", workflowId=workflow_id, expectedVersion=1, transition="go")
        assert (seen["error"]["code"], seen["inDoubt"]["transition"]) == (code, "go")
    assert workflows.effects()[effect] == 1


@pytest.mark.invariant(53)
def test_of_a_herald_that_is_killed_at_any_step_nothing_is_lost(
    workflows: DrivenWorkflows, near: Near, ear: Ear, say: Say
) -> None:
    """Lambda shows a batch again of which nobody heard. The emulator does not, so the test shows it again; what had
    been said before the herald died has arrived by then."""
    began = time.monotonic()
    dying = Dying(workflows, near, "handed-over", shown(workflows))
    with workflows.functions.asleep("Herald", "Worker"):
        drained(workflows)
        ended = dying.killed(TIMES)
        had_told = {event for one in ended if one.step == TOLD for event in workflows.told(one.run.workflow_id)}
        assert ear.missing(had_told, PATIENCE) == set()
        had_sent = {one.run.workflow_id for one in ended if one.step in (SENT, "before eventbridge.PutEvents", TOLD)}
        runs = {one.run.workflow_id for one in ended}
        assert woken_by(drained(workflows)) & runs == had_sent
        again = [replace(one.run, steps=NEVER) for one in ended]
        assert all(told.was_answered for told in at_once(dying.carry, again))
        expected = {event for run in again for event in workflows.told(run.workflow_id)}
        assert ear.missing(expected, PATIENCE) == set()
        assert woken_by(drained(workflows)) >= runs
    steps = ", ".join(f"{count} {step}" for step, count in Counter(one.step for one in ended).items())
    say(f"herald: {len(ended)} killed ({steps}); {len(expected)} events, none lost; {time.monotonic() - began:.0f} s")


def woken_by(messages: Sequence[Any]) -> set[str]:
    return {message["workflowId"] for message in messages}


def shown(workflows: DrivenWorkflows) -> Carry:
    return invoked(workflows, "Herald", lambda run: batch(workflows, run.workflow_id))


def batch(workflows: DrivenWorkflows, workflow_id: str) -> Mapping[str, Any]:
    """What the stream shows of its start."""
    found = workflows.dynamodb.query(
        TableName=workflows.stack.deployed.outputs["WorkflowsTableName"],
        KeyConditionExpression="pk = :pk",
        ExpressionAttributeValues={":pk": {"S": keys.workflow(workflows.tenant, workflow_id)}},
    )["Items"]
    rows = [row for row in found if row["sk"]["S"].startswith(keys.AUDIT) or "wake" in row]
    assert len(rows) == 2
    return {"Records": [{"dynamodb": {"NewImage": row, "SequenceNumber": str(n)}} for n, row in enumerate(rows)]}


def drained(workflows: DrivenWorkflows) -> Sequence[Any]:
    """What the queue of the worker had."""
    found: list[Any] = []
    while some := received(workflows.sqs, workflows.stack.deployed.outputs["WorkQueueUrl"]):
        found.extend(some)
    return found
