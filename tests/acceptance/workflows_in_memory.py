"""Workflow cases on the engine alone, through the protocol and in memory."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from signpost.adapters.written_json import written_json
from signpost.model import Principal
from signpost.workflow.configuration import Configuration, resolved
from signpost.workflow.definition import Executor
from signpost.workflow.instance import EvidenceItem
from signpost.workflow.ports import Came, Errand
from signpost.workflow.steps import Failed, Outcome
from tests.acceptance.outcomes import NotPlayed
from tests.acceptance.workflow_cases import Case, Step, principals
from tests.acceptance.workflow_steps import told
from tests.support.memory_gateway import SetClock
from tests.support.workflow_world import TENANT, WorkflowWorld

STUB = "stub"


class Stubs:
    """A machine whose executors play a script each; the last entry is played again and again."""

    def __init__(self, clock: SetClock) -> None:
        self.calls: dict[str, list[Mapping[str, Any]]] = {}
        self._clock = clock

    def seconds(self, executor: Executor, principal: Principal) -> None:
        del executor, principal

    def lingers(self, executor: Executor, principal: Principal) -> float:
        del executor, principal
        return 0.0

    def guarded(self, errand: Errand, tries: Callable[[], Came]) -> Came:
        del errand
        return tries()

    def perform(self, errand: Errand) -> Came:
        settings: Mapping[str, Any] = errand.executor.settings
        called = self.calls.setdefault(settings["id"], [])
        script: Sequence[Mapping[str, Any]] = settings["script"]
        entry = script[min(len(called), len(script) - 1)]
        workflow, named = errand.step.split(".", 1)
        transition = named.rsplit(".", 1)[0]
        called.append({
            "workflowId": workflow,
            "transition": transition,
            "arguments": errand.arguments,
            "idempotencyKey": errand.idempotency_key,
        })  # fmt: skip
        return self._played(entry, errand)

    def _played(self, entry: Mapping[str, Any], errand: Errand) -> Came:
        delay = entry.get("delayMs", 0) / 1000
        if self._clock.now() + delay > errand.ends_at:
            self._clock.advance(errand.ends_at - self._clock.now())
            return Failed("timeout", "It took too long and was stopped.", "unknown")
        self._clock.advance(delay)
        if "error" in entry:
            return Failed(entry["error"], entry.get("message", "as the script says"))
        subject = errand.principal.subject
        found = [EvidenceItem(item["kind"], subject, item) for item in entry.get("evidence", [])]
        return Outcome(entry.get("output"), found)


class InMemory:
    """Time passes when the case says so."""

    def __init__(self, case: Case) -> None:
        self._world = WorkflowWorld(principals(case, TENANT))
        self._stubs = Stubs(self._world.clock)
        self._world.has(STUB, self._stubs)
        found = resolved(written_json(json.dumps(case.manifest), case.id))
        if not isinstance(found, Configuration):
            raise NotPlayed(f"what it defines could not be published: {found}")
        self._world.publish_manifest(found.manifest)

    def play(self, step: Step) -> Any:
        seen = self._played(step)
        self._world.settle()
        return seen

    def _played(self, step: Step) -> Any:
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
