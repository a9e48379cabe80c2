"""The Lambda functions of the stack: their state, their layer and the size of their environment."""

from collections.abc import Iterator, Mapping

from signpost.cli.doctor.findings import REMAKE, Finding, error, warning
from signpost.records import dataclass

LARGEST_ENVIRONMENT = 4_096
"""Bytes of all names and values of the environment variables of a function."""
NEAR = 0.9


@dataclass(frozen=True, slots=True)
class LambdaFacts:
    name: str
    """The logical id."""
    physical_id: str
    state: str
    update_status: str
    reason: str
    environment: Mapping[str, str]
    layers: frozenset[str]
    reserved: int | None
    """Its reserved concurrency; None without one."""

    @property
    def environment_size(self) -> int:
        return sum(len(name.encode()) + len(value.encode()) for name, value in self.environment.items())


def find_missing_function(name: str) -> Finding:
    return error("function_missing", name, "The Lambda function does not exist.", REMAKE)


def judge_function(function: LambdaFacts, layer: str) -> Iterator[Finding]:
    if function.state == "Failed" or function.update_status == "Failed":
        problem = f"Lambda cannot run it: {function.reason}"
        yield error("function_failed", function.name, problem, "Mend the cause, then `sam deploy`.")
    if function.reserved == 0:
        problem = "Its reserved concurrency is 0: it is never run."
        remedy = f"`aws lambda delete-function-concurrency --function-name {function.physical_id}`"
        yield error("function_stopped", function.name, problem, remedy)
    if function.layers and layer not in function.layers:
        problem = f"It runs with {', '.join(sorted(function.layers))}, and the stack has the layer {layer}."
        yield warning("layer_differs", function.name, problem, "`sam build`, then `sam deploy`.")
    if function.environment_size > LARGEST_ENVIRONMENT * NEAR:
        problem = f"Its environment has {function.environment_size} of {LARGEST_ENVIRONMENT} bytes."
        remedy = "Shorten the lists among its parameters (docs/operations.md#parameters)."
        yield warning("environment_near_limit", function.name, problem, remedy)
