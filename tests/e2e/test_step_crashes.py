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
from stage.crashes import CRASH_STEP, CRASHED_AT, MORTAL_VARIABLE, PASSED_STEPS, PROCESS, SANDBOX, STEP_SEPARATOR
from tests.support.counted_gateway import CountedGateway, counted_gateway
from tests.support.deployed_workflows import (
    BusEvent,
    DeployedWorkflows,
    EventListener,
    deploy_workflows,
    receive_messages,
    run_concurrently,
)
from tests.support.effort import count_repetitions, is_proof
from tests.support.executors import SHORT_LEASE_MARGIN_MS
from tests.support.laptop import Laptop
from tests.support.line_output import ShowLine
from tests.support.silent_logs import silence_logs

pytestmark = pytest.mark.cloud

TIMES = count_repetitions(1, proof=20)
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
SANDBOX_STEPS = ("before dynamodb.UpdateItem", CLAIMED, "before lambda.Invoke", EXECUTED, BEFORE_WRITTEN, WRITTEN)
"""At which the sandbox dies in `make test`."""
CONSENTS = {"careful": {}, "bold": {"idempotent": True}}


def _define_executor(name: str, consent: Mapping[str, Any], arguments: Mapping[str, str]) -> Mapping[str, Any]:
    return {"kind": "function", "function": f"trials::{name}", "arguments": arguments, **consent}


def _define_counting_executor(consent: Mapping[str, Any]) -> Mapping[str, Any]:
    return _define_executor("show", consent, {"effect": "$.workflow.input.effect"})


def _define_one_step(transition: Mapping[str, Any]) -> Mapping[str, Any]:
    states = {"open": {"transitions": {"go": {"target": "done", **transition}}}, "done": {"terminal": True}}
    return {"initialState": "open", "initialContext": {"text": LONG}, "states": states}


def _define_deterministic_step(executor: Mapping[str, Any], reliability: Mapping[str, Any]) -> Mapping[str, Any]:
    return _define_one_step({"actor": "deterministic", "executor": executor, "reliability": reliability})


def _define_parent(after: Mapping[str, Any]) -> Mapping[str, Any]:
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


def _build_manifest() -> Mapping[str, Any]:
    killed = _define_executor("kill", {}, {"effect": "$.workflow.input.effect"})
    found: dict[str, Any] = {"child": _define_one_step({}), "killed": _define_one_step({"executor": killed})}
    for name, consent in CONSENTS.items():
        retried = ["rate_limited", "timeout"] if consent else ["rate_limited"]
        retry = {"maxAttempts": 5, "backoff": "fixed", "initialDelayMs": PAUSE_MS, "retryOn": retried}
        asked = _define_executor("second", {}, {"once_asked": "$.workflow.input.effect"})
        again = {"retry": {"maxAttempts": 5}} if consent else {}
        inline = {"executor": _define_counting_executor(consent), "reliability": {"timeoutMs": TIMEOUT_MS, **again}}
        found |= {
            f"inline-{name}": _define_one_step({**inline, "output": {"said": "$.arguments.text"}}),
            f"handed-over-{name}": _define_deterministic_step(
                _define_counting_executor(consent), {"timeoutMs": TOO_LONG_MS, **again}
            ),
            f"retried-{name}": _define_deterministic_step(asked, {"timeoutMs": TIMEOUT_MS, "retry": retry}),
            f"parent-{name}": _define_parent(inline),
        }
    return {"version": 1, "workflows": found}


@dataclass(frozen=True, slots=True)
class CrashRun:
    """One workflow, in which somebody dies once."""

    workflow_id: str
    effect: str
    consents: bool
    steps: int
    """After which."""


@dataclass(frozen=True, slots=True)
class EndedRun:
    run: CrashRun
    step: str
    """At which somebody died."""
    had_settled: bool = False
    """Whether the last thing to be written was written by then."""
    was_answered: bool = False


@pytest.fixture(scope="module")
def workflows(laptop: Laptop) -> DeployedWorkflows:
    found = deploy_workflows(laptop, "mortal", _build_manifest(), LeaseMarginMs=SHORT_LEASE_MARGIN_MS)
    for function in ("Gateway", "Worker", "Herald"):
        found.functions.configure(function, **{MORTAL_VARIABLE: PROCESS})
    found.functions.configure_event_source("Worker", ScalingConfig={"MaximumConcurrency": WORKERS})
    trials = f"{found.executors.stack}-trials"
    found.functions.lambdas.update_function_configuration(FunctionName=trials, Timeout=EXECUTOR_SECONDS)
    found.executors.place_manifest("trials", tenant=None)
    return found


