"""Starts runs that no caller asks for, each at most once: those of schedules, and those of triggers."""

from typing import TYPE_CHECKING

from signpost.content.deliveries import Delivery, principal_of
from signpost.model import Principal
from signpost.workflow.running.service import StartRequest, StepResult, WorkflowRefusal, Workflows

if TYPE_CHECKING:
    from signpost.ports import Clock
    from signpost.workflow.ports import InstanceStore


class OneRunStarter:
    """Starts a run for a client token, at most once, for principals that are no callers."""

    def __init__(self, *, workflows: Workflows, instances: "InstanceStore", clock: "Clock") -> None:
        """`workflows` must find only definitions that policy allows the principal."""
        self._workflows = workflows
        self._instances = instances
        self._clock = clock

    def start(self, request: StartRequest, principal: Principal) -> tuple[str, WorkflowRefusal | None]:
        """Return the id of the run, and the refusal if it was not started, now or before.

        The start gets no time for executors: the run goes on by its own wake, so that no start waits for another."""
        run = self._workflows.id_for(request, principal)
        if self._instances.load(principal.tenant, run) is not None:
            return run, None
        started = self._workflows.start(request, principal, self._clock.now())
        if isinstance(started, StepResult) or self._instances.load(principal.tenant, run) is not None:
            return run, None  # another worker may have started it meanwhile, or the principal may not read it
        return run, started


class TriggerStarter:
    """Implements `EventStarter` of the workflow ports. The id of a delivery is the client token of its start."""

    def __init__(self, starter: OneRunStarter) -> None:
        self._starter = starter

    def start_for(self, delivery: Delivery) -> str | None:
        request = StartRequest(delivery.target, delivery.arguments, client_token=delivery.id)
        _, refusal = self._starter.start(request, principal_of(delivery))
        return None if refusal is None else refusal.code
