"""Workflow cases on the engine alone, through the protocol and in memory."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from signpost.adapters.written_json import written_json
from signpost.model import Principal
from signpost.workflow.configuration import Configuration, resolved
from signpost.workflow.instance import EvidenceItem
from signpost.workflow.steps import Doing, Failed, Outcome
from tests.acceptance.outcomes import NotPlayed
from tests.acceptance.workflow_cases import Case, Step, principals
from tests.acceptance.workflow_steps import told
from tests.support.workflow_world import TENANT, WorkflowWorld


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


class InMemory:
    """Time passes when the case says so."""

    def __init__(self, case: Case) -> None:
        self._stubs = Stubs()
        self._world = WorkflowWorld(principals(case, TENANT), {"stub": self._stubs})
        found = resolved(written_json(json.dumps(case.manifest), case.id))
        if not isinstance(found, Configuration):
            raise NotPlayed(f"what it defines could not be published: {found}")
        self._world.publish_manifest(found.manifest)

    def play(self, step: Step) -> Any:
        match step.tool:
            case "$sleep":
                self._world.clock.advance(step.args["ms"] / 1000)
                return {}
            case "$stub":
                return {"calls": self._stubs.calls.get(step.args["id"], [])}
            case "$audit":
                return told(self._world.instances.audit(TENANT, step.args["workflowId"]))
            case _:
                return self._world.call(step.tool, step.args, step.caller)
