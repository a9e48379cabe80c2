"""Continues instances without a request: abandoned moves, moves that are due, and parents of ended workflows."""

from dataclasses import replace
from typing import TYPE_CHECKING

from signpost.workflow.definition import Definition
from signpost.workflow.engine.actors import engine_principal
from signpost.workflow.engine.engine import Engine
from signpost.workflow.engine.steps import CancelRequest, Resumption, Step, WakeUp
from signpost.workflow.instance import CHILD_CHECK_INTERVAL, Claim, Instance, child_id_of, has_ended, is_over
from signpost.workflow.running.service import LoadedInstance, Workflows
from signpost.workflow.running.step_writer import StepContext, StepWriter

if TYPE_CHECKING:
    from signpost.ports import Clock, Ids


class Waker:
    def __init__(
        self, *, workflows: Workflows, step_writer: StepWriter, engine: Engine, clock: "Clock", ids: "Ids"
    ) -> None:
        self._workflows = workflows
        self._step_writer = step_writer
        self._engine = engine
        self._clock = clock
        self._ids = ids

    def wake(self, tenant: str, workflow_id: str, ends_at: float) -> None:
        """Load the instance and do the work that its state asks for, if any. The caller needs to know nothing of it."""
        loaded = self._workflows.load_instance(tenant, workflow_id)
        if loaded is None:
            return
        context = StepContext(loaded.definition, tenant, f"cor_{self._ids.new()}", ends_at, is_awaited=False)
        if self._report_end(context, loaded.instance):
            return
        decided, claim = self._decide_step(tenant, loaded), loaded.instance.claim
        if decided is not None:
            step, new_claim = decided
            self._step_writer.write_step(context, step, loaded.instance, new_claim)
        elif (
            claim is not None and claim.is_waiting_for_child and self._clock.now() >= claim.until + CHILD_CHECK_INTERVAL
        ):
            self._step_writer.extend_wait(context, loaded.instance, claim)

    def _report_end(self, context: StepContext, child: Instance) -> bool:
        """Wake the parent that waits for the end of this instance, or record that no parent waits for it any more.
        Return whether one of both was due."""
        if child.end_unreported_since is None or not has_ended(context.definition, child):
            return False
        if self._is_parent_waiting(context.tenant, child):
            self.wake(context.tenant, str(child.parent), context.ends_at)
        elif is_over(context.definition, child):
            self._step_writer.clear_unreported_end(context, child)
        else:
            return False
        return True

    def _is_parent_waiting(self, tenant: str, child: Instance) -> bool:
        claim = self._find_parent_claim(tenant, child)
        return claim is not None and claim.standing != "in_doubt"

    def _decide_step(self, tenant: str, loaded: LoadedInstance) -> tuple[Step, Claim | None] | None:
        definition, instance, now = loaded.definition, loaded.instance, self._clock.now()
        if is_over(definition, instance):
            return None
        if instance.parent is not None and not self._is_awaited(tenant, instance):
            cancelled_step = self._engine.advance(definition, instance, CancelRequest(engine_principal(tenant)), now)
            if cancelled_step.instance is not instance:
                return cancelled_step, None  # else an execution may have happened, which is finished first
        woken_step = self._engine.advance(definition, instance, WakeUp(engine_principal(tenant)), now)
        if woken_step.instance is not instance:
            return self._renew_claim_token(woken_step), None
        claim = instance.claim
        if claim is None or not claim.is_free(now) or not self._is_ready(tenant, claim, now):
            return None
        if self._workflows.is_unwanted(tenant, instance):
            return self._give_up(definition, instance, claim), None
        is_lost = claim.standing == "running"
        new_claim = replace(claim, token=self._ids.new(), lost=claim.lost + is_lost)
        return self._step_writer.resumer.resume(definition, instance, Resumption(claim.job, is_lost), now), new_claim

    def _give_up(self, definition: Definition, instance: Instance, claim: Claim) -> Step:
        """Decide the step of a task that its client has cancelled: nothing is executed any more. An instance whose
        execution may have happened stays in doubt."""
        principal, now = claim.job.principal, self._clock.now()
        if claim.may_be_abandoned:
            return self._engine.advance(definition, instance, CancelRequest(principal), now)
        final = replace(instance, claim=replace(claim, standing="running", resumable=False))
        return self._engine.advance(definition, final, WakeUp(principal), now)

    def _renew_claim_token(self, woken_step: Step) -> Step:
        """Give a waiting claim a new token: a worker that is just about to take it up has not seen this change, and
        must not write over it."""
        claim = woken_step.instance.claim
        if claim is None or claim.standing != "waiting":
            return woken_step
        return replace(woken_step, instance=replace(woken_step.instance, claim=replace(claim, token=self._ids.new())))

    def _is_awaited(self, tenant: str, child: Instance) -> bool:
        return self._find_parent_claim(tenant, child) is not None

    def _find_parent_claim(self, tenant: str, child: Instance) -> Claim | None:
        """Return the claim of the parent if this child is the step that it waits for."""
        parent = self._workflows.load_instance(tenant, str(child.parent))
        claim = parent.instance.claim if parent is not None else None
        return claim if claim is not None and claim.child is not None and child_id_of(claim) == child.id else None

    def _is_ready(self, tenant: str, claim: Claim, now: float) -> bool:
        """Return whether the claim can be continued: one that waits for a child workflow waits until that has ended or
        the time to wait for it is over."""
        if claim.awaits != "workflow" or (claim.gives_up_at is not None and now >= claim.gives_up_at):
            return True
        child = self._workflows.load_instance(tenant, child_id_of(claim))
        return child is None or has_ended(child.definition, child.instance)
