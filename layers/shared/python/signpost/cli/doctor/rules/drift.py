"""The resources of the stack that were changed or deleted outside of CloudFormation."""

from collections.abc import Iterator, Sequence

from signpost.cli.doctor.findings import REMAKE, Finding, error, warning
from signpost.records import dataclass

MOST_DIFFERENCES = 5


@dataclass(frozen=True, slots=True)
class ResourceDrift:
    resource: str
    """The logical id."""
    status: str
    differences: Sequence[str] = ()
    """The paths of the properties that differ."""


def judge_drift(drift: ResourceDrift, stack: str) -> Iterator[Finding]:
    if drift.status == "DELETED":
        problem = "The resource was deleted outside of CloudFormation."
        yield error("resource_deleted", drift.resource, problem, REMAKE)
    elif drift.status == "MODIFIED":
        more = len(drift.differences) - MOST_DIFFERENCES
        paths = ", ".join(drift.differences[:MOST_DIFFERENCES]) + (f" and {more} more" if more > 0 else "")
        problem = f"The resource was changed outside of CloudFormation: {paths}."
        show = f"aws cloudformation describe-stack-resource-drifts --stack-name {stack}"
        remedy = f"`{show}` shows the values. Undo the change, or put it into the template."
        yield warning("resource_drifted", drift.resource, problem, remedy)
