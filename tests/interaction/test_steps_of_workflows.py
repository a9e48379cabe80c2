"""A step that is another workflow: started once, waited for by nobody's time, and its end is what came of the step."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from signpost.model import Principal
from signpost.workflow.engine.permissions import CANCEL
from signpost.workflow.engine.steps import ExecutorFailure, ExecutorOutcome
from signpost.workflow.instance import Instance
from signpost.workflow.ports import StepAttempt, StepOutcome
from signpost.workflow.running.executors.child_workflow import MAX_CHILD_DEPTH
from signpost.workflow.running.step_writer import MAX_HAND_OVERS
from tests.support.machines import Crash, Script
from tests.support.step_cases import AGENT, LEASE, RESOLVER, SECONDS, STRANGER, Case, linked
from tests.support.workshop import CALL, MARGIN, TENANT, by_hints, by_index

BROKEN = ExecutorFailure("permanent_error", "Never.")
DONE: Mapping[str, Any] = {"terminal": True}


def parent(timeout_ms: int | None = None, reliability: Any = None, executor: Any = None, **more: Any) -> Any:
    child: dict[str, Any] = {"kind": "workflow", "definitionId": "child", "input": {"n": "$.arguments.n"}}
    if timeout_ms is not None:
        child["timeoutMs"] = timeout_ms
    go = {"target": "b", "executor": executor or child, "output": {"went": "$.output"}}
    if reliability:
        go["reliability"] = reliability
    states = {"a": {"transitions": {"go": go, "stop": {"target": "b"}}}, "b": DONE, "late": DONE}
    return {"initialState": "a", "states": states, **more}


def quick(**state: Any) -> Any:
    """A child that is over as soon as it is begun."""
    hop = {"target": "end", "actor": "deterministic", "output": {"twice": {"add": ["$.workflow.input.n", 1]}}}
    return {"initialState": "begin", "states": {"begin": {"transitions": {"hop": hop}, **state}, "end": DONE}}


def at_once(executor: Any, **output: Any) -> Any:
    """A child that executes something by itself."""
    hop = {"target": "end", "actor": "deterministic", "executor": executor, "output": output}
    return {"initialState": "begin", "states": {"begin": {"transitions": {"hop": hop}}, "end": DONE}}


def patient(**more: Any) -> Any:
    """A child that waits for somebody, who may execute something."""
    yes = {"target": "end", "output": {"said": "$.arguments.said"}}
    act = {"target": "end", "executor": {"kind": "act"}, "output": {"said": "$.output"}}
    states = {"asked": {"transitions": {"yes": yes, "act": act}}, "end": DONE, "late": DONE}
    return {"initialState": "asked", "states": states, **more}


def running(*entries: Any, child: Any = None, document: Any = None, seconds: float = SECONDS) -> Case:
    case = Case(*entries, seconds=seconds)
    case.shop.publish("child", child or patient())
    return case.begun(document or parent())


def waiting(*entries: Any, child: Any = None, document: Any = None, seconds: float = SECONDS) -> tuple[Case, str]:
    """For a child that has been begun."""
    case = running(*entries, child=child, document=document, seconds=seconds)
    return case, case.go(arguments={"n": 3})["pending"]["workflowId"]


def stand(case: Case, workflow_id: str) -> Instance:
    return case.shop.stand(workflow_id)


def children(case: Case) -> list[str]:
    return [str(payload["sub_workflow_id"]) for payload in case.shop.payloads(case.id, "sub_workflow.started")]


def answer(case: Case, child: str, transition: str = "yes", **arguments: Any) -> Any:
    return case.shop.submit(child, transition, AGENT, arguments)


def test_a_child_that_is_over_at_once_is_a_step_like_any_other() -> None:
    case = running(child=quick())
    told = case.go(arguments={"n": 3})
    assert (told["state"], told["version"], told["context"]) == ("b", 2, {"went": {"twice": 4}})
    (child,) = children(case)
    assert stand(case, child).parent == case.id
    assert stand(case, child).started_by == "agent"
    assert stand(case, child).depth == 1
    case.shop.settle()
    assert case.stand.version == 2
    assert len(case.shop.payloads(case.id, "sub_workflow.completed")) == 1


def test_a_child_that_waits_is_waited_for_and_its_end_is_the_result() -> None:
    case, child = waiting()
    told = case.get()
    assert (told["pending"]["on"], told["pending"]["workflowId"], linked(told)) == ("workflow", child, ["self"])
    assert case.go("stop")["error"]["code"] == "STALE_WORKFLOW_VERSION"
    case.shop.settle()
    case.wait(10**6)
    case.shop.settle()
    assert case.get()["pending"]
    answer(case, child, said="hello")
    assert by_hints(case.shop.waker, case.shop.instances, case.shop.clock) == 1
    assert (case.stand.state, case.stand.version, case.stand.context) == ("b", 2, {"went": {"said": "hello"}})
    assert children(case) == [child]


def test_to_wait_long_costs_nobody_anything() -> None:
    case, _ = waiting()
    case.shop.settle()
    before, told = case.stand, len(case.events)
    for _ in range(2 * MAX_HAND_OVERS):
        case.wait(60)
        case.shop.settle()
        case.shop.wake(case.id)
    assert (_apart_from_looks(case.stand), len(case.events)) == (_apart_from_looks(before), told)
    assert case.shop.instances.find_due(case.shop.clock.now()) == []


def _apart_from_looks(stand: Instance) -> Instance:
    """Once an hour it is written that somebody has looked."""
    assert stand.claim is not None
    return replace(stand, claim=replace(stand.claim, token="", until=0))


def test_a_child_that_fails_fails_the_step_and_is_left_by_everybody() -> None:
    case = running(BROKEN, child=at_once({"kind": "act"}))
    refused = case.go()
    assert (refused["error"]["code"], refused["error"]["message"]) == ("EXECUTOR_FAILED", BROKEN.message)
    assert (refused["version"], linked(refused)) == (1, ["self", "go", "stop"])
    (child,) = children(case)
    assert stand(case, child).cancelled is not None
    assert len(case.shop.payloads(case.id, "sub_workflow.failed")) == 1


def test_a_child_that_fails_later_fails_the_step_then() -> None:
    chained = patient()
    chained["states"]["end"] = {
        "transitions": {"hop": {"target": "late", "actor": "deterministic", "executor": {"kind": "act"}}}
    }
    case, child = waiting(BROKEN, child=chained)
    assert answer(case, child)["error"]["code"] == "CHAIN_FAILED"
    case.shop.settle()
    told = case.get()
    assert told["inDoubt"]["transition"] == "go"  # it has moved before it failed
    assert told["inDoubt"]["message"] == BROKEN.message
    assert stand(case, child).cancelled is not None
    case.wait(10**4)
    again = case.order("$retry")["pending"]["workflowId"]
    assert (again != child, stand(case, again).state) == (True, "asked")


def test_what_a_caller_tried_in_vain_does_not_end_a_child() -> None:
    case, child = waiting(BROKEN, ExecutorOutcome("in the end"))
    assert answer(case, child, "act")["error"]["code"] == "EXECUTOR_FAILED"
    case.shop.settle()
    assert case.get()["pending"]["workflowId"] == child
    answer(case, child, "act")
    case.shop.settle()
    assert case.stand.context == {"went": {"said": "in the end"}}


def test_what_fails_in_a_child_while_nobody_waits_is_for_the_parent_to_hear() -> None:
    case, child = waiting()
    case.shop.machines["act"] = Script(BROKEN, seconds=100)
    assert answer(case, child, "act")["pending"]["transition"] == "act"
    case.shop.settle()
    told = case.get()
    assert (told["fault"]["message"], told["version"], linked(told)) == (BROKEN.message, 1, ["go", "stop"])
    assert stand(case, child).cancelled is not None
    assert case.go()["pending"]["workflowId"] != child


def test_a_child_that_is_cancelled_fails_the_step() -> None:
    case, child = waiting()
    assert answer(case, child, CANCEL)["terminal"]
    case.shop.settle()
    told = case.get()
    assert (told["fault"]["code"], linked(told), told["version"]) == ("EXECUTOR_FAILED", ["go", "stop"], 1)
    assert child in told["fault"]["message"]
    again = case.go()["pending"]["workflowId"]
    assert again != child


def test_who_has_waited_long_enough_gives_up_and_cancels_the_child() -> None:
    case, child = waiting(document=parent(timeout_ms=600_000))
    case.wait(599)
    case.shop.settle()
    assert case.get()["pending"]
    case.wait(1)
    case.shop.settle()
    told = case.get()
    assert (told["fault"]["errorClass"], linked(told)) == ("timeout", ["go", "stop"])
    assert stand(case, child).cancelled is not None
    assert answer(case, child)["error"]["code"] == "INVALID_TRANSITION"
    assert case.shop.payloads(case.id, "sub_workflow.timed_out")[0]["sub_workflow_id"] == child


def test_a_child_that_ends_in_the_last_moment_has_ended() -> None:
    case, child = waiting(document=parent(timeout_ms=600_000))
    case.shop.instances.wakes.clear()
    case.wait(601)
    answer(case, child, said="just")
    case.shop.settle()
    assert case.stand.context == {"went": {"said": "just"}}


def test_a_child_whose_own_time_is_over_has_ended_where_that_led_it() -> None:
    case, child = waiting(child=patient(timeoutMs=60_000, onTimeout={"target": "late"}))
    case.wait(61)
    case.shop.settle()
    assert stand(case, child).state == "late"
    assert (case.stand.state, case.stand.context) == ("b", {"went": {}})


def test_whoever_cancels_the_parent_cancels_the_child() -> None:
    case, child = waiting()
    told = case.go(CANCEL)
    assert (told["terminal"], "pending" in told) == (True, False)
    case.shop.settle()
    assert stand(case, child).cancelled is not None
    assert stand(case, child).cancelled.by == "signpost"  # pyright: ignore[reportOptionalMemberAccess] - said above


def test_the_deadline_of_the_parent_cancels_the_child() -> None:
    case, child = waiting(document=parent(timeoutMs=60_000, onTimeout={"target": "late"}))
    case.wait(61)
    case.shop.settle()
    assert (case.stand.state, case.stand.version) == ("late", 2)
    assert stand(case, child).cancelled is not None


def test_a_child_is_cancelled_to_the_last_of_its_children() -> None:
    case = Case()
    case.shop.publish("child", at_once({"kind": "workflow", "definitionId": "leaf"}))
    case.shop.publish("leaf", patient())
    case.begun(parent())
    child = case.go()["pending"]["workflowId"]
    leaf = case.shop.get(child, AGENT)["pending"]["workflowId"]
    assert stand(case, leaf).depth == 2
    case.go(CANCEL)
    case.shop.settle()
    assert stand(case, child).cancelled is not None
    assert stand(case, leaf).cancelled is not None


def test_the_end_of_a_grandchild_ends_all_that_wait_for_it() -> None:
    case = Case()
    case.shop.publish("child", at_once({"kind": "workflow", "definitionId": "leaf"}, of="$.output.said"))
    case.shop.publish("leaf", patient())
    case.begun(parent())
    child = case.go()["pending"]["workflowId"]
    leaf = case.shop.get(child, AGENT)["pending"]["workflowId"]
    answer(case, leaf, said="up")
    case.shop.settle()
    assert (case.stand.state, case.stand.context) == ("b", {"went": {"of": "up"}})


def test_workflows_wait_for_each_other_ten_deep_and_no_deeper() -> None:
    case = Case()
    case.shop.publish("child", at_once({"kind": "workflow", "definitionId": "child"}))
    case.begun(parent())
    refused = case.go()
    assert (refused["error"]["code"], "At most 10" in refused["error"]["message"]) == ("EXECUTOR_FAILED", True)
    depths: list[int] = []
    child = case.id
    while started := case.shop.payloads(child, "sub_workflow.started"):
        child = str(started[0]["sub_workflow_id"])
        depths.append(stand(case, child).depth)
    assert depths == list(range(1, MAX_CHILD_DEPTH + 1))
    assert stand(case, child).cancelled is not None


def test_a_child_that_cannot_be_started_fails_the_step() -> None:
    case = running(document=parent(executor={"kind": "workflow", "definitionId": "nowhere"}))
    refused = case.go()
    assert (refused["error"]["errorClass"], linked(refused)) == ("permanent_error", ["self", "go", "stop"])
    wrong = running(child=patient(inputSchema={"type": "object", "properties": {"n": {"type": "integer"}}}))
    assert wrong.go(arguments={"n": "x"})["error"]["code"] == "EXECUTOR_FAILED"


def test_what_crashed_while_it_started_a_child_starts_no_second_one() -> None:
    crashed: list[Callable[[StepAttempt], StepOutcome]] = []

    def crash(errand: StepAttempt) -> StepOutcome:
        came = real.perform(errand)
        if not crashed:
            crashed.append(real.perform)
            raise Crash
        return came

    case = running()
    real = case.shop.machines["workflow"]
    case.shop.machines["workflow"] = Script(*[crash] * 3)
    case.crashes()
    (child,) = [key for _, key in _ids(case) if key != case.id]
    case.wait(CALL + LEASE)
    case.shop.settle()
    assert case.get()["pending"]["workflowId"] == child
    answer(case, child, said="one")
    case.shop.settle()
    assert case.stand.context == {"went": {"said": "one"}}
    assert len(_ids(case)) == 2


def _ids(case: Case) -> list[tuple[str, str]]:
    return list(case.shop.instances._rows)  # pyright: ignore[reportPrivateUsage] - all there are


def test_each_try_has_a_child_of_its_own_and_the_one_before_is_over() -> None:
    busy = ExecutorFailure("transient_error", "Not now.")
    case = running(
        busy,
        ExecutorOutcome(),
        child=at_once({"kind": "act"}),
        document=parent(reliability={"retry": {"maxAttempts": 2}}),
    )
    assert case.go(arguments={"n": 1})["state"] == "b"
    first, second = children(case)
    assert first != second
    assert stand(case, first).cancelled is not None
    assert stand(case, second).state == "end"


CHILD_INSTEAD: Mapping[str, Any] = {
    "fallback": {"executors": [{"kind": "workflow", "definitionId": "child", "input": {"n": "$.arguments.n"}}]}
}


def test_a_child_may_stand_in_for_what_failed() -> None:
    document = parent(executor={"kind": "act"}, reliability=CHILD_INSTEAD)
    case, child = waiting(BROKEN, document=document)
    assert stand(case, child).input == {"n": 3}
    case.shop.settle()
    answer(case, child, said="hello")
    case.shop.settle()
    assert (case.stand.state, case.stand.context) == ("b", {"went": {"said": "hello"}})
    assert (children(case), len(case.script.errands)) == ([child], 1)


def test_what_a_child_may_stand_in_for_has_a_lease_for_all_of_its_time() -> None:
    leases: list[float] = []

    def slow(errand: StepAttempt) -> StepOutcome:
        held = case.stand.claim
        assert held is not None
        leases.append(held.until - case.shop.clock.now())
        assert (held.token, errand.ends_at - case.shop.clock.now()) == (errand.claim.token, 100)
        return ExecutorOutcome("done")

    case = running(slow, document=parent(executor={"kind": "act"}, reliability=CHILD_INSTEAD), seconds=100)
    case.go(arguments={"n": 3})
    case.shop.settle()
    assert (leases, case.stand.context) == ([100 + MARGIN], {"went": "done"})


def test_what_stands_in_for_a_child_that_failed_does_so_once_that_is_over() -> None:
    document = parent(reliability={"fallback": {"executors": [{"kind": "act"}]}})
    case, first = waiting(ExecutorOutcome("instead"), document=document)
    answer(case, first, CANCEL)
    case.shop.settle()
    assert (case.stand.state, case.stand.context, len(case.script.errands)) == ("b", {"went": "instead"}, 1)


def test_a_child_that_was_not_waited_for_any_longer_is_followed_by_a_fresh_one_that_has_as_much_time() -> None:
    case, first = waiting(document=parent(timeout_ms=600_000, reliability={"retry": {"maxAttempts": 2}}))
    case.wait(600)
    case.shop.settle()
    second = case.get()["pending"]["workflowId"]
    assert second != first
    assert (stand(case, first).cancelled is not None, stand(case, second).cancelled) == (True, None)
    case.wait(599)
    case.shop.settle()
    assert case.get()["pending"]["workflowId"] == second
    answer(case, second, said="now")
    case.shop.settle()
    assert case.stand.context == {"went": {"said": "now"}}


def test_a_child_has_the_time_of_its_parents_call_and_goes_on_without_it() -> None:
    def slow(_: StepAttempt) -> StepOutcome:
        case.wait(20)
        return ExecutorOutcome()

    names = ["s0", "s1", "s2", "s3"]
    hops: dict[str, Any] = {
        here: {"transitions": {"hop": {"target": there, "actor": "deterministic", "executor": {"kind": "act"}}}}
        for here, there in zip(names, [*names[1:], "end"], strict=True)
    }
    case = running(slow, slow, slow, slow, child={"initialState": "s0", "states": {**hops, "end": DONE}}, seconds=20)
    now = case.shop.clock.now()
    told = case.go()
    assert told["pending"]["on"] == "workflow"
    assert case.shop.clock.now() - now < CALL
    case.shop.settle()
    assert (case.stand.state, len(case.script.errands)) == ("b", 4)


def test_whoever_wanted_the_parents_step_is_behind_the_child() -> None:
    case = running(child=patient(readers=[{"kind": "expr", "expr": "1 == 1"}]))
    other = Principal("other", TENANT, "t", roles=frozenset({"clerk"}))
    child = case.go(by=other)["pending"]["workflowId"]
    assert stand(case, child).started_by == "other"
    assert case.shop.submit(child, CANCEL, STRANGER)["error"]["code"] == "GUARD_REJECTED"


@pytest.mark.parametrize("is_hinted", [True, False])
def test_a_child_without_a_parent_that_waits_for_it_is_cancelled_whoever_wakes_it(is_hinted: bool) -> None:
    case, child = waiting(child=patient(timeoutMs=10**6, onTimeout={"target": "late"}))
    case.go(CANCEL)
    if is_hinted:
        assert by_hints(case.shop.waker, case.shop.instances, case.shop.clock) >= 1
    else:
        case.shop.instances.wakes.clear()
        case.wait(10**4)
        case.shop.settle()
    assert case.shop.get(child, AGENT)["terminal"] is True


def test_the_hint_alone_is_enough_to_give_up() -> None:
    case, child = waiting(document=parent(timeout_ms=600_000))
    while by_hints(case.shop.waker, case.shop.instances, case.shop.clock):
        pass
    case.wait(600)
    assert by_hints(case.shop.waker, case.shop.instances, case.shop.clock) == 1
    assert case.get()["fault"]["errorClass"] == "timeout"
    assert stand(case, child).cancelled is not None


def acting_twice() -> Any:
    """A child that waits again after it has executed something."""
    act = {"target": "again", "executor": {"kind": "act"}}
    states = {"asked": {"transitions": {"act": act}}, "again": {"transitions": {"act": act}}}
    return {"initialState": "asked", "states": states}


def test_a_child_that_executes_something_is_cancelled_when_that_is_settled() -> None:
    def cancelled(_: StepAttempt) -> StepOutcome:
        assert case.go(CANCEL)["terminal"] is True
        case.shop.settle()
        assert stand(case, child).claim is not None
        return ExecutorOutcome()

    case, child = waiting(cancelled, child=acting_twice())
    told = answer(case, child, "act")
    assert (told["state"], told["version"]) == ("again", 2)
    case.shop.settle()
    assert stand(case, child).cancelled is not None
    assert stand(case, child).version == 3


def test_a_child_that_is_in_doubt_is_cancelled_when_that_is_resolved() -> None:
    unknown = ExecutorFailure("timeout", "Nobody knows.", "unknown")
    case, child = waiting(unknown, child=acting_twice())
    answer(case, child, "act")
    case.go(CANCEL)
    case.shop.settle()
    held = stand(case, child).claim
    assert held is not None
    case.shop.submit(child, "$resolve", RESOLVER, {"claim": held.token, "happened": False})
    case.shop.settle()
    assert stand(case, child).cancelled is not None


def test_whoever_has_given_up_waits_for_what_the_child_executes_and_no_longer() -> None:
    def overtaken(_: StepAttempt) -> StepOutcome:
        case.wait(4)
        case.shop.settle()
        assert case.get()["pending"]["workflowId"] == child
        return ExecutorOutcome()

    case, child = waiting(overtaken, child=acting_twice(), document=parent(timeout_ms=600_000))
    case.wait(598)
    answer(case, child, "act")
    case.wait(60)
    case.shop.settle()
    assert stand(case, child).cancelled is not None
    assert case.get()["inDoubt"]["transition"] == "go"  # something was done, and not all of it


def acting(**more: Any) -> Any:
    """A child that goes on after somebody has executed something."""
    act = {"target": "acted", "executor": {"kind": "act"}}
    states = {
        "asked": {"transitions": {"act": act}},
        "acted": {"transitions": {"finish": {"target": "end"}}},
        "late": {"onEnter": {"executor": {"kind": "act"}}, "transitions": {"act": act}},
        "end": DONE,
    }
    return {"initialState": "asked", "states": states, **more}


def meanwhile(case: Case, happens: Callable[[], Any]) -> None:
    """Right before the child is cancelled for the next time."""
    workflows, cancel = case.shop.workflows, case.shop.workflows.cancel_by_system

    def cancelled(tenant: str, workflow_id: str, ends_at: float) -> None:
        workflows.cancel_by_system = cancel
        happens()
        cancel(tenant, workflow_id, ends_at)

    workflows.cancel_by_system = cancelled


def test_what_a_child_does_at_the_moment_at_which_it_is_given_up_counts() -> None:
    case, child = waiting(ExecutorOutcome(), child=acting(), document=parent(timeout_ms=60_000))
    case.wait(61)
    meanwhile(case, lambda: answer(case, child, "act"))
    case.shop.settle()
    assert stand(case, child).cancelled is not None
    assert case.get()["inDoubt"]["transition"] == "go"


def test_a_child_that_goes_on_at_the_moment_at_which_its_fault_is_seen_is_judged_by_what_it_did() -> None:
    case, child = waiting(BROKEN, ExecutorOutcome(), child=acting(), document=parent(), seconds=100)
    assert answer(case, child, "act")["pending"]["on"] == "executor"
    meanwhile(case, lambda: case.shop.submit(child, "act", AGENT, {}, seconds=900))
    case.shop.settle()
    assert stand(case, child).cancelled is not None
    assert case.get()["inDoubt"]["transition"] == "go"


def test_a_child_that_executes_when_its_fault_is_seen_is_waited_for() -> None:
    case, child = waiting(BROKEN, Crash(), child=acting(), document=parent(), seconds=100)
    answer(case, child, "act")

    def begins() -> None:
        with pytest.raises(Crash):
            case.shop.submit(child, "act", AGENT, {}, seconds=900)

    meanwhile(case, begins)
    case.shop.settle()
    assert stand(case, child).cancelled is None
    assert case.stand.claim.standing == "waiting"


def test_nobody_is_left_behind_in_the_timeout_of_a_child_whose_parent_has_gone() -> None:
    case, child = waiting(child=acting(timeoutMs=60_000, onTimeout={"target": "late"}))
    case.wait(61)
    case.go(CANCEL)
    case.shop.settle()
    assert (stand(case, child).cancelled is not None, case.script.errands) == (True, [])


def test_a_child_that_times_out_with_the_step_that_waits_for_it_is_cancelled_before_another_is_begun() -> None:
    again = {"retry": {"maxAttempts": 2, "retryOn": ["timeout"]}}
    document = parent(timeout_ms=60_000, reliability=again)
    case, child = waiting(child=acting(timeoutMs=60_000, onTimeout={"target": "late"}), document=document)
    case.wait(60)
    case.shop.wake(case.id)
    assert stand(case, child).cancelled is not None
    assert len(children(case)) == 2


def test_that_a_child_is_looked_after_by_anybody_lets_nobody_begin_another() -> None:
    """To look after it does nothing twice; another one would."""
    case, child = waiting(ExecutorOutcome(), BROKEN, child=acting())
    answer(case, child, "act")
    case.shop.submit(child, CANCEL, AGENT, {})
    case.shop.settle()
    assert linked(case.get(STRANGER)) == ["self"]
    case.shop.publish("child", at_once({"kind": "act"}))
    assert case.order("$retry", RESOLVER)["inDoubt"]["transition"] == "go"
    case.wait(LEASE * 10)
    assert linked(case.get(STRANGER)) == ["self"]
    assert case.order("$retry", STRANGER)["error"]["code"] == "GUARD_REJECTED"


def test_an_end_that_nobody_was_told_of_is_found_by_the_next_look_at_what_is_due() -> None:
    case, child = waiting()
    case.shop.settle()
    answer(case, child, said="hello")
    case.shop.instances.wakes.clear()  # whoever was to wake the parent has died
    assert by_index(case.shop.waker, case.shop.instances, case.shop.clock) == 1
    assert case.stand.state == "b"
    case.shop.settle()
    assert case.shop.instances.find_due(10**12) == []


def test_a_fault_that_nobody_was_told_of_is_found_likewise_and_the_child_is_left() -> None:
    case, child = waiting(BROKEN, child=acting(), document=parent(), seconds=100)
    answer(case, child, "act")
    by_hints(case.shop.waker, case.shop.instances, case.shop.clock)
    assert stand(case, child).fault is not None
    case.shop.instances.wakes.clear()
    case.shop.settle()
    assert (case.stand.claim, case.stand.fault is None, stand(case, child).cancelled is None) == (None, False, False)
    assert case.shop.instances.find_due(10**12) == []


def test_who_is_in_doubt_because_of_a_child_is_told_once() -> None:
    case, child = waiting(ExecutorOutcome(), child=acting())
    answer(case, child, "act")
    case.shop.submit(child, CANCEL, AGENT, {})
    case.shop.settle()
    assert case.get()["inDoubt"]["transition"] == "go"
    assert case.shop.instances.find_due(10**12) == []