class LocalGateway:
    """A gateway that nobody kills, in this process: it prepares what others die of, without a process for each call."""

    def __init__(self, gateway: CountedGateway, key: str) -> None:
        self._gateway = gateway
        self._key = key

    def run_before_next(self, operation: str, happens: Callable[[], object]) -> None:
        self._gateway.run_before_next(operation, happens)

    def call_tool(self, tool: str, *, remaining_ms: int = CALL_MS, **arguments: Any) -> Any:
        params = {"name": tool, "arguments": arguments}
        with silence_logs():
            answer, _ = self._gateway.request(self._key, "tools/call", params, remaining_ms)
        assert answer.status == 200, answer.text
        return answer.json["result"]["structuredContent"]


@pytest.fixture(scope="module")
def local_gateway(laptop: Laptop, workflows: DeployedWorkflows) -> Iterator[LocalGateway]:
    with ExitStack() as still_open:
        with silence_logs():
            gateway = still_open.enter_context(counted_gateway(laptop, workflows.stack, stopped=False))
        yield LocalGateway(gateway, workflows.key)


@pytest.fixture(scope="module")
def event_listener(workflows: DeployedWorkflows) -> EventListener:
    return EventListener(workflows)


@dataclass(frozen=True, slots=True)
class CallReport:
    """What is known of a call."""

    was_answered: bool
    passed: Sequence[str] = ()
    """Its steps, if nobody died."""
    died_at: str = ""
    """The last of them, if somebody did and could be heard."""


type CarryOut = Callable[[CrashRun], CallReport]


@dataclass(frozen=True, slots=True)
class CrashTrial:
    """Somebody who dies of a step."""

    workflows: DeployedWorkflows
    near: LocalGateway
    definition: str
    carry: CarryOut
    prepare: Callable[[Sequence[CrashRun]], None] = lambda _runs: None

    def start(self, steps: int, *, consents: bool) -> CrashRun:
        effect = f"{self.definition}-{uuid.uuid4().hex}"
        definition_id = f"{self.definition}-{'bold' if consents else 'careful'}"
        started = self.near.call_tool("workflow.start", definitionId=definition_id, input={"effect": effect})
        return CrashRun(started["workflowId"], effect, consents, steps)

    def kill_at_each_step(self, repetitions: int) -> Sequence[EndedRun]:
        """At each step so often, half of them with consent."""
        names = self._steps()
        runs = self._prepared(repetitions, range(len(names)))
        told = run_concurrently(self.carry, runs, KILLERS)
        assert all(one.died_at for one in told)
        settles = find_last(names, WRITTEN)
        return [EndedRun(run, one.died_at, run.steps >= settles) for run, one in zip(runs, told, strict=True)]

    def kill_sandbox_at_each_step(self, function: str) -> Sequence[EndedRun]:
        """At each of the steps once. All that is known of it is that it did not answer."""
        names = self._steps()
        steps = [number for number, name in enumerate(names) if is_proof() or name in SANDBOX_STEPS]
        runs = self._prepared(1, steps)
        self.workflows.functions.configure(function, **{MORTAL_VARIABLE: SANDBOX})
        told = run_concurrently(self.carry, runs, SANDBOXES)
        self.workflows.functions.configure(function, **{MORTAL_VARIABLE: PROCESS})
        settles = find_last(names, WRITTEN)
        ended = [
            EndedRun(run, names[run.steps], not one.was_answered and run.steps >= settles, one.was_answered)
            for run, one in zip(runs, told, strict=True)
        ]
        assert sum(one.was_answered for one in ended) < len(ended) / 2
        return ended

    def _prepared(self, repetitions: int, steps: Sequence[int]) -> Sequence[CrashRun]:
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


def find_last(names: Sequence[str], name: str) -> int:
    """The number of the last step of this name, or that of none."""
    return max((number for number, one in enumerate(names) if one == name), default=NEVER)


def carry_out_submission(workflows: DeployedWorkflows) -> CarryOut:
    def carry(run: CrashRun) -> CallReport:
        submit = {"workflowId": run.workflow_id, "expectedVersion": 1, "transition": "go"}
        arguments = {**submit, "arguments": {"text": LONG}}
        answer = workflows.send("workflow.submit", arguments, {CRASH_STEP: str(run.steps)})
        if answer.status != 200:
            return CallReport(was_answered=False, died_at=answer.headers.get(CRASHED_AT, ""))
        seen = answer.json["result"]["structuredContent"]
        assert (seen["version"], seen["state"]) == (2, "done")
        return CallReport(was_answered=True, passed=answer.headers.get(PASSED_STEPS, "").split(STEP_SEPARATOR))

    return carry


