"""A state with a timeout of its own: an instance that stays in it too long goes on to another state."""

from collections.abc import Mapping
from typing import Any

import pytest

from signpost.cli.runs.outline import describe_definition
from signpost.cli.runs.timeline import build_timeline
from signpost.model import JsonObject, Principal, as_object
from signpost.workflow.authoring.lint.check import BUILT_IN_KINDS, check_manifest
from signpost.workflow.authoring.source_tree import build_source_node
from signpost.workflow.deadlines import find_deadline
from signpost.workflow.definition import Definition
from signpost.workflow.definition_reader import parse_definition
from signpost.workflow.engine.steps import ExecutorFailure
from signpost.workflow.executor_kinds import ExecutorKinds
from signpost.workflow.pictures.mermaid import render_mermaid
from signpost.workflow.pictures.model import build_picture, trail_of
from tests.support.memory_workflows import TENANT, MemoryWorkflows, check_verified, run_until_idle
from tests.support.played_executors import PlayedExecutor

ANN = Principal("ann", TENANT, "test")
REVIEW: Mapping[str, Any] = {"timeoutMs": 60_000, "onTimeout": {"target": "reminded"}}


def document(**fields: Any) -> JsonObject:
    states: Mapping[str, Any] = {
        "open": {"transitions": {"ask": {"target": "review"}}},
        "review": {
            **REVIEW,
            "transitions": {"note": {"target": "review"}, "approve": {"target": "done"}, "back": {"target": "open"}},
        },
        "reminded": {"transitions": {"approve": {"target": "done"}, "ask": {"target": "review"}}},
        "late": {"terminal": True},
        "done": {"terminal": True},
    }
    return {"initialState": "open", "states": states, **fields}


def definition_of(fields: JsonObject) -> Definition:
    parsed = parse_definition("demo", fields)
    assert isinstance(parsed, Definition), parsed
    return parsed


def begin(fields: JsonObject | None = None, *transitions: str) -> tuple[MemoryWorkflows, str]:
    world = MemoryWorkflows()
    world.publish("demo", fields or document())
    run = world.start(ANN)["workflowId"]
    for transition in transitions:
        world.submit(run, transition, ANN)
    return world, run


def state_after(world: MemoryWorkflows, run: str, seconds: float) -> str:
    world.clock.advance(seconds)
    world.run_until_idle()
    return world.load_instance(run).state


@pytest.mark.invariant(134)
def test_a_state_that_is_not_left_in_time_goes_on_by_the_worker() -> None:
    world, run = begin(None, "ask")
    assert state_after(world, run, 59) == "review"
    assert state_after(world, run, 1) == "reminded"
    (payload,) = world.list_payloads(run, "state.timed_out")
    assert payload == {
        "elapsedMs": 60_000,
        "timeoutMs": 60_000,
        "fromState": "review",
        "toState": "reminded",
        "applied": True,
    }
    assert state_after(world, run, 10**6) == "reminded"
    assert world.instances.find_due(10**12) == []
    check_verified(world.instances, run)


def wake_without_a_sweep(world: MemoryWorkflows, seconds: float) -> None:
    world.clock.advance(seconds)
    run_until_idle(world.waker, world.instances, world.clock, is_swept=False)


@pytest.mark.invariant(134)
def test_a_timeout_is_a_wake_of_the_write_that_sets_it() -> None:
    world, run = begin(None, "ask")
    wake_without_a_sweep(world, 60)
    assert world.load_instance(run).state == "reminded"


ACT: Mapping[str, Any] = {"executor": {"kind": "act"}, "reliability": {"timeoutMs": 5_000}}


@pytest.mark.invariant(134)
@pytest.mark.parametrize(
    "states",
    [
        {"open": {**REVIEW, "onEnter": ACT}},
        {
            "open": {"transitions": {"go": {"target": "busy"}}},
            "busy": {**REVIEW, "transitions": {"step": {"target": "done", "actor": "deterministic", **ACT}}},
        },
    ],
    ids=["on entry", "deterministic"],
)
def test_a_timeout_is_a_wake_of_a_write_that_also_begins_a_step(states: Mapping[str, Any]) -> None:
    """The step fails a second after the state was entered, and leaves the instance in it."""
    world = MemoryWorkflows({"act": PlayedExecutor(lambda _: fail_after(world, 1))})
    ends = {"reminded": {"terminal": True}, "done": {"terminal": True}}
    world.publish("demo", {"initialState": "open", "states": {**states, **ends}})
    run = world.start(ANN)["workflowId"]
    if "busy" in states:
        world.submit(run, "go", ANN)
    wake_without_a_sweep(world, 61)
    assert world.load_instance(run).state == "reminded"


