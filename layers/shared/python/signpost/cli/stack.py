"""Opens the parts of a deployed stack for an operator, with the AWS credentials of the operator."""

import argparse
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from signpost.cli.failure import CommandFailed
from signpost.settings import TENANT

if TYPE_CHECKING:
    from mypy_boto3_cloudformation.type_defs import StackTypeDef

    from signpost.cli.runs.store import WorkflowReader
    from signpost.wiring.operator import OperatorAdapters

DEFAULT_STACK = "signpost"


def add_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--stack", default=DEFAULT_STACK, help="name of the deployed stack (default: %(default)s)")


def add_tenant_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--tenant", default="default", type=_parse_tenant, help="the tenant (default: %(default)s)")


@contextmanager
def open_adapters(name: str) -> "Generator[OperatorAdapters]":
    """Yield the adapters of the stack. Errors of AWS inside the context become CommandFailed."""
    with _describe_stack(name) as stack:
        from signpost.wiring.operator import OperatorAdapters  # noqa: PLC0415 - see _describe_stack

        yield OperatorAdapters(_outputs_of(stack))


@contextmanager
def open_workflows(name: str) -> "Generator[WorkflowReader]":
    from signpost.cli.runs.store import WorkflowReader  # noqa: PLC0415 - see _describe_stack

    with open_adapters(name) as adapters:
        yield WorkflowReader(
            instances=adapters.instances,
            records=adapters.run_records,
            run_lists=adapters.run_lists,
            definitions=adapters.definitions,
            timetables=adapters.timetables,
            catalogue=adapters.catalogue,
            clock=adapters.clock,
            mcp_url=adapters.output("McpUrl"),
        )


def read_executor_parameters(name: str) -> Mapping[str, str]:
    """Read the parameters that the stack of an executor takes from this stack.

    Two more are for the command itself: `McpUrl`, the endpoint at which the tools of the executor appear, and
    `ExecutorFunctions`, the Lambda functions that this stack may call."""
    with _describe_stack(name) as stack:
        outputs = _outputs_of(stack)
        parameters = {
            parameter.get("ParameterKey", ""): parameter.get("ParameterValue", "")
            for parameter in stack.get("Parameters", [])
        }
        from_outputs = {output: outputs[output] for output in ("LayerArn", "NestedCallsFunctionArn", "McpUrl")}
        names = ("Architecture", "EndpointUrl", "ExecutorFunctions")
        return {**from_outputs, **{parameter: parameters.get(parameter, "") for parameter in names}}


@contextmanager
def _describe_stack(name: str) -> "Generator[StackTypeDef]":
    # boto3 takes a tenth of a second to import, which would slow down `signpost --help`.
    import boto3  # noqa: PLC0415
    from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415 - as above

    from signpost.errors import Unavailable  # noqa: PLC0415 - as above

    try:
        yield boto3.client("cloudformation").describe_stacks(StackName=name)["Stacks"][0]
    except KeyError as fault:
        raise CommandFailed(f"The stack {name!r} has no output {fault}. Is it a stack of Signpost?") from fault
    except (BotoCoreError, ClientError, Unavailable) as fault:
        reason = f"{fault}".rstrip(".")
        raise CommandFailed(f"Stack {name!r}: {reason}. Check --stack, AWS_PROFILE and AWS_REGION.") from fault


def _outputs_of(stack: "StackTypeDef") -> Mapping[str, str]:
    return {output.get("OutputKey", ""): output.get("OutputValue", "") for output in stack.get("Outputs", [])}


def _parse_tenant(text: str) -> str:
    if not TENANT.fullmatch(text):
        raise argparse.ArgumentTypeError(
            f"not a valid tenant name: {text!r}; use a-z, 0-9 and -, at most 32 characters"
        )
    return text
