"""Workflow cases on the engine alone, through the protocol and in memory."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from signpost.adapters.source_json import parse_json_source
from signpost.model import Principal
from signpost.workflow.authoring.compile import CompiledManifest, compile_manifest
from signpost.workflow.definition import ExecutorSpec
from signpost.workflow.engine.steps import ExecutorFailure, ExecutorOutcome
from signpost.workflow.instance import EvidenceItem
from signpost.workflow.ports import StepAttempt, StepOutcome
from tests.acceptance.outcomes import CaseNotPlayed
from tests.acceptance.workflow_cases import Case, Step, principals
from tests.acceptance.workflow_steps import audit_answer
from tests.support.gateway_workflows import TENANT, GatewayWorkflows
from tests.support.memory_gateway import ManualClock

STUB = "stub"


class Stubs:
    """A machine whose executors play a script each; the last entry is played again and again."""

    def __init__(self, clock: ManualClock) -> None:
        self.calls: dict[str, list[Mapping[str, Any]]] = {}
        self._clock = clock

    def timeout_seconds(self, executor: ExecutorSpec, principal: Principal) -> None:
        del executor, principal

    def linger_seconds(self, executor: ExecutorSpec, principal: Principal) -> float:
        del executor, principal
        return 0.0

    def run_attempts(self, attempt: StepAttempt, run: Callable[[], StepOutcome]) -> StepOutcome:
        del attempt
        return run()

    def perform(self, attempt: StepAttempt) -> StepOutcome:
        settings: Mapping[str, Any] = attempt.executor.settings
        called = self.calls.setdefault(settings["id"], [])
        script: Sequence[Mapping[str, Any]] = settings["script"]
        entry = script[min(len(called), len(script) - 1)]
        workflow, named = attempt.step.split(".", 1)
        transition = named.rsplit(".", 1)[0]
        called.append({
            "workflowId": workflow,
            "transition": transition,
            "arguments": attempt.arguments,
            "idempotencyKey": attempt.idempotency_key,
        })  # fmt: skip
        return self._played(entry, attempt)

    def _played(self, entry: Mapping[str, Any], attempt: StepAttempt) -> StepOutcome:
        delay = entry.get("delayMs", 0) / 1000
        if self._clock.now() + delay > attempt.ends_at:
            self._clock.advance(attempt.ends_at - self._clock.now())
            return ExecutorFailure("timeout", "It took too long and was stopped.", "unknown")
        self._clock.advance(delay)
        if "error" in entry:
            return ExecutorFailure(entry["error"], entry.get("message", "as the script says"))
        subject = attempt.principal.subject
        found = [EvidenceItem(item["kind"], subject, item) for item in entry.get("evidence", [])]
        return ExecutorOutcome(entry.get("output"), found)


class InMemory:
    """Time passes when the case says so."""

    def __init__(self, case: Case) -> None:
        self._world = GatewayWorkflows(principals(case, TENANT))
        self._stubs = Stubs(self._world.clock)
        self._world.add_step_executor(STUB, self._stubs)
        found = compile_manifest(parse_json_source(json.dumps(case.manifest), case.id))
        if not isinstance(found, CompiledManifest):
            raise CaseNotPlayed(f"what it defines could not be published: {found}")
        self._world.publish_manifest(found.manifest)
        self._world.host(case.hosted, {str(entry["id"]): entry.get("script", ()) for entry in case.hosts})
        for skill_id, body in case.documents.items():
            self._world.register(skill_id, body)

    def play(self, step: Step) -> Any:
        seen = self._played(step)
        self._world.run_until_idle()
        return seen

    def _played(self, step: Step) -> Any:
        match step.tool:
            case "$sleep":
                self._world.clock.advance(step.args["ms"] / 1000)
                return {}
            case "$stub":
                return {"calls": self._stubs.calls.get(step.args["id"], [])}
            case "$audit":
                return audit_answer(self._world.instances.audit(TENANT, step.args["workflowId"]))
            case _:
                return self._world.call(step.tool, step.args, step.caller)
