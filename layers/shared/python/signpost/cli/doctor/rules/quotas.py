"""The quotas of the account and of the template, against what the stack needs."""

from collections.abc import Iterator, Mapping

from signpost.cli.doctor.findings import Finding, error, warning
from signpost.cli.doctor.rules.parameters import StackParameters
from signpost.records import dataclass

LARGEST_POLICIES = 10_240
"""Characters of all inline policies of a role, white space not counted."""
MOST_RESOURCES = 500
NEAR = 0.9
PAGE = "docs/operations.md#parameters"
ASK = "Ask AWS for more: `aws service-quotas request-service-quota-increase --service-code lambda`"
CALLERS = {"WorkerConcurrency": 2, "SubscriberConcurrency": 1, "DeliveryConcurrency": 2}
"""Functions that each run of the function holds: workers and deliveries wait for the functions that they call."""
LIMITED = {
    "WorkerConcurrency": "WorkerFunction",
    "SubscriberConcurrency": "SubscriberFunction",
    "DeliveryConcurrency": "DeliveryFunction",
}


@dataclass(frozen=True, slots=True)
class ConcurrencyFacts:
    unreserved: int
    """What functions without a reservation share."""
    reserved: Mapping[str, int]
    """The reserved concurrency of functions of the stack, by logical id."""


def judge_concurrency(facts: ConcurrencyFacts, parameters: StackParameters) -> Iterator[Finding]:
    runs = {name: int(value) for name in CALLERS if (value := parameters.get(name))}
    at_once, held = sum(runs.values()), sum(CALLERS[name] * number for name, number in runs.items())
    listed = ", ".join(f"{name} {number}" for name, number in runs.items())
    remedy = f"{ASK}, or lower the parameters ({PAGE})."
    subject = "concurrency of the account"
    if at_once >= facts.unreserved:
        problem = f"{facts.unreserved} functions may run at once, and the background alone takes {at_once} ({listed})."
        yield error("concurrency_exhausted", subject, f"{problem} Requests get 503.", remedy)
    elif held >= facts.unreserved:
        problem = f"{facts.unreserved} functions may run at once, and the background may hold {held} ({listed})."
        yield warning("concurrency_tight", subject, f"{problem} At full load requests get 503.", remedy)
    for name, number in runs.items():
        reserved = facts.reserved.get(LIMITED[name])
        if reserved is not None and 0 < reserved < number:
            problem = f"{name} is {number}, and {LIMITED[name]} has a reserved concurrency of {reserved}."
            remedy = f"Lower {name}, or remove the reservation: messages that are throttled end as dead letters."
            yield warning("concurrency_below_parameter", LIMITED[name], problem, remedy)


def judge_role(role: str, size: int) -> Iterator[Finding]:
    """Judge the characters of the inline policies of a role, by its logical id."""
    if size > LARGEST_POLICIES * NEAR:
        problem = f"Its inline policies have {size} of {LARGEST_POLICIES} characters."
        remedy = "Name several executors by one pattern in ExecutorFunctions (docs/executors.md#deploy-it)."
        yield warning("role_policies_near_limit", role, problem, remedy)


def judge_resources(stack: str, number: int) -> Iterator[Finding]:
    if number > MOST_RESOURCES * NEAR:
        problem = f"The stack has {number} of {MOST_RESOURCES} resources."
        yield warning("resources_near_limit", stack, problem, "Move your own resources to a stack of their own.")