def test_the_timeout_of_a_workflow_is_left_to_the_sweeper_and_to_callers() -> None:
    world, run = begin(document(timeoutMs=300_000, onTimeout={"target": "late"}))
    assert world.instances.wakes == []
    assert state_after(world, run, 300) == "late"


def test_a_timeout_that_is_over_while_a_step_is_executed_follows_the_step() -> None:
    """The step fails after the timeout of its state, so the state has to be left at once."""
    step = {"act": {"target": "done", "executor": {"kind": "act"}, "reliability": {"timeoutMs": 5_000}}}
    states = {
        "open": {"timeoutMs": 2_000, "onTimeout": {"target": "late"}, "transitions": step},
        "late": {"terminal": True},
        "done": {"terminal": True},
    }
    world = MemoryWorkflows({"act": PlayedExecutor(lambda _: fail_after(world, 3))})
    world.publish("demo", {"initialState": "open", "states": states})
    run = world.start(ANN)["workflowId"]
    assert world.submit(run, "act", ANN)["error"]["code"] == "EXECUTOR_FAILED"
    assert world.load_instance(run).state == "open"
    wake_without_a_sweep(world, 0)
    assert world.load_instance(run).state == "late"
    check_verified(world.instances, run)


def fail_after(world: MemoryWorkflows, seconds: float) -> ExecutorFailure:
    world.clock.advance(seconds)
    return ExecutorFailure("permanent_error", "No.")


def test_each_entry_into_a_state_with_a_timeout_has_one_wake() -> None:
    world, run = begin(None, "ask")
    world.clock.advance(10)
    world.submit(run, "note", ANN)
    world.submit(run, "back", ANN)
    assert [wake.at for _, wake in world.instances.wakes] == [world.clock.now() + 50, world.clock.now() + 60]


def test_a_step_that_is_executed_within_a_timeout_wakes_nothing_again() -> None:
    step = {"act": {"target": "late", "executor": {"kind": "act"}, "reliability": {"timeoutMs": 5_000}}}
    states = {
        "open": {"timeoutMs": 300_000, "onTimeout": {"target": "late"}, "transitions": step},
        "late": {"terminal": True},
    }
    world = MemoryWorkflows({"act": PlayedExecutor(lambda _: fail_after(world, 1))})
    world.publish("demo", {"initialState": "open", "states": states})
    run = world.start(ANN)["workflowId"]
    assert world.submit(run, "act", ANN)["error"]["code"] == "EXECUTOR_FAILED"
    assert len(world.instances.wakes) == 1
    wake_without_a_sweep(world, 299)
    assert world.load_instance(run).state == "late"


@pytest.mark.invariant(134)
def test_the_time_counts_from_each_entry_into_the_state() -> None:
    world, run = begin(None, "ask")
    world.clock.advance(50)
    world.submit(run, "note", ANN)
    assert state_after(world, run, 50) == "review"
    world.submit(run, "back", ANN)
    assert state_after(world, run, 1_000) == "open", "it is in another state"
    world.submit(run, "ask", ANN)
    assert state_after(world, run, 60) == "reminded"
    world.submit(run, "ask", ANN)
    assert state_after(world, run, 60) == "reminded", "at each stay"


def test_a_caller_that_comes_too_late_is_told() -> None:
    world, run = begin(None, "ask")
    world.clock.advance(61)
    answer = world.submit(run, "approve", ANN)
    assert (answer["state"], answer["timedOut"]) == ("reminded", True)
    assert "error" not in answer
    assert [link["args"]["transition"] for link in answer["links"] if link["rel"] == "transition"] == [
        "approve",
        "ask",
        "$cancel",
    ]


def test_a_read_applies_the_timeout_of_the_state() -> None:
    world, run = begin(None, "ask")
    world.clock.advance(61)
    assert world.get(run, ANN)["state"] == "reminded"


def test_an_initial_state_has_its_timeout() -> None:
    states = {**as_object(document()["states"]), "open": {**REVIEW, "transitions": {"ask": {"target": "review"}}}}
    world, run = begin({"initialState": "open", "states": states})
    assert state_after(world, run, 60) == "reminded"


