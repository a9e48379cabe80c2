"""What is to be looked at although nobody asks: what was left, what is due, and who was waited for."""

from dataclasses import replace

from signpost.ports import Clock, Ids
from signpost.workflow.carrying import Carrier, Course
from signpost.workflow.engine import Engine
from signpost.workflow.instance import UNHEARD, Claim, Instance, child_of, has_ended, is_over
from signpost.workflow.service import Found, Workflows, system
from signpost.workflow.steps import Cancel, Resumed, Step, Woken


class Waker:
    def __init__(self, *, workflows: Workflows, carrier: Carrier, engine: Engine, clock: Clock, ids: Ids) -> None:
        self._workflows = workflows
        self._carrier = carrier
        self._engine = engine
        self._clock = clock
        self._ids = ids

    def wake(self, tenant: str, workflow_id: str, ends_at: float) -> None:
        """Does what its stand asks for, if it asks for anything. Whoever wakes it needs to know nothing of it."""
        found = self._workflows.standing(tenant, workflow_id)
        if found is None:
            return
        course = Course(found.definition, tenant, f"cor_{self._ids.new()}", ends_at, is_awaited=False)
        if self._has_told(course, found.instance):
            return
        decided, claim = self._decided(tenant, found), found.instance.claim
        if decided is not None:
            step, mine = decided
            self._carrier.carry(course, step, found.instance, mine)
        elif claim is not None and claim.waits_for_a_workflow and self._clock.now() >= claim.until + UNHEARD:
            self._carrier.wait_on(course, found.instance, claim)

    def _has_told(self, course: Course, child: Instance) -> bool:
        """Whether that was what was due: that whoever waits for its end hears of it, or that nobody does any more."""
        if child.untold_since is None or not has_ended(course.definition, child):
            return False
        if self._waits_for(course.tenant, child):
            self.wake(course.tenant, str(child.parent), course.ends_at)
        elif is_over(course.definition, child):
            self._carrier.heard(course, child)
        else:
            return False
        return True

    def _waits_for(self, tenant: str, child: Instance) -> bool:
        claim = self._claim_on(tenant, child)
        return claim is not None and claim.standing != "in_doubt"

    def _decided(self, tenant: str, found: Found) -> tuple[Step, Claim | None] | None:
        definition, instance, now = found.definition, found.instance, self._clock.now()
        if is_over(definition, instance):
            return None
        if instance.parent is not None and not self._is_awaited(tenant, instance):
            left = self._engine.advance(definition, instance, Cancel(system(tenant)), now)
            if left.instance is not instance:
                return left, None  # else something may have happened, which comes to its end first
        noticed = self._engine.advance(definition, instance, Woken(system(tenant)), now)
        if noticed.instance is not instance:
            return self._as_another(noticed), None
        claim = instance.claim
        if claim is None or not claim.is_free(now) or not self._is_ready(tenant, claim, now):
            return None
        is_lost = claim.standing == "running"
        mine = replace(claim, token=self._ids.new(), lost=claim.lost + is_lost)
        return self._carrier.resuming.step(definition, instance, Resumed(claim.job, is_lost), now), mine

    def _as_another(self, noticed: Step) -> Step:
        """Who was just about to take up what waits has not seen this."""
        claim = noticed.instance.claim
        if claim is None or claim.standing != "waiting":
            return noticed
        return replace(noticed, instance=replace(noticed.instance, claim=replace(claim, token=self._ids.new())))

    def _is_awaited(self, tenant: str, child: Instance) -> bool:
        return self._claim_on(tenant, child) is not None

    def _claim_on(self, tenant: str, child: Instance) -> Claim | None:
        """Of the workflow that it is a step of."""
        parent = self._workflows.standing(tenant, str(child.parent))
        claim = parent.instance.claim if parent is not None else None
        return claim if claim is not None and claim.child is not None and child_of(claim) == child.id else None

    def _is_ready(self, tenant: str, claim: Claim, now: float) -> bool:
        """Whether there is anything to be gone on with: who waits for another workflow waits until that has ended."""
        if claim.awaits != "workflow" or (claim.gives_up_at is not None and now >= claim.gives_up_at):
            return True
        child = self._workflows.standing(tenant, child_of(claim))
        return child is None or has_ended(child.definition, child.instance)
