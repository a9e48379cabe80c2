"""The acceptance cases that need nothing but the engine, through the protocol and in memory."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from signpost.model import Principal
from signpost.workflow.instance import EvidenceItem
from signpost.workflow.steps import Doing, Failed, Outcome
from tests.acceptance.matching import mismatches
from tests.acceptance.workflow_cases import Case, Step, at_path, load, principals, substituted
from tests.support.workflow_world import TENANT, WorkflowWorld

HERE = {"stub", "audit", "sleep", "principal"}
"""What a case may ask for here; the rest is played on a deployed stack."""


def is_played_here(case: Case) -> bool:
    tools = {step.tool for step in case.steps}
    written = json.dumps(case.definition)
    return (
        case.definition is not None
        and not case.config
        and case.requires <= HERE
        and not any(tool.startswith("gateway.") for tool in tools)
        and '"reliability"' not in written
    )


CASES = [case for case in load() if is_played_here(case)]


class Stubs:
    """Executors that play a script each; the last entry is played again and again."""

    def __init__(self) -> None:
        self.calls: dict[str, list[Mapping[str, Any]]] = {}

    def perform(self, doing: Doing, principal: Principal) -> Outcome | Failed:
        settings: Mapping[str, Any] = doing.executor.settings
        called = self.calls.setdefault(settings["id"], [])
        script: Sequence[Mapping[str, Any]] = settings["script"]
        entry = script[min(len(called), len(script) - 1)]
        called.append({"transition": doing.move.transition, "arguments": doing.arguments})
        if "error" in entry:
            return Failed(entry["error"], entry.get("message", "as the script says"))
        found = [EvidenceItem(item["kind"], principal.subject, item) for item in entry.get("evidence", [])]
        return Outcome(entry.get("output"), found)


class World:
    def __init__(self, case: Case) -> None:
        self._stubs = Stubs()
        self._world = WorkflowWorld(principals(TENANT), {"stub": self._stubs})
        if case.definition_id is not None and case.definition is not None:
            self._world.publish(case.definition_id, case.definition)

    def play(self, step: Step, args: Mapping[str, Any]) -> Any:
        match step.tool:
            case "$sleep":
                self._world.clock.advance(args["ms"] / 1000)
                return {}
            case "$stub":
                return {"calls": self._stubs.calls.get(args["id"], [])}
            case "$audit":
                told = self._world.instances.audit(TENANT, args["workflowId"])
                return {"events": [_event(event) for event in told]}
            case _:
                return self._world.call(step.tool, args, step.caller)


def _event(event: Any) -> Mapping[str, Any]:
    return {
        "event_type": event.record.type,
        "payload": event.record.payload,
        "correlation_id": event.correlation_id,
    }


def problems(case: Case) -> Sequence[str]:
    world, saved, found = World(case), dict[str, Any](), list[str]()
    for number, step in enumerate(case.steps, 1):
        seen = world.play(step, substituted(step.args, saved))
        if step.error is not None:
            said = json.dumps(seen.get("error")) if isinstance(seen, Mapping) else ""
            if not re.search(step.error, said, re.IGNORECASE):
                found.append(f"step {number} {step.tool}: no error like {step.error!r} in {seen}")
        elif step.expect is not None:
            expected = substituted(step.expect, saved)
            found += [f"step {number} {step.tool}: {one}" for one in mismatches(expected, seen)]
        saved |= {name: at_path(seen, path) for name, path in step.save.items()}
    return found


def test_there_are_cases() -> None:
    assert len(CASES) >= 60


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_case(case: Case) -> None:
    assert not problems(case), case.title