@pytest.mark.invariant(134)
@pytest.mark.parametrize(("timeout", "expected"), [(30_000, "late"), (90_000, "reminded")])
def test_the_earlier_of_both_timeouts_counts(timeout: int, expected: str) -> None:
    world, run = begin(document(timeoutMs=timeout, onTimeout={"target": "late"}), "ask")
    assert state_after(world, run, 60) == expected
    assert state_after(world, run, 60) == "late"


def test_a_chain_that_stopped_goes_on_by_the_timeout() -> None:
    stuck = {"only": {"target": "done", "actor": "deterministic", "guards": [{"kind": "role", "role": "nobody"}]}}
    states = {
        "open": {"transitions": {"ask": {"target": "stuck"}}},
        "stuck": {"timeoutMs": 1_000, "onTimeout": {"target": "done"}, "transitions": stuck},
        "done": {"terminal": True},
    }
    world, run = begin({"initialState": "open", "states": states}, "ask")
    assert world.load_instance(run).state == "stuck"
    assert state_after(world, run, 1) == "done"


def test_the_target_is_entered_like_any_state() -> None:
    states = {
        "open": {"timeoutMs": 1_000, "onTimeout": {"target": "chosen"}, "transitions": {"go": {"target": "done"}}},
        "chosen": {"transitions": {"on": {"target": "done", "actor": "deterministic"}}},
        "done": {"terminal": True},
    }
    world, run = begin({"initialState": "open", "states": states})
    assert state_after(world, run, 1) == "done"


def lint(fields: JsonObject) -> list[str]:
    manifest = build_source_node({"version": 1, "workflows": {"demo": fields}})
    return [
        problem.message
        for problem in check_manifest(
            manifest, ExecutorKinds(BUILT_IN_KINDS, BUILT_IN_KINDS), lambda _done, _total: None
        )
    ]


def test_check_knows_the_timeouts_of_states() -> None:
    assert lint(document()) == ["'late' is unreachable: no path leads to it from 'open'"]
    unknown = document()
    states: Any = unknown["states"]
    changed = {**unknown, "states": {**states, "review": {**states["review"], "onTimeout": {"target": "reminde"}}}}
    assert any("there is no state 'reminde'" in message for message in lint(changed))
    half = {**unknown, "states": {**states, "open": {**states["open"], "timeoutMs": 5}}}
    assert any("`timeoutMs` has no effect without a target" in message for message in lint(half))
    other = {**unknown, "states": {**states, "open": {**states["open"], "onTimeout": {"target": "late"}}}}
    assert any("`onTimeout` has no effect without a time" in message for message in lint(other))
    ended = {**unknown, "states": {**states, "done": {**REVIEW, "terminal": True}}}
    assert any("its timeout never happens" in message for message in lint(ended))
    waiting = {
        "initialState": "open",
        "states": {"open": {"timeoutMs": 5, "onTimeout": {"target": "done"}}, "done": {"terminal": True}},
    }
    assert lint(waiting) == [], "a state that only waits is no dead end"


def test_pictures_and_descriptions_show_the_timeout_of_a_state() -> None:
    definition = definition_of(document())
    assert any(
        line.strip() == "times out after 1 min, then goes to reminded" for line in describe_definition(definition)
    )
    picture = render_mermaid(build_picture(definition))
    assert any("timeout" in line and "after 1 min" in line for line in picture.splitlines())


def test_the_timeline_shows_the_next_timeout() -> None:
    world, run = begin(None, "ask")
    instance, now = world.load_instance(run), world.clock.now()
    definition = definition_of(document())
    deadline = find_deadline(definition, instance)
    assert deadline is not None
    assert (deadline.at, deadline.target, deadline.is_of_state) == (now + 60, "reminded", True)
    lines = build_timeline(definition, instance, world.instances.audit(TENANT, run), [], now)
    assert any(line.startswith("times out at ") and line.endswith("and moves to reminded") for line in lines)
    assert state_after(world, run, 60) == "reminded"
    after, hops = world.load_instance(run), [hop for step, _ in world.instances.history(TENANT, run) for hop in step]
    taken = build_picture(definition, trail_of(after, hops, now)).arrows
    assert any(arrow.is_taken and label.name == "timeout" for arrow in taken for label in arrow.labels)
    lines = build_timeline(definition, after, world.instances.audit(TENANT, run), [], now)
    assert any("timed out in review" in line for line in lines)
