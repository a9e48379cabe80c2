"""A step that is another workflow: started once, waited for by nobody's time, and its end is what came of the step."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from signpost.model import Principal
from signpost.testing.embedded_worker import process_due_wakes, wake_due_instances
from signpost.workflow.engine.permissions import CANCEL
from signpost.workflow.engine.steps import ExecutorFailure, ExecutorOutcome
from signpost.workflow.instance import Instance
from signpost.workflow.ports import StepAttempt, StepOutcome
from signpost.workflow.running.executors.child_workflow import MAX_CHILD_DEPTH
from signpost.workflow.running.step_writer import MAX_HAND_OVERS
from tests.support.memory_workflows import CALL_SECONDS, LEASE_MARGIN, TENANT
from tests.support.played_executors import ExecutorCrash, ScriptedExecutor
from tests.support.step_cases import (
    AGENT,
    ATTEMPT_SECONDS,
    LEASE_SECONDS,
    RESOLVER,
    STRANGER,
    StepCase,
    list_link_names,
)

BROKEN = ExecutorFailure("permanent_error", "Never.")
DONE: Mapping[str, Any] = {"terminal": True}


def parent_definition(timeout_ms: int | None = None, reliability: Any = None, executor: Any = None, **more: Any) -> Any:
    child: dict[str, Any] = {"kind": "workflow", "definitionId": "child", "input": {"n": "$.arguments.n"}}
    if timeout_ms is not None:
        child["timeoutMs"] = timeout_ms
    go = {"target": "b", "executor": executor or child, "output": {"went": "$.output"}}
    if reliability:
        go["reliability"] = reliability
    states = {"a": {"transitions": {"go": go, "stop": {"target": "b"}}}, "b": DONE, "late": DONE}
    return {"initialState": "a", "states": states, **more}


def quick_child(**state: Any) -> Any:
    """A child that is over as soon as it is begun."""
    hop = {"target": "end", "actor": "deterministic", "output": {"twice": {"add": ["$.workflow.input.n", 1]}}}
    return {"initialState": "begin", "states": {"begin": {"transitions": {"hop": hop}, **state}, "end": DONE}}


def executing_child(executor: Any, **output: Any) -> Any:
    """A child that executes something by itself."""
    hop = {"target": "end", "actor": "deterministic", "executor": executor, "output": output}
    return {"initialState": "begin", "states": {"begin": {"transitions": {"hop": hop}}, "end": DONE}}


def waiting_child(**more: Any) -> Any:
    """A child that waits for somebody, who may execute something."""
    yes = {"target": "end", "output": {"said": "$.arguments.said"}}
    act = {"target": "end", "executor": {"kind": "act"}, "output": {"said": "$.output"}}
    states = {"asked": {"transitions": {"yes": yes, "act": act}}, "end": DONE, "late": DONE}
    return {"initialState": "asked", "states": states, **more}


def case_with_child(
    *entries: Any, child: Any = None, document: Any = None, seconds: float = ATTEMPT_SECONDS
) -> StepCase:
    case = StepCase(*entries, seconds=seconds)
    case.workflows.publish("child", child or waiting_child())
    return case.start(document or parent_definition())


def case_waiting_for_child(
    *entries: Any, child: Any = None, document: Any = None, seconds: float = ATTEMPT_SECONDS
) -> tuple[StepCase, str]:
    """For a child that has been begun."""
    case = case_with_child(*entries, child=child, document=document, seconds=seconds)
    return case, case.submit(arguments={"n": 3})["pending"]["workflowId"]


def load_child(case: StepCase, workflow_id: str) -> Instance:
    return case.workflows.load_instance(workflow_id)


def children(case: StepCase) -> list[str]:
    return [
        str(payload["sub_workflow_id"]) for payload in case.workflows.list_payloads(case.id, "sub_workflow.started")
    ]


def submit_to_child(case: StepCase, child: str, transition: str = "yes", **arguments: Any) -> Any:
    return case.workflows.submit(child, transition, AGENT, arguments)


def test_a_child_that_ends_at_once_settles_the_step_at_once() -> None:
    case = case_with_child(child=quick_child())
    told = case.submit(arguments={"n": 3})
    assert (told["state"], told["version"], told["context"]) == ("b", 2, {"went": {"twice": 4}})
    (child,) = children(case)
    assert load_child(case, child).parent == case.id
    assert load_child(case, child).started_by == "agent"
    assert load_child(case, child).depth == 1
    case.workflows.run_until_idle()
    assert case.instance.version == 2
    assert len(case.workflows.list_payloads(case.id, "sub_workflow.completed")) == 1


def test_a_step_waits_for_its_child_and_takes_its_result() -> None:
    case, child = case_waiting_for_child()
    told = case.get()
    assert (told["pending"]["on"], told["pending"]["workflowId"], list_link_names(told)) == (
        "workflow",
        child,
        ["self"],
    )
    assert case.submit("stop")["error"]["code"] == "STALE_WORKFLOW_VERSION"
    case.workflows.run_until_idle()
    case.advance(10**6)
    case.workflows.run_until_idle()
    assert case.get()["pending"]
    submit_to_child(case, child, said="hello")
    assert process_due_wakes(case.workflows.waker, case.workflows.instances, case.workflows.clock) == 1
    assert (case.instance.state, case.instance.version, case.instance.context) == ("b", 2, {"went": {"said": "hello"}})
    assert children(case) == [child]


def test_a_long_wait_for_a_child_writes_only_hourly_claims() -> None:
    case, _ = case_waiting_for_child()
    case.workflows.run_until_idle()
    before, told = case.instance, len(case.events)
    for _ in range(2 * MAX_HAND_OVERS):
        case.advance(60)
        case.workflows.run_until_idle()
        case.workflows.wake(case.id)
    assert (without_claim_times(case.instance), len(case.events)) == (without_claim_times(before), told)
    assert case.workflows.instances.find_due(case.workflows.clock.now()) == []


def without_claim_times(stand: Instance) -> Instance:
    """Once an hour it is written that somebody has looked."""
    assert stand.claim is not None
    return replace(stand, claim=replace(stand.claim, token="", until=0))


def test_a_failed_child_fails_the_step_and_is_cancelled() -> None:
    case = case_with_child(BROKEN, child=executing_child({"kind": "act"}))
    refused = case.submit()
    assert (refused["error"]["code"], refused["error"]["message"]) == ("EXECUTOR_FAILED", BROKEN.message)
    assert (refused["version"], list_link_names(refused)) == (1, ["self", "go", "stop"])
    (child,) = children(case)
    assert load_child(case, child).cancelled is not None
    assert len(case.workflows.list_payloads(case.id, "sub_workflow.failed")) == 1


def test_a_child_that_fails_after_a_move_leaves_the_step_in_doubt() -> None:
    chained = waiting_child()
    chained["states"]["end"] = {
        "transitions": {"hop": {"target": "late", "actor": "deterministic", "executor": {"kind": "act"}}}
    }
    case, child = case_waiting_for_child(BROKEN, child=chained)
    assert submit_to_child(case, child)["error"]["code"] == "CHAIN_FAILED"
    case.workflows.run_until_idle()
    told = case.get()
    assert told["inDoubt"]["transition"] == "go"  # it has moved before it failed
    assert told["inDoubt"]["message"] == BROKEN.message
    assert load_child(case, child).cancelled is not None
    case.advance(10**4)
    again = case.submit_override("$retry")["pending"]["workflowId"]
    assert (again != child, load_child(case, again).state) == (True, "asked")


def test_a_refused_submission_does_not_end_a_child() -> None:
    case, child = case_waiting_for_child(BROKEN, ExecutorOutcome("in the end"))
    assert submit_to_child(case, child, "act")["error"]["code"] == "EXECUTOR_FAILED"
    case.workflows.run_until_idle()
    assert case.get()["pending"]["workflowId"] == child
    submit_to_child(case, child, "act")
    case.workflows.run_until_idle()
    assert case.instance.context == {"went": {"said": "in the end"}}


def test_a_failure_of_the_worker_in_a_child_fails_the_parent_step() -> None:
    case, child = case_waiting_for_child()
    case.workflows.step_executors["act"] = ScriptedExecutor(BROKEN, seconds=100)
    assert submit_to_child(case, child, "act")["pending"]["transition"] == "act"
    case.workflows.run_until_idle()
    told = case.get()
    assert (told["fault"]["message"], told["version"], list_link_names(told)) == (BROKEN.message, 1, ["go", "stop"])
    assert load_child(case, child).cancelled is not None
    assert case.submit()["pending"]["workflowId"] != child


def test_a_child_that_is_cancelled_fails_the_step() -> None:
    case, child = case_waiting_for_child()
    assert submit_to_child(case, child, CANCEL)["terminal"]
    case.workflows.run_until_idle()
    told = case.get()
    assert (told["fault"]["code"], list_link_names(told), told["version"]) == ("EXECUTOR_FAILED", ["go", "stop"], 1)
    assert child in told["fault"]["message"]
    again = case.submit()["pending"]["workflowId"]
    assert again != child


def test_a_step_that_times_out_cancels_its_child() -> None:
    case, child = case_waiting_for_child(document=parent_definition(timeout_ms=600_000))
    case.advance(599)
    case.workflows.run_until_idle()
    assert case.get()["pending"]
    case.advance(1)
    case.workflows.run_until_idle()
    told = case.get()
    assert (told["fault"]["errorClass"], list_link_names(told)) == ("timeout", ["go", "stop"])
    assert load_child(case, child).cancelled is not None
    assert submit_to_child(case, child)["error"]["code"] == "INVALID_TRANSITION"
    assert case.workflows.list_payloads(case.id, "sub_workflow.timed_out")[0]["sub_workflow_id"] == child


def test_a_child_that_ends_before_its_timeout_is_noticed_is_a_result() -> None:
    case, child = case_waiting_for_child(document=parent_definition(timeout_ms=600_000))
    case.workflows.instances.wakes.clear()
    case.advance(601)
    submit_to_child(case, child, said="just")
    case.workflows.run_until_idle()
    assert case.instance.context == {"went": {"said": "just"}}


def test_a_child_that_ends_by_its_own_timeout_is_a_result() -> None:
    case, child = case_waiting_for_child(child=waiting_child(timeoutMs=60_000, onTimeout={"target": "late"}))
    case.advance(61)
    case.workflows.run_until_idle()
    assert load_child(case, child).state == "late"
    assert (case.instance.state, case.instance.context) == ("b", {"went": {}})


def test_cancelling_the_parent_cancels_the_child() -> None:
    case, child = case_waiting_for_child()
    told = case.submit(CANCEL)
    assert (told["terminal"], "pending" in told) == (True, False)
    case.workflows.run_until_idle()
    assert load_child(case, child).cancelled is not None
    assert load_child(case, child).cancelled.by == "signpost"  # pyright: ignore[reportOptionalMemberAccess] - said above


def test_the_deadline_of_the_parent_cancels_the_child() -> None:
    case, child = case_waiting_for_child(document=parent_definition(timeoutMs=60_000, onTimeout={"target": "late"}))
    case.advance(61)
    case.workflows.run_until_idle()
    assert (case.instance.state, case.instance.version) == ("late", 2)
    assert load_child(case, child).cancelled is not None


def test_cancelling_a_child_cancels_all_its_descendants() -> None:
    case = StepCase()
    case.workflows.publish("child", executing_child({"kind": "workflow", "definitionId": "leaf"}))
    case.workflows.publish("leaf", waiting_child())
    case.start(parent_definition())
    child = case.submit()["pending"]["workflowId"]
    leaf = case.workflows.get(child, AGENT)["pending"]["workflowId"]
    assert load_child(case, leaf).depth == 2
    case.submit(CANCEL)
    case.workflows.run_until_idle()
    assert load_child(case, child).cancelled is not None
    assert load_child(case, leaf).cancelled is not None


def test_the_end_of_a_grandchild_settles_all_waiting_ancestors() -> None:
    case = StepCase()
    case.workflows.publish("child", executing_child({"kind": "workflow", "definitionId": "leaf"}, of="$.output.said"))
    case.workflows.publish("leaf", waiting_child())
    case.start(parent_definition())
    child = case.submit()["pending"]["workflowId"]
    leaf = case.workflows.get(child, AGENT)["pending"]["workflowId"]
    submit_to_child(case, leaf, said="up")
    case.workflows.run_until_idle()
    assert (case.instance.state, case.instance.context) == ("b", {"went": {"of": "up"}})


def test_child_workflows_are_at_most_ten_deep() -> None:
    case = StepCase()
    case.workflows.publish("child", executing_child({"kind": "workflow", "definitionId": "child"}))
    case.start(parent_definition())
    refused = case.submit()
    assert (refused["error"]["code"], "At most 10" in refused["error"]["message"]) == ("EXECUTOR_FAILED", True)
    depths: list[int] = []
    child = case.id
    while started := case.workflows.list_payloads(child, "sub_workflow.started"):
        child = str(started[0]["sub_workflow_id"])
        depths.append(load_child(case, child).depth)
    assert depths == list(range(1, MAX_CHILD_DEPTH + 1))
    assert load_child(case, child).cancelled is not None


def test_a_child_that_cannot_be_started_fails_the_step() -> None:
    case = case_with_child(document=parent_definition(executor={"kind": "workflow", "definitionId": "nowhere"}))
    refused = case.submit()
    assert (refused["error"]["errorClass"], list_link_names(refused)) == ("permanent_error", ["self", "go", "stop"])
    wrong = case_with_child(
        child=waiting_child(inputSchema={"type": "object", "properties": {"n": {"type": "integer"}}})
    )
    assert wrong.submit(arguments={"n": "x"})["error"]["code"] == "EXECUTOR_FAILED"


def test_a_crash_after_the_start_of_a_child_starts_no_second_child() -> None:
    crashed: list[Callable[[StepAttempt], StepOutcome]] = []

    def crash(errand: StepAttempt) -> StepOutcome:
        came = real.perform(errand)
        if not crashed:
            crashed.append(real.perform)
            raise ExecutorCrash
        return came

    case = case_with_child()
    real = case.workflows.step_executors["workflow"]
    case.workflows.step_executors["workflow"] = ScriptedExecutor(*[crash] * 3)
    case.submit_and_crash()
    (child,) = [key for _, key in _ids(case) if key != case.id]
    case.advance(CALL_SECONDS + LEASE_SECONDS)
    case.workflows.run_until_idle()
    assert case.get()["pending"]["workflowId"] == child
    submit_to_child(case, child, said="one")
    case.workflows.run_until_idle()
    assert case.instance.context == {"went": {"said": "one"}}
    assert len(_ids(case)) == 2


def _ids(case: StepCase) -> list[tuple[str, str]]:
    return list(case.workflows.instances._rows)  # pyright: ignore[reportPrivateUsage] - all there are


def test_each_attempt_starts_its_own_child_and_cancels_the_previous_one() -> None:
    busy = ExecutorFailure("transient_error", "Not now.")
    case = case_with_child(
        busy,
        ExecutorOutcome(),
        child=executing_child({"kind": "act"}),
        document=parent_definition(reliability={"retry": {"maxAttempts": 2}}),
    )
    assert case.submit(arguments={"n": 1})["state"] == "b"
    first, second = children(case)
    assert first != second
    assert load_child(case, first).cancelled is not None
    assert load_child(case, second).state == "end"


CHILD_INSTEAD: Mapping[str, Any] = {
    "fallback": {"executors": [{"kind": "workflow", "definitionId": "child", "input": {"n": "$.arguments.n"}}]}
}


def test_a_child_workflow_can_be_a_fallback() -> None:
    document = parent_definition(executor={"kind": "act"}, reliability=CHILD_INSTEAD)
    case, child = case_waiting_for_child(BROKEN, document=document)
    assert load_child(case, child).input == {"n": 3}
    case.workflows.run_until_idle()
    submit_to_child(case, child, said="hello")
    case.workflows.run_until_idle()
    assert (case.instance.state, case.instance.context) == ("b", {"went": {"said": "hello"}})
    assert (children(case), len(case.script.attempts)) == ([child], 1)


def test_an_executor_with_a_child_fallback_has_a_lease_for_its_whole_time() -> None:
    leases: list[float] = []

    def slow(errand: StepAttempt) -> StepOutcome:
        held = case.instance.claim
        assert held is not None
        leases.append(held.until - case.workflows.clock.now())
        assert (held.token, errand.ends_at - case.workflows.clock.now()) == (errand.claim.token, 100)
        return ExecutorOutcome("done")

    case = case_with_child(
        slow, document=parent_definition(executor={"kind": "act"}, reliability=CHILD_INSTEAD), seconds=100
    )
    case.submit(arguments={"n": 3})
    case.workflows.run_until_idle()
    assert (leases, case.instance.context) == ([100 + LEASE_MARGIN], {"went": "done"})


def test_a_fallback_of_a_failed_child_is_executed_once() -> None:
    document = parent_definition(reliability={"fallback": {"executors": [{"kind": "act"}]}})
    case, first = case_waiting_for_child(ExecutorOutcome("instead"), document=document)
    submit_to_child(case, first, CANCEL)
    case.workflows.run_until_idle()
    assert (case.instance.state, case.instance.context, len(case.script.attempts)) == ("b", {"went": "instead"}, 1)


def test_a_retry_after_a_timeout_starts_a_new_child_with_full_time() -> None:
    case, first = case_waiting_for_child(
        document=parent_definition(timeout_ms=600_000, reliability={"retry": {"maxAttempts": 2}})
    )
    case.advance(600)
    case.workflows.run_until_idle()
    second = case.get()["pending"]["workflowId"]
    assert second != first
    assert (load_child(case, first).cancelled is not None, load_child(case, second).cancelled) == (True, None)
    case.advance(599)
    case.workflows.run_until_idle()
    assert case.get()["pending"]["workflowId"] == second
    submit_to_child(case, second, said="now")
    case.workflows.run_until_idle()
    assert case.instance.context == {"went": {"said": "now"}}


def test_a_child_longer_than_the_call_of_its_parent_is_continued_by_the_worker() -> None:
    def slow(_: StepAttempt) -> StepOutcome:
        case.advance(20)
        return ExecutorOutcome()

    names = ["s0", "s1", "s2", "s3"]
    hops: dict[str, Any] = {
        here: {"transitions": {"hop": {"target": there, "actor": "deterministic", "executor": {"kind": "act"}}}}
        for here, there in zip(names, [*names[1:], "end"], strict=True)
    }
    case = case_with_child(
        slow, slow, slow, slow, child={"initialState": "s0", "states": {**hops, "end": DONE}}, seconds=20
    )
    now = case.workflows.clock.now()
    told = case.submit()
    assert told["pending"]["on"] == "workflow"
    assert case.workflows.clock.now() - now < CALL_SECONDS
    case.workflows.run_until_idle()
    assert (case.instance.state, len(case.script.attempts)) == ("b", 4)


def test_a_child_is_started_by_the_submitter_of_the_parent_step() -> None:
    case = case_with_child(child=waiting_child(readers=[{"kind": "expr", "expr": "1 == 1"}]))
    other = Principal("other", TENANT, "t", roles=frozenset({"clerk"}))
    child = case.submit(by=other)["pending"]["workflowId"]
    assert load_child(case, child).started_by == "other"
    assert case.workflows.submit(child, CANCEL, STRANGER)["error"]["code"] == "GUARD_REJECTED"


@pytest.mark.parametrize("is_hinted", [True, False])
def test_a_child_of_a_cancelled_parent_is_cancelled_by_wake_or_by_index(is_hinted: bool) -> None:
    case, child = case_waiting_for_child(child=waiting_child(timeoutMs=10**6, onTimeout={"target": "late"}))
    case.submit(CANCEL)
    if is_hinted:
        assert process_due_wakes(case.workflows.waker, case.workflows.instances, case.workflows.clock) >= 1
    else:
        case.workflows.instances.wakes.clear()
        case.advance(10**4)
        case.workflows.run_until_idle()
    assert case.workflows.get(child, AGENT)["terminal"] is True


def test_a_wake_alone_times_out_a_waiting_step() -> None:
    case, child = case_waiting_for_child(document=parent_definition(timeout_ms=600_000))
    while process_due_wakes(case.workflows.waker, case.workflows.instances, case.workflows.clock):
        pass
    case.advance(600)
    assert process_due_wakes(case.workflows.waker, case.workflows.instances, case.workflows.clock) == 1
    assert case.get()["fault"]["errorClass"] == "timeout"
    assert load_child(case, child).cancelled is not None


def child_acting_twice() -> Any:
    """A child that waits again after it has executed something."""
    act = {"target": "again", "executor": {"kind": "act"}}
    states = {"asked": {"transitions": {"act": act}}, "again": {"transitions": {"act": act}}}
    return {"initialState": "asked", "states": states}


def test_a_child_with_a_running_step_is_cancelled_once_it_is_settled() -> None:
    def cancelled(_: StepAttempt) -> StepOutcome:
        assert case.submit(CANCEL)["terminal"] is True
        case.workflows.run_until_idle()
        assert load_child(case, child).claim is not None
        return ExecutorOutcome()

    case, child = case_waiting_for_child(cancelled, child=child_acting_twice())
    told = submit_to_child(case, child, "act")
    assert (told["state"], told["version"]) == ("again", 2)
    case.workflows.run_until_idle()
    assert load_child(case, child).cancelled is not None
    assert load_child(case, child).version == 3


def test_a_child_in_doubt_is_cancelled_once_it_is_resolved() -> None:
    unknown = ExecutorFailure("timeout", "Nobody knows.", "unknown")
    case, child = case_waiting_for_child(unknown, child=child_acting_twice())
    submit_to_child(case, child, "act")
    case.submit(CANCEL)
    case.workflows.run_until_idle()
    held = load_child(case, child).claim
    assert held is not None
    case.workflows.submit(child, "$resolve", RESOLVER, {"claim": held.token, "happened": False})
    case.workflows.run_until_idle()
    assert load_child(case, child).cancelled is not None


def test_a_timed_out_step_waits_for_the_running_step_of_its_child() -> None:
    def overtaken(_: StepAttempt) -> StepOutcome:
        case.advance(4)
        case.workflows.run_until_idle()
        assert case.get()["pending"]["workflowId"] == child
        return ExecutorOutcome()

    case, child = case_waiting_for_child(
        overtaken, child=child_acting_twice(), document=parent_definition(timeout_ms=600_000)
    )
    case.advance(598)
    submit_to_child(case, child, "act")
    case.advance(60)
    case.workflows.run_until_idle()
    assert load_child(case, child).cancelled is not None
    assert case.get()["inDoubt"]["transition"] == "go"  # something was done, and not all of it


def child_acting_once(**more: Any) -> Any:
    """A child that goes on after somebody has executed something."""
    act = {"target": "acted", "executor": {"kind": "act"}}
    states = {
        "asked": {"transitions": {"act": act}},
        "acted": {"transitions": {"finish": {"target": "end"}}},
        "late": {"onEnter": {"executor": {"kind": "act"}}, "transitions": {"act": act}},
        "end": DONE,
    }
    return {"initialState": "asked", "states": states, **more}


def run_before_next_cancel(case: StepCase, happens: Callable[[], Any]) -> None:
    """Right before the child is cancelled for the next time."""
    workflows, cancel = case.workflows.workflows, case.workflows.workflows.cancel_by_system

    def cancelled(tenant: str, workflow_id: str, ends_at: float) -> None:
        workflows.cancel_by_system = cancel
        happens()
        cancel(tenant, workflow_id, ends_at)

    workflows.cancel_by_system = cancelled


def test_a_move_of_a_child_during_its_timeout_leaves_the_step_in_doubt() -> None:
    case, child = case_waiting_for_child(
        ExecutorOutcome(), child=child_acting_once(), document=parent_definition(timeout_ms=60_000)
    )
    case.advance(61)
    run_before_next_cancel(case, lambda: submit_to_child(case, child, "act"))
    case.workflows.run_until_idle()
    assert load_child(case, child).cancelled is not None
    assert case.get()["inDoubt"]["transition"] == "go"


def test_a_move_of_a_faulted_child_before_its_cancellation_leaves_the_step_in_doubt() -> None:
    case, child = case_waiting_for_child(
        BROKEN, ExecutorOutcome(), child=child_acting_once(), document=parent_definition(), seconds=100
    )
    assert submit_to_child(case, child, "act")["pending"]["on"] == "executor"
    run_before_next_cancel(case, lambda: case.workflows.submit(child, "act", AGENT, {}, seconds=900))
    case.workflows.run_until_idle()
    assert load_child(case, child).cancelled is not None
    assert case.get()["inDoubt"]["transition"] == "go"


def test_a_faulted_child_with_a_running_step_is_waited_for() -> None:
    case, child = case_waiting_for_child(
        BROKEN, ExecutorCrash(), child=child_acting_once(), document=parent_definition(), seconds=100
    )
    submit_to_child(case, child, "act")

    def begins() -> None:
        with pytest.raises(ExecutorCrash):
            case.workflows.submit(child, "act", AGENT, {}, seconds=900)

    run_before_next_cancel(case, begins)
    case.workflows.run_until_idle()
    assert load_child(case, child).cancelled is None
    assert case.instance.claim.standing == "waiting"


def test_a_timed_out_child_of_a_cancelled_parent_is_cancelled() -> None:
    case, child = case_waiting_for_child(child=child_acting_once(timeoutMs=60_000, onTimeout={"target": "late"}))
    case.advance(61)
    case.submit(CANCEL)
    case.workflows.run_until_idle()
    assert (load_child(case, child).cancelled is not None, case.script.attempts) == (True, [])


def test_a_child_that_times_out_with_its_step_is_cancelled_before_a_retry() -> None:
    again = {"retry": {"maxAttempts": 2, "retryOn": ["timeout"]}}
    document = parent_definition(timeout_ms=60_000, reliability=again)
    case, child = case_waiting_for_child(
        child=child_acting_once(timeoutMs=60_000, onTimeout={"target": "late"}), document=document
    )
    case.advance(60)
    case.workflows.wake(case.id)
    assert load_child(case, child).cancelled is not None
    assert len(children(case)) == 2


def test_a_step_in_doubt_because_of_its_child_needs_a_resolver_to_retry() -> None:
    """To look after it does nothing twice; another one would."""
    case, child = case_waiting_for_child(ExecutorOutcome(), BROKEN, child=child_acting_once())
    submit_to_child(case, child, "act")
    case.workflows.submit(child, CANCEL, AGENT, {})
    case.workflows.run_until_idle()
    assert list_link_names(case.get(STRANGER)) == ["self"]
    case.workflows.publish("child", executing_child({"kind": "act"}))
    assert case.submit_override("$retry", RESOLVER)["inDoubt"]["transition"] == "go"
    case.advance(LEASE_SECONDS * 10)
    assert list_link_names(case.get(STRANGER)) == ["self"]
    assert case.submit_override("$retry", STRANGER)["error"]["code"] == "GUARD_REJECTED"


def test_the_end_of_a_child_is_found_by_the_sweep_without_a_wake() -> None:
    case, child = case_waiting_for_child()
    case.workflows.run_until_idle()
    submit_to_child(case, child, said="hello")
    case.workflows.instances.wakes.clear()  # whoever was to wake the parent has died
    assert wake_due_instances(case.workflows.waker, case.workflows.instances, case.workflows.clock) == 1
    assert case.instance.state == "b"
    case.workflows.run_until_idle()
    assert case.workflows.instances.find_due(10**12) == []


def test_the_fault_of_a_child_is_found_by_the_sweep_without_a_wake() -> None:
    case, child = case_waiting_for_child(BROKEN, child=child_acting_once(), document=parent_definition(), seconds=100)
    submit_to_child(case, child, "act")
    process_due_wakes(case.workflows.waker, case.workflows.instances, case.workflows.clock)
    assert load_child(case, child).fault is not None
    case.workflows.instances.wakes.clear()
    case.workflows.run_until_idle()
    assert (case.instance.claim, case.instance.fault is None, load_child(case, child).cancelled is None) == (
        None,
        False,
        False,
    )
    assert case.workflows.instances.find_due(10**12) == []


def test_a_step_in_doubt_because_of_its_child_is_not_due_again() -> None:
    case, child = case_waiting_for_child(ExecutorOutcome(), child=child_acting_once())
    submit_to_child(case, child, "act")
    case.workflows.submit(child, CANCEL, AGENT, {})
    case.workflows.run_until_idle()
    assert case.get()["inDoubt"]["transition"] == "go"
    assert case.workflows.instances.find_due(10**12) == []
