"""Builds the wakes that the write of a step causes."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from signpost.workflow.deadlines import find_deadline
from signpost.workflow.definition import Definition
from signpost.workflow.instance import Instance, child_id_of, has_ended, is_over
from signpost.workflow.wakes import Wake


def has_end_to_report(definition: Definition, before: Instance | None, after: Instance) -> bool:
    """Return whether the parent has to hear now that the instance has ended."""
    had_ended = before is not None and has_ended(definition, before)
    return after.parent is not None and has_ended(definition, after) and not had_ended


def build_wakes(definition: Definition, before: Instance | None, after: Instance, now: float) -> Sequence[Wake]:
    """Return the wakes that a write causes: for the instance itself, if it continues later, has entered a state with
    a timeout, or may be cancelled by its parent now; for the parent that waits for it; and for the child that it waited
    for."""
    wakes = [*_build_timeout_wakes(definition, before, after, now)]
    claim = after.claim
    if claim is not None and claim.standing == "waiting" and not claim.is_parked:
        wakes.append(Wake(after.id, claim.until))
        if claim.gives_up_at is not None:
            wakes.append(Wake(after.id, claim.gives_up_at))
    if after.parent is not None and has_end_to_report(definition, before, after):
        wakes.append(Wake(after.parent))
    earlier_claim = before.claim if before is not None else None
    is_released = claim is None or claim.is_parked
    if after.parent is not None and earlier_claim is not None and is_released and not is_over(definition, after):
        wakes.append(Wake(after.id))  # while it was held, a parent that stopped waiting could not cancel it
    earlier_child = None if earlier_claim is None or earlier_claim.child is None else child_id_of(earlier_claim)
    if earlier_child is not None and (claim is None or child_id_of(claim) != earlier_child):
        wakes.append(Wake(earlier_child))
    return wakes


def _build_timeout_wakes(
    definition: Definition, before: Instance | None, after: Instance, now: float
) -> Iterator[Wake]:
    """Yield the wake for the timeout of the state, unless an earlier write has caused it. If the timeout is over, that
    wake may have met a step that was executed, and had no effect. A step that is executed does not keep the wake back:
    if the wake meets it, the settle causes another. The timeout of the workflow is left to the sweeper and to the next
    caller."""
    is_new = before is None or before.state_ends_at != after.state_ends_at
    deadline = find_deadline(definition, replace(after, claim=None) if is_new else after)
    if deadline is not None and deadline.is_of_state and (is_new or deadline.at <= now):
        yield Wake(after.id, deadline.at)
