"""Workflows in memory with their step executors: the test plays the executors, advances the clock, and wakes due
instances."""

from collections.abc import Mapping
from typing import Any

from signpost.adapters.alarm import alarm
from signpost.adapters.ids import RandomIds
from signpost.adapters.memory import MemoryApiKeys
from signpost.adapters.memory.definitions import MemoryDefinitions
from signpost.adapters.memory.instances import MemoryInstanceStore
from signpost.identity.api_keys import ApiKeyAuthenticator
from signpost.model import JsonObject, Principal
from signpost.schema.validation import Validators
from signpost.settings import LEASE_MARGIN_MS
from signpost.testing.embedded_worker import WORKER_SECONDS, run_until_idle
from signpost.workflow.engine.engine import Engine
from signpost.workflow.engine.steps import CHILD_WORKFLOW_KIND, HUMAN_KIND, Submission
from signpost.workflow.instance import Instance
from signpost.workflow.ports import InstanceStore, StepExecutor, StepRights
from signpost.workflow.running.answers import build_answer
from signpost.workflow.running.attempts import ExecutionServices
from signpost.workflow.running.executors.child_workflow import ChildWorkflowExecutor
from signpost.workflow.running.executors.human import HumanExecutor
from signpost.workflow.running.service import StartRequest, StepResult, WorkflowRefusal, Workflows
from signpost.workflow.running.step_rights import RightsOfRequest
from signpost.workflow.running.step_writer import StepWriter
from signpost.workflow.running.verification import VerifiedRun, verify_record
from signpost.workflow.running.wakeups import Waker
from tests.support.memory_gateway import ManualClock

TENANT = "acme"
CALL_SECONDS = 29.0
"""The seconds of a gateway's call."""
LEASE_MARGIN = LEASE_MARGIN_MS / 1000
"""The lease margin, in seconds."""

type ToolAnswer = Any
"""The answer to a caller, as the tools give it."""


class MemoryWorkflows:
    def __init__(
        self,
        machines: Mapping[str, StepExecutor] | None = None,
        *,
        clock: ManualClock | None = None,
        instances: MemoryInstanceStore | None = None,
        store: InstanceStore | None = None,
        rights: StepRights | None = None,
    ) -> None:
        """Compose the workflows. `store` is placed in front of the instances, to make their use fail. `rights` are
        looked up before each attempt; those of a request if there are none."""
        self.clock = clock or ManualClock()
        self.instances = instances or MemoryInstanceStore()
        self.step_executors: dict[str, StepExecutor] = dict(machines or {})
        self.definitions, ids, engine = MemoryDefinitions(), RandomIds(), Engine(Validators(alarm))
        used_store = store or self.instances
        services = ExecutionServices(
            step_executors=self.step_executors,
            clock=self.clock,
            pause=self.clock.advance,
            lease_margin=LEASE_MARGIN,
            rights=rights or RightsOfRequest(ApiKeyAuthenticator(keys=MemoryApiKeys(), clock=self.clock)),
        )
        self.step_executors[HUMAN_KIND] = HumanExecutor(clock=self.clock, ids=ids)
        step_writer = StepWriter(instances=used_store, services=services, engine=engine, ids=ids)
        self.workflows = Workflows(
            definitions=self.definitions,
            instances=used_store,
            step_writer=step_writer,
            engine=engine,
            clock=self.clock,
            ids=ids,
        )
        self.step_executors[CHILD_WORKFLOW_KIND] = ChildWorkflowExecutor(self.workflows, self.clock)
        self.waker = Waker(workflows=self.workflows, step_writer=step_writer, engine=engine, clock=self.clock, ids=ids)

    def publish(self, definition_id: str, document: JsonObject) -> None:
        self.definitions.publish(TENANT, definition_id, document)

    def request_start(
        self, by: Principal, requested: str | StartRequest = "demo", seconds: float = CALL_SECONDS
    ) -> StepResult | WorkflowRefusal:
        start = requested if isinstance(requested, StartRequest) else StartRequest(requested)
        return self.workflows.start(start, by, self.clock.now() + seconds)

    def start(self, by: Principal, requested: str | StartRequest = "demo", seconds: float = CALL_SECONDS) -> ToolAnswer:
        return _said(self.request_start(by, requested, seconds), is_start=True)

    def submit(
        self,
        workflow_id: str,
        transition: str,
        by: Principal,
        arguments: JsonObject | None = None,
        *,
        version: int | None = None,
        seconds: float = CALL_SECONDS,
    ) -> ToolAnswer:
        """Submit a transition, at the current version unless another one is given."""
        expected = self.load_instance(workflow_id).version if version is None else version
        submitted = Submission(expected, transition, arguments or {}, by)
        return _said(self.workflows.submit(workflow_id, submitted, self.clock.now() + seconds))

    def get(self, workflow_id: str, by: Principal) -> ToolAnswer:
        return _said(self.workflows.get(workflow_id, by, self.clock.now() + CALL_SECONDS))

    def load_instance(self, workflow_id: str) -> Instance:
        instance = self.instances.load(TENANT, workflow_id)
        assert instance is not None
        return instance

    def wake(self, workflow_id: str, seconds: float = WORKER_SECONDS) -> None:
        self.waker.wake(TENANT, workflow_id, self.clock.now() + seconds)

    def run_until_idle(self) -> None:
        run_until_idle(self.waker, self.instances, self.clock, is_swept=True)

    def list_event_types(self, workflow_id: str) -> list[str]:
        return [event.record.type for event in self.instances.audit(TENANT, workflow_id)]

    def list_payloads(self, workflow_id: str, kind: str) -> list[JsonObject]:
        events = self.instances.audit(TENANT, workflow_id)
        return [event.record.payload for event in events if event.record.type == kind]


def check_verified(instances: MemoryInstanceStore, workflow_id: str) -> None:
    """Check that the whole record of an instance agrees with its hashes."""
    record = instances.read_record(TENANT, workflow_id)
    assert record is not None
    result = verify_record(record)
    assert isinstance(result, VerifiedRun), result
    assert result.is_complete


def _said(result: StepResult | WorkflowRefusal, *, is_start: bool = False) -> ToolAnswer:
    if isinstance(result, WorkflowRefusal):
        return {"error": {"code": result.code, "message": result.message}, "links": []}
    return build_answer(result.definition, result.step, is_start=is_start)