def carry_out_wake(workflows: DeployedWorkflows) -> CarryOut:
    def event(run: CrashRun) -> Mapping[str, Any]:
        record = {
            "messageId": run.effect,
            "receiptHandle": run.effect,
            "body": WakeMessage(workflows.tenant, run.workflow_id).text,
            "attributes": {"ApproximateReceiveCount": "1"},
        }
        return {"Records": [record]}

    return carry_out_invocation(workflows, "Worker", event)


def carry_out_invocation(
    workflows: DeployedWorkflows, function: str, event: Callable[[CrashRun], Mapping[str, Any]]
) -> CarryOut:
    def carry(run: CrashRun) -> CallReport:
        answer = workflows.functions.invoke(function, {**event(run), CRASH_STEP: run.steps})
        if CRASHED_AT in answer:
            return CallReport(was_answered=False, died_at=answer[CRASHED_AT])
        assert answer["batchItemFailures"] == []
        return CallReport(was_answered=True, passed=answer[PASSED_STEPS].split(STEP_SEPARATOR))

    return carry


def wait_until_idle(workflows: DeployedWorkflows, runs: Sequence[CrashRun]) -> None:
    """Wait until none of them is due, because the worker, which the sweeper wakes, has ended or shown it.

    A proof has hundreds of them. The patience is for the next one that is no longer due, not for all.
    """
    wanted = {run.workflow_id for run in runs}
    ends_at, fewest = time.monotonic() + PATIENCE, len(wanted)
    while left := wanted & workflows.list_due():
        if len(left) < fewest:
            ends_at, fewest = time.monotonic() + PATIENCE, len(left)
        assert time.monotonic() < ends_at, [workflows.load_instance(workflow_id).claim for workflow_id in left]
        if workflows.count_queued() == 0:
            workflows.sweep()
        time.sleep(0.5)  # a lease is over when it is over


@dataclass(frozen=True, slots=True)
class RunOutcome:
    ended: EndedRun
    instance: Instance
    effects: int
    events: set[BusEvent]
    """Of the audit."""

    @property
    def name(self) -> str:
        if self.instance.state == "done":
            return "settled"
        return "nothing" if self.instance.claim is None else "in doubt"


def read_outcomes(workflows: DeployedWorkflows, ended: Sequence[EndedRun]) -> Sequence[RunOutcome]:
    def outcome(one: EndedRun) -> RunOutcome:
        stand, events = workflows.load_instance(one.run.workflow_id), workflows.list_bus_events(one.run.workflow_id)
        return RunOutcome(one, stand, effects[one.run.effect], events)

    wait_until_idle(workflows, [one.run for one in ended])
    effects = workflows.count_effects()
    return run_concurrently(outcome, ended)


def check_outcome(outcome: RunOutcome) -> None:
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


def check_audit(outcome: RunOutcome) -> None:
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


def check_doubt_is_shown(near: LocalGateway, outcome: RunOutcome) -> None:
    """What is in doubt is shown."""
    seen = near.call_tool("workflow.get", workflowId=outcome.instance.id)
    assert seen["inDoubt"]["transition"] == "go"
    assert "pending" not in seen


def format_table(title: str, found: Sequence[RunOutcome], took: float) -> str:
    """A line for each step at which somebody died."""
    rows: dict[int, list[RunOutcome]] = defaultdict(list)
    for outcome in found:
        rows[outcome.ended.run.steps].append(outcome)
    lines = [f"  {some[0].ended.step:38} {_format_summary(some)}" for _, some in sorted(rows.items())]
    return "\n".join([f"{title}: {len(found)} killed, {took:.0f} s", *lines])


def _format_summary(some: Sequence[RunOutcome]) -> str:
    counts = Counter((one.ended.run.consents, one.name, one.effects) for one in some)
    words = {False: "without consent", True: "with consent"}
    return "; ".join(
        f"{words[consents]} {count} {name} ({effects} effects)"
        for (consents, name, effects), count in sorted(counts.items())
    )


@dataclass(frozen=True, slots=True)
class OutcomeCheck:
    """Whoever looks at what came of it."""

    workflows: DeployedWorkflows
    near: LocalGateway
    ear: EventListener
    say: ShowLine


