"""Published content that an earlier release does not understand: schedules, triggers with workflows and values of their
own, timeouts of states, and values inside of lists and objects."""

from collections.abc import Iterator, Sequence

from signpost.cli.doctor.findings import Finding, note
from signpost.content.model import Subscription
from signpost.records import dataclass
from signpost.workflow.definition import Definition, State

PAGE = "docs/operations.md#upgrade-and-rollback"


@dataclass(frozen=True, slots=True)
class DefinitionUse:
    """The parts of a published definition that an earlier release does not understand."""

    workflow: str
    timed_states: Sequence[str]
    """The states with a timeout of their own."""
    nested_steps: Sequence[str]
    """The steps whose mappings are resolved inside of lists and objects, each with its state."""

    @property
    def is_understood(self) -> bool:
        return not (self.timed_states or self.nested_steps)


@dataclass(frozen=True, slots=True)
class NewContent:
    """The published content of a tenant that an earlier release may not understand."""

    schedules: Sequence[str] = ()
    """The ids of the schedules."""
    triggers: Sequence[Subscription] = ()
    definitions: Sequence[DefinitionUse] = ()


def find_use(definition: Definition) -> DefinitionUse:
    states = definition.states.values()
    return DefinitionUse(
        workflow=definition.id,
        timed_states=[state.name for state in states if state.timeout_ms is not None],
        nested_steps=[step for state in states for step in _list_nested_steps(state)],
    )


def _list_nested_steps(state: State) -> Iterator[str]:
    if state.on_enter is not None and state.on_enter.resolves_nested:
        yield f"{state.name}.onEnter"
    yield from (f"{state.name}.{name}" for name, step in state.transitions.items() if step.resolves_nested)


def judge_content(tenant: str, content: NewContent) -> Iterator[Finding]:
    yield from (_find_schedule(tenant, schedule) for schedule in content.schedules)
    for trigger in content.triggers:
        if trigger.kind == "workflow":
            yield _find_workflow_trigger(tenant, trigger)
        elif trigger.metadata or trigger.timeout_ms is not None:
            yield _find_trigger_values(tenant, trigger)
    yield from (_find_timed_states(tenant, use) for use in content.definitions if use.timed_states)
    yield from (_find_nested_values(tenant, use) for use in content.definitions if use.nested_steps)


def _find_schedule(tenant: str, schedule: str) -> Finding:
    return note(
        "schedule_ignored",
        f"schedule {schedule} of tenant {tenant}",
        "An earlier release starts no workflows by schedules, and its publications of workflows remove the schedules.",
        f"Publish the manifest again after the next upgrade ({PAGE}).",
    )


def _find_workflow_trigger(tenant: str, trigger: Subscription) -> Finding:
    return note(
        "trigger_fails",
        f"trigger {trigger.trigger_type} of tenant {tenant}",
        f"An earlier release does not start the workflow {trigger.target} for the event {trigger.trigger_type}: the "
        "delivery fails, and its message goes to the queue of dead letters.",
        "Publish the manifest without this trigger, with `--prune`, before you go back, and with it after the next "
        f"upgrade ({PAGE}).",
    )


def _find_trigger_values(tenant: str, trigger: Subscription) -> Finding:
    return note(
        "trigger_values_ignored",
        f"trigger {trigger.trigger_type} of tenant {tenant}",
        f"An earlier release calls {trigger.target} for the event {trigger.trigger_type} without the trigger's "
        "`metadata`, and its call may take longer than `timeout_ms`.",
        f"Let the function work without them before you go back ({PAGE}).",
    )


def _find_timed_states(tenant: str, use: DefinitionUse) -> Finding:
    return note(
        "state_timeout_ignored",
        f"workflow {use.workflow} of tenant {tenant}",
        f"An earlier release keeps runs of {use.workflow} in a state beyond its `timeoutMs` "
        f"({', '.join(use.timed_states)}). Runs that it moves into such a state stay there also after the next "
        "upgrade.",
        f"Move or cancel these runs yourself while the earlier release runs ({PAGE}).",
    )


def _find_nested_values(tenant: str, use: DefinitionUse) -> Finding:
    return note(
        "values_not_resolved",
        f"workflow {use.workflow} of tenant {tenant}",
        f"An earlier release sends values inside of lists and objects as they are written in the steps "
        f"{', '.join(use.nested_steps)} of {use.workflow}, also in runs that have started.",
        "Publish the workflow without paths inside of lists and objects, and let the runs of these steps end, before "
        "you go back (docs/workflows.md#values).",
    )
