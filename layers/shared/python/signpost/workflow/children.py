"""Workflows that are steps of others: started once, waited for without anybody's time, and their end is the result."""

from collections.abc import Callable
from typing import Literal, cast

from signpost.model import JsonObject, as_object
from signpost.ports import Clock
from signpost.workflow.definition import Executor
from signpost.workflow.instance import FIRST_VERSION, UNHEARD, Fault, Instance, child_of, has_ended, is_over
from signpost.workflow.paths import Known
from signpost.workflow.ports import Came, Errand, Later
from signpost.workflow.service import Declined, Found, Start, Workflows
from signpost.workflow.steps import Failed, Outcome
from signpost.workflow.values import mapped

BETWEEN_LOOKS = 60.0
"""Seconds between two looks at a workflow that cannot be cancelled yet."""
DEEPEST = 10
"""Workflows that wait for each other."""


class Children:
    """The machine of the kind `workflow`."""

    def __init__(self, workflows: Workflows, clock: Clock) -> None:
        self._workflows = workflows
        self._clock = clock

    def seconds(self, executor: Executor, principal: object) -> None:
        """Nobody knows, and nobody has to wait for it."""
        del executor, principal

    def lingers(self, executor: Executor, principal: object) -> float:
        """What it has started is kept where it stands."""
        del executor, principal
        return 0.0

    def guarded(self, errand: Errand, tries: Callable[[], Came]) -> Came:
        del errand
        return tries()

    def perform(self, errand: Errand) -> Came:
        """The same child, whoever comes again with the same claim."""
        tenant, child = errand.principal.tenant, child_of(errand.claim)
        found = self._workflows.standing(tenant, child) or self._started(errand, child)
        if isinstance(found, Declined):
            # Somebody else may have started it meanwhile, and not everybody may see it.
            declined, found = found, self._workflows.standing(tenant, child)
            if found is None:
                return Failed("permanent_error", declined.message)
        return self._came(errand, found)

    def _started(self, errand: Errand, child: str) -> Found | Declined:
        settings, parent = errand.executor.settings, errand.instance
        if parent.depth >= DEEPEST:
            return Declined("EXECUTOR_FAILED", f"Workflows may wait for each other {DEEPEST} deep, and no deeper.")
        definition_id = str(settings.get("definitionId", ""))
        known = Known(parent.context, errand.arguments, parent.input)
        given = mapped(as_object(settings.get("input")), known)
        wanted = Start(definition_id, given, workflow_id=child, parent=parent.id, depth=parent.depth + 1)
        told = self._workflows.start(wanted, errand.principal, errand.ends_at)
        if isinstance(told, Declined):
            return told
        errand.say("sub_workflow.started", {"sub_workflow_id": child, "definition_id": definition_id})
        return Found(told.definition, told.step.instance)

    def _came(self, errand: Errand, found: Found) -> Came:
        gives_up_at = _gives_up_at(errand)
        if has_ended(found.definition, found.instance):
            return self._ended(errand, found)
        if gives_up_at is None or self._clock.now() < gives_up_at:
            return Later(self._clock.now(), "workflow", gives_up_at=gives_up_at)
        return self._given_up(errand, found)

    def _ended(self, errand: Errand, found: Found) -> Came:
        child = found.instance
        about: JsonObject = {"sub_workflow_id": child.id, "state": child.state}
        if child.cancelled is None and child.fault is None:
            errand.say("sub_workflow.completed", about)
            return Outcome(child.context)
        if child.cancelled is None:
            return self._cancelled(errand, found, lambda left: self._faulty(errand, child, left))
        errand.say("sub_workflow.failed", about)
        return Failed("permanent_error", f"The workflow {child.id} was cancelled.", _outcome(child))

    def _faulty(self, errand: Errand, child: Instance, left: Instance) -> Failed:
        errand.say("sub_workflow.failed", {"sub_workflow_id": child.id, "state": child.state})
        fault = cast("Fault", child.fault)
        return Failed(fault.error_class or "permanent_error", fault.message, _outcome(left))

    def _given_up(self, errand: Errand, found: Found) -> Came:
        return self._cancelled(errand, found, lambda left: self._timed_out(errand, left))

    def _timed_out(self, errand: Errand, left: Instance) -> Failed:
        errand.say("sub_workflow.timed_out", {"sub_workflow_id": left.id, "timeout_ms": _timeout_ms(errand)})
        return Failed("timeout", f"The workflow {left.id} has not ended in time.", _outcome(left))

    def _cancelled(self, errand: Errand, found: Found, failed: Callable[[Instance], Failed]) -> Came:
        """What it has done is judged when it can do nothing more. It may end at the same moment; then that is what came
        of it. While it executes something it is waited for."""
        tenant, child = errand.principal.tenant, found.instance.id
        self._workflows.cancel_by_system(tenant, child, errand.ends_at)
        left = self._workflows.standing(tenant, child) or found
        if left.instance.cancelled is not None:
            return failed(left.instance)
        if is_over(left.definition, left.instance):
            return self._ended(errand, left)
        now, claim = self._clock.now(), left.instance.claim
        is_in_doubt = claim is not None and claim.is_in_doubt(now)
        pause = UNHEARD if is_in_doubt else BETWEEN_LOOKS  # somebody has to say something first
        until = claim.over_at if claim is not None else now
        return Later(now, "workflow", gives_up_at=max(until, now + pause))


def _outcome(child: Instance) -> Literal["none", "unknown"]:
    """Whether it certainly did nothing: what ended where it began has not, unless it was just about to."""
    moved = child.version - FIRST_VERSION - (child.cancelled is not None)
    was_about_to = child.claim is not None or (child.cancelled is not None and child.cancelled.left is not None)
    return "unknown" if moved or was_about_to else "none"


def _timeout_ms(errand: Errand) -> float | None:
    written = errand.executor.settings.get("timeoutMs")
    return written if isinstance(written, int | float) and not isinstance(written, bool) and written > 0 else None


def _gives_up_at(errand: Errand) -> float | None:
    timeout_ms = _timeout_ms(errand)
    return None if timeout_ms is None else errand.claim.since + timeout_ms / 1000
