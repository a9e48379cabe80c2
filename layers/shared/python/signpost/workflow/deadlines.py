"""The times at which an instance times out, or is due for a worker."""

from signpost.records import dataclass
from signpost.workflow.definition import Definition
from signpost.workflow.instance import CHILD_CHECK_INTERVAL, Instance, has_arrived, has_ended, is_over


@dataclass(frozen=True, slots=True)
class Deadline:
    """The end of a timeout, of an instance or of its state."""

    at: float
    target: str
    """The state that the instance goes to."""
    timeout_ms: int
    is_of_state: bool


def find_deadline(definition: Definition, instance: Instance) -> Deadline | None:
    """Find the next deadline. An execution that is not settled goes first, and an instance never leaves its end."""
    is_bound = instance.claim is not None and not instance.claim.may_be_abandoned
    if is_bound or has_arrived(definition, instance):
        return None
    state = definition.states[instance.state]
    timeouts = (
        (instance.ends_at, definition.timeout_target, definition.timeout_ms, False),
        (instance.state_ends_at, state.timeout_target, state.timeout_ms, True),
    )
    deadlines = [
        Deadline(at, target, timeout_ms, is_of_state)
        for at, target, timeout_ms, is_of_state in timeouts
        if at is not None and target is not None and timeout_ms is not None
    ]
    return min(deadlines, key=lambda deadline: deadline.at, default=None)


def deadline_of(definition: Definition, instance: Instance) -> float | None:
    """Return when it times out, or when its state does."""
    deadline = find_deadline(definition, instance)
    return None if deadline is None else deadline.at


def start_state_timeout(definition: Definition, state: str, now: float) -> float | None:
    """Return when the timeout of a state is over that is entered now; None if the state has none."""
    entered = definition.states[state]
    return None if entered.timeout_ms is None or entered.timeout_target is None else now + entered.timeout_ms / 1000


def due_at(definition: Definition, instance: Instance) -> float | None:
    """Return the earliest time at which a worker has to look at the instance, since no caller may be doing so: at the
    end of a lease, a pause, the deadline or an approval request, or when it has ended and its parent waits for that.
    The answers to questions come by a request."""
    if is_over(definition, instance):
        return instance.end_unreported_since
    request, claim = instance.open_request, instance.claim
    times = [
        deadline_of(definition, instance),
        instance.end_unreported_since if has_ended(definition, instance) else None,
    ]
    if request is not None and not request.lapsed:
        times.append(request.expires_at)
    if claim is not None and claim.standing != "in_doubt" and not claim.is_parked:
        times += (
            (claim.gives_up_at, claim.until + CHILD_CHECK_INTERVAL) if claim.is_waiting_for_child else (claim.until,)
        )
    return min((time for time in times if time is not None), default=None)
