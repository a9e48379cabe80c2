"""The status of the stack, and the resource on which its last change failed."""

from collections.abc import Iterator, Sequence

from signpost.cli.doctor.findings import Finding, error, warning
from signpost.records import dataclass

CANCELLED = "cancelled"
"""CloudFormation gives this reason to the resources that it stops after another one has failed."""
STARTS = ("CREATE_IN_PROGRESS", "UPDATE_IN_PROGRESS", "DELETE_IN_PROGRESS", "IMPORT_IN_PROGRESS")
STUCK = (
    "CREATE_FAILED",
    "ROLLBACK_COMPLETE",
    "ROLLBACK_FAILED",
    "DELETE_FAILED",
    "UPDATE_FAILED",
    "UPDATE_ROLLBACK_FAILED",
    "IMPORT_ROLLBACK_FAILED",
)


@dataclass(frozen=True, slots=True)
class StackEvent:
    resource: str
    """The logical id."""
    is_stack: bool
    """Whether the event is about the stack itself."""
    status: str
    reason: str


@dataclass(frozen=True, slots=True)
class StackStatus:
    name: str
    status: str
    reason: str
    events: Sequence[StackEvent]
    """The latest first."""


def judge_status(stack: StackStatus) -> Iterator[Finding]:
    if stack.status in STUCK:
        yield error("stack_failed", stack.name, _describe_failure(stack), _remedy_of_failure(stack))
    elif stack.status == "UPDATE_ROLLBACK_COMPLETE":
        yield warning(
            "stack_rolled_back",
            stack.name,
            f"The last deployment failed, and the stack serves the one before. {_describe_failure(stack)}",
            "Mend the cause, then run `sam deploy` again.",
        )
    elif stack.status.endswith("_IN_PROGRESS"):
        yield warning(
            "stack_changing",
            stack.name,
            f"The stack is {stack.status}. The other findings may be about a state that passes.",
            f"Wait: `aws cloudformation describe-stack-events --stack-name {stack.name}`, then run this command again.",
        )


def find_first_failure(events: Sequence[StackEvent]) -> StackEvent | None:
    """Return the event on which the last operation failed. Events that only follow from it are left out."""
    first = None
    for event in events:
        if event.is_stack and event.status in STARTS:
            break
        if event.status.endswith("_FAILED") and not event.is_stack and CANCELLED not in event.reason:
            first = event
    return first


def _describe_failure(stack: StackStatus) -> str:
    failure = find_first_failure(stack.events)
    if failure is None:
        return f"The stack is {stack.status}{f': {stack.reason}' if stack.reason else '.'}"
    return f"The stack is {stack.status}: {failure.resource} is {failure.status}: {failure.reason}"


def _remedy_of_failure(stack: StackStatus) -> str:
    if stack.status == "UPDATE_ROLLBACK_FAILED":
        command = f"aws cloudformation continue-update-rollback --stack-name {stack.name}"
        return f"Mend the cause, run `{command}`, then `sam deploy`."
    if stack.status in ("UPDATE_FAILED", "IMPORT_ROLLBACK_FAILED"):
        command = f"aws cloudformation rollback-stack --stack-name {stack.name}"
        return f"Mend the cause, then `sam deploy`; or go back to the state before by `{command}`."
    return f"Mend the cause, run `sam delete --stack-name {stack.name}`, then `sam deploy`."