@pytest.fixture
def outcome_check(
    workflows: DeployedWorkflows, local_gateway: LocalGateway, event_listener: EventListener, show_line: ShowLine
) -> OutcomeCheck:
    return OutcomeCheck(workflows, local_gateway, event_listener, show_line)


def check_outcomes(court: OutcomeCheck, title: str, ended: Sequence[EndedRun], began: float) -> None:
    found = read_outcomes(court.workflows, ended)
    court.say(format_table(title, found, time.monotonic() - began))
    for outcome in found:
        check_outcome(outcome)
    for outcome in found:
        if outcome.name == "in doubt":
            check_doubt_is_shown(court.near, outcome)
    expected = {event for outcome in found for event in outcome.events}
    assert court.ear.find_missing(expected, PATIENCE) == set()
    court.say(f"  {len(expected)} events, all of them on the bus; {time.monotonic() - began:.0f} s")
    seen = {(outcome.ended.run.consents, outcome.name) for outcome in found}
    assert seen >= {(False, "in doubt"), (False, "settled"), (True, "settled")}


@pytest.mark.invariant(56)
def test_a_gateway_killed_at_any_step_of_a_submit_loses_and_repeats_nothing(
    workflows: DeployedWorkflows, local_gateway: LocalGateway, outcome_check: OutcomeCheck
) -> None:
    began = time.monotonic()
    ended = CrashTrial(workflows, local_gateway, "inline", carry_out_submission(workflows)).kill_at_each_step(TIMES)
    check_outcomes(outcome_check, "gateway, submit", ended, began)


@pytest.mark.invariant(56)
def test_a_gateway_sandbox_killed_at_any_step_of_a_submit_loses_and_repeats_nothing(
    workflows: DeployedWorkflows, local_gateway: LocalGateway, outcome_check: OutcomeCheck
) -> None:
    began = time.monotonic()
    ended = CrashTrial(workflows, local_gateway, "inline", carry_out_submission(workflows)).kill_sandbox_at_each_step(
        "Gateway"
    )
    check_outcomes(outcome_check, "sandbox of the gateway, submit", ended, began)


@pytest.mark.invariant(56)
@pytest.mark.parametrize(("definitions", "repetitions"), WORK, ids=[", ".join(names) for names, _ in WORK])
def test_a_worker_killed_at_any_step_loses_and_repeats_nothing(
    workflows: DeployedWorkflows,
    local_gateway: LocalGateway,
    outcome_check: OutcomeCheck,
    definitions: Sequence[str],
    repetitions: int,
) -> None:
    began, ended = time.monotonic(), dict[str, Sequence[EndedRun]]()
    with workflows.functions.disable_event_sources("Worker"):
        for definition in definitions:
            dying = CrashTrial(
                workflows,
                local_gateway,
                definition,
                carry_out_wake(workflows),
                lambda runs: prepare_for_worker(workflows, local_gateway, runs),
            )
            ended[definition] = dying.kill_at_each_step(repetitions)
        drain_work_queue(workflows)  # the messages that would wake the worker are lost, so that the sweeper has to
    for definition in definitions:
        check_outcomes(outcome_check, f"worker, {definition}", ended[definition], began)


def prepare_for_worker(workflows: DeployedWorkflows, near: LocalGateway, runs: Sequence[CrashRun]) -> None:
    """The pause is over, and the child, if there is one, has ended: the worker has something to go on with."""
    claims = [claim for run in runs if (claim := workflows.load_instance(run.workflow_id).claim) is not None]
    assert [claim.standing for claim in claims] == ["waiting"] * len(runs)
    for claim in claims:
        if claim.child is not None:
            finished = near.call_tool(
                "workflow.submit", workflowId=child_id_of(claim), expectedVersion=1, transition="go"
            )
            assert finished["terminal"] is True
    while time.time() <= max(claim.until for claim in claims):
        time.sleep(0.2)  # only time ends a pause


@pytest.mark.invariant(56)
def test_a_gateway_with_an_ended_lease_does_not_overwrite_a_resolution(
    workflows: DeployedWorkflows, local_gateway: LocalGateway
) -> None:
    """When it writes what came of what it executed, somebody has already said that it did not happen."""
    effect = f"slept-{uuid.uuid4().hex}"
    workflow_id = local_gateway.call_tool("workflow.start", definitionId="inline-careful", input={"effect": effect})[
        "workflowId"
    ]
    may_resolve = workflows.laptop.make_key(workflows.stack, workflows.tenant, permissions=[MAY_RESOLVE])

    def ask(tool: str, **arguments: Any) -> Any:
        answer = workflows.send(tool, arguments, {"authorization": f"Bearer {may_resolve}"})
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

    local_gateway.run_before_next("TransactWriteItems", sleep)
    late = local_gateway.call_tool(
        "workflow.submit", remaining_ms=LONG_CALL_MS, workflowId=workflow_id, expectedVersion=1, transition="go"
    )
    assert (late["error"]["code"], late["state"], late["version"]) == ("STALE_WORKFLOW_VERSION", "open", 1)
    stand = workflows.load_instance(workflow_id)
    assert (stand.state, stand.version, stand.claim) == ("open", 1, None)
    assert workflows.count_effects()[effect] == 1


