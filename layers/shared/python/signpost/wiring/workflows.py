"""Builds the workflow services. Imported at the first call that drives a workflow, since lists do not need them."""

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from signpost.adapters.clock import UtcTimeFormat
from signpost.adapters.dynamodb.instances import DynamoInstanceStore
from signpost.catalogue.cache import CatalogueView
from signpost.catalogue.catalogue_access import CatalogueAccess
from signpost.catalogue.definitions import CatalogueDefinitions
from signpost.records import dataclass
from signpost.schema.validation import Validators
from signpost.surfaces.gateway.workflow_tools import WorkflowToolRunner
from signpost.surfaces.long_calls import LongCalls
from signpost.surfaces.reply_results import ReplyResults
from signpost.surfaces.tasks import Tasks
from signpost.wiring.calling import CallServices
from signpost.workflow.engine.engine import Engine
from signpost.workflow.engine.steps import CHILD_WORKFLOW_KIND, FUNCTION_KIND, HUMAN_KIND, NOOP_KIND
from signpost.workflow.running.attempts import ExecutionServices
from signpost.workflow.running.executors.child_workflow import ChildWorkflowExecutor
from signpost.workflow.running.executors.function import FunctionStepExecutor
from signpost.workflow.running.executors.human import HumanExecutor
from signpost.workflow.running.run_tasks import RunTasks
from signpost.workflow.running.service import Workflows
from signpost.workflow.running.step_rights import RightsOfRequest
from signpost.workflow.running.step_writer import StepWriter
from signpost.workflow.running.wakeups import Waker

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

    from signpost.catalogue.run_functions import RunFunctions
    from signpost.content.ports import AnswerStore
    from signpost.ports import Alarm, Clock, Ids, TextStore
    from signpost.workflow.ports import (
        DefinitionSource,
        InstanceStore,
        Pause,
        PrincipalCheck,
        ScheduleSource,
        StepExecutor,
        StepRights,
        Timetables,
    )
    from signpost.workflow.running.event_starts import TriggerStarter
    from signpost.workflow.running.schedule_starts import ScheduleStarter


@dataclass(frozen=True, slots=True)
class WorkflowAdapters:
    """The adapters that the workflow services need beside the definitions and the step executors."""

    instances: "InstanceStore"
    clock: "Clock"
    ids: "Ids"
    pause: "Pause"
    alarm: "Alarm"
    lease_margin: float
    """Seconds for which a claim outlasts the time that its step may take."""
    rights: "StepRights"


@dataclass(frozen=True, slots=True)
class WorkflowServices:
    """The services that drive workflows, for tool calls and for the worker."""

    workflows: Workflows
    driving: WorkflowToolRunner
    waker: Waker


def build_instance_store(dynamodb: "DynamoDBClient", table: str, values: "TextStore") -> "InstanceStore":
    return DynamoInstanceStore(dynamodb, table, values)


def build_definitions(
    catalogue: CatalogueView, access: CatalogueAccess, functions: "RunFunctions", texts: "TextStore"
) -> "DefinitionSource":
    return CatalogueDefinitions(catalogue=catalogue, access=access, functions=functions, texts=texts)


def build_pause() -> "Pause":
    return time.sleep


def build_rights_of_request(principals: "PrincipalCheck") -> "StepRights":
    return RightsOfRequest(principals)


@dataclass(frozen=True, slots=True)
class StepExecutorParts:
    """The collaborators of step executors."""

    calling: CallServices
    workflows: Workflows
    clock: "Clock"
    ids: "Ids"


STEP_EXECUTORS: Mapping[str, Callable[[StepExecutorParts], "StepExecutor"]] = {
    HUMAN_KIND: lambda parts: HumanExecutor(clock=parts.clock, ids=parts.ids),
    FUNCTION_KIND: lambda parts: FunctionStepExecutor(
        functions=parts.calling.functions,
        executors=parts.calling.unguarded,
        breaker=parts.calling.breaker,
        validators=parts.workflows.validators,
    ),
    CHILD_WORKFLOW_KIND: lambda parts: ChildWorkflowExecutor(parts.workflows, parts.clock),
}
"""Builds the step executors of every deployment, by kind."""
EXECUTED_KINDS = (NOOP_KIND, *STEP_EXECUTORS)
"""The kinds of executors that every deployment runs. The engine itself runs NOOP_KIND."""


def build_step_executors(
    calling: CallServices, workflows: Workflows, clock: "Clock", ids: "Ids"
) -> Mapping[str, "StepExecutor"]:
    parts = StepExecutorParts(calling, workflows, clock, ids)
    return {kind: build(parts) for kind, build in STEP_EXECUTORS.items()}


def build_workflow_services(
    adapters: WorkflowAdapters,
    definitions: "DefinitionSource",
    step_executors: Callable[[Workflows], Mapping[str, "StepExecutor"]],
) -> WorkflowServices:
    """Build the services. `step_executors` builds the step executors by kind, some of which drive workflows."""
    by_kind: dict[str, StepExecutor] = {}
    instances, clock, ids = adapters.instances, adapters.clock, adapters.ids
    engine = Engine(Validators(adapters.alarm))
    services = ExecutionServices(
        step_executors=by_kind,
        clock=clock,
        pause=adapters.pause,
        lease_margin=adapters.lease_margin,
        rights=adapters.rights,
    )
    step_writer = StepWriter(instances=instances, services=services, engine=engine, ids=ids)
    workflows = Workflows(
        definitions=definitions, instances=instances, step_writer=step_writer, engine=engine, clock=clock, ids=ids
    )
    by_kind.update(step_executors(workflows))
    waker = Waker(workflows=workflows, step_writer=step_writer, engine=engine, clock=clock, ids=ids)
    return WorkflowServices(workflows, WorkflowToolRunner(workflows), waker)


@dataclass(frozen=True, slots=True)
class OwnStarts:
    """The starters of workflows that no caller starts: by schedules and by triggers."""

    schedules: "ScheduleStarter"
    events: "TriggerStarter"


def build_own_starts(
    adapters: WorkflowAdapters, schedules: "ScheduleSource", timetables: "Timetables", workflows: Workflows
) -> OwnStarts:
    """Build the starters of schedules and triggers. `workflows` must find only definitions that policy allows the
    principal."""
    # Imported on first use: only the worker starts workflows without a caller.
    from signpost.workflow.running.event_starts import OneRunStarter, TriggerStarter  # noqa: PLC0415
    from signpost.workflow.running.schedule_starts import ScheduleStarter  # noqa: PLC0415 - as above

    starter = OneRunStarter(workflows=workflows, instances=adapters.instances, clock=adapters.clock)
    scheduled = ScheduleStarter(
        schedules=schedules,
        timetables=timetables,
        starter=starter,
        instances=adapters.instances,
        clock=adapters.clock,
        ids=adapters.ids,
    )
    return OwnStarts(scheduled, TriggerStarter(starter))


def build_tasks(
    services: WorkflowServices, instances: "InstanceStore", long_answers: "AnswerStore", clock: "Clock"
) -> Tasks:
    return Tasks(
        runs=RunTasks(workflows=services.workflows, instances=instances, clock=clock),
        workflows=services.workflows,
        results=ReplyResults(long_answers),
        clock=clock,
        times=UtcTimeFormat(),
    )


def build_long_calls(
    services: WorkflowServices, calling: CallServices, clock: "Clock", alarm: "Alarm", tasks: Tasks
) -> LongCalls:
    return LongCalls(
        workflows=services.workflows,
        functions=calling.functions,
        breaker=calling.breaker,
        clock=clock,
        validators=Validators(alarm),
        tasks=tasks,
    )