@pytest.mark.invariant(56)
def test_a_step_of_a_killed_executor_is_in_doubt_and_not_repeated(
    workflows: DeployedWorkflows, local_gateway: LocalGateway
) -> None:
    effect = f"killed-{uuid.uuid4().hex}"
    workflow_id = local_gateway.call_tool("workflow.start", definitionId="killed", input={"effect": effect})[
        "workflowId"
    ]
    for code in ("EXECUTOR_FAILED", "IN_DOUBT"):
        seen = local_gateway.call_tool("workflow.submit", workflowId=workflow_id, expectedVersion=1, transition="go")
        assert (seen["error"]["code"], seen["inDoubt"]["transition"]) == (code, "go")
    assert workflows.count_effects()[effect] == 1


@pytest.mark.invariant(53)
def test_a_workflow_relay_killed_at_any_step_loses_no_event(
    workflows: DeployedWorkflows, local_gateway: LocalGateway, event_listener: EventListener, show_line: ShowLine
) -> None:
    """Lambda shows a batch again of which nobody heard. The emulator does not, so the test shows it again; what had
    been said before the herald died has arrived by then."""
    began = time.monotonic()
    dying = CrashTrial(workflows, local_gateway, "handed-over", carry_out_relay(workflows))
    with workflows.functions.disable_event_sources("Herald", "Worker"):
        drain_work_queue(workflows)
        ended = dying.kill_at_each_step(TIMES)
        had_told = {
            event for one in ended if one.step == TOLD for event in workflows.list_bus_events(one.run.workflow_id)
        }
        assert event_listener.find_missing(had_told, PATIENCE) == set()
        had_sent = {one.run.workflow_id for one in ended if one.step in (SENT, "before eventbridge.PutEvents", TOLD)}
        runs = {one.run.workflow_id for one in ended}
        # The sweeper, which runs every minute, may have sent wakes of the others.
        assert list_woken_ids(drain_work_queue(workflows)) >= had_sent
        again = [replace(one.run, steps=NEVER) for one in ended]
        assert all(told.was_answered for told in run_concurrently(dying.carry, again))
        expected = {event for run in again for event in workflows.list_bus_events(run.workflow_id)}
        assert event_listener.find_missing(expected, PATIENCE) == set()
        assert list_woken_ids(drain_work_queue(workflows)) >= runs
    steps = ", ".join(f"{count} {step}" for step, count in Counter(one.step for one in ended).items())
    show_line(
        f"herald: {len(ended)} killed ({steps}); {len(expected)} events, none lost; {time.monotonic() - began:.0f} s"
    )


def list_woken_ids(messages: Sequence[Any]) -> set[str]:
    return {message["workflowId"] for message in messages}


def carry_out_relay(workflows: DeployedWorkflows) -> CarryOut:
    return carry_out_invocation(workflows, "Herald", lambda run: build_stream_event(workflows, run.workflow_id))


def build_stream_event(workflows: DeployedWorkflows, workflow_id: str) -> Mapping[str, Any]:
    """What the stream shows of its start."""
    found = workflows.dynamodb.query(
        TableName=workflows.stack.deployed.outputs["WorkflowsTableName"],
        KeyConditionExpression="pk = :pk",
        ExpressionAttributeValues={":pk": {"S": keys.workflow(workflows.tenant, workflow_id)}},
    )["Items"]
    rows = [row for row in found if row["sk"]["S"].startswith(keys.AUDIT) or "wake" in row]
    assert len(rows) == 2
    return {"Records": [{"dynamodb": {"NewImage": row, "SequenceNumber": str(n)}} for n, row in enumerate(rows)]}


def drain_work_queue(workflows: DeployedWorkflows) -> Sequence[Any]:
    """What the queue of the worker had."""
    found: list[Any] = []
    while some := receive_messages(workflows.sqs, workflows.stack.deployed.outputs["WorkQueueUrl"]):
        found.extend(some)
    return found
