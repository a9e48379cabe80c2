"""The stack that is examined: what CloudFormation says about it, and the clients that read the rest."""

from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, cast

import boto3
from botocore.config import Config

from signpost.cli.doctor.rules.clocks import ClockReading
from signpost.cli.doctor.rules.parameters import StackParameters
from signpost.cli.doctor.rules.stack_status import StackEvent
from signpost.records import dataclass

if TYPE_CHECKING:
    from mypy_boto3_cloudformation.type_defs import StackTypeDef

    from signpost.wiring.operator import OperatorAdapters

MOST_EVENTS = 500


class MissingOutput(Exception):  # noqa: N818 - named after the state
    """The stack lacks an output, since its deployment did not finish or it is of another kind."""


class ExaminedOutputs(dict[str, str]):
    """The outputs of the stack by their keys."""

    def __missing__(self, name: str) -> str:
        raise MissingOutput(
            f"The stack has no output {name}: its deployment did not finish, or it is not a stack of Signpost."
        )


@dataclass(frozen=True, slots=True)
class ListedResource:
    name: str
    """The logical id."""
    kind: str
    physical_id: str


class ExaminedStack:
    """A deployed stack. Everything except its description is read at first use, so that each check fails alone."""

    def __init__(
        self,
        description: "StackTypeDef",
        clock: ClockReading,
        region: str,
        tenants: Sequence[str],
        *,
        is_in_account: bool,
    ) -> None:
        self.name = description["StackName"]
        self.status = description["StackStatus"]
        self.reason = description.get("StackStatusReason", "")
        self.clock = clock
        self.region = region
        self.parameters = StackParameters(_parameters_of(description), is_in_account=is_in_account)
        self.outputs = ExaminedOutputs(
            (output.get("OutputKey", ""), output.get("OutputValue", "")) for output in description.get("Outputs", [])
        )
        self._named_tenants = tenants
        self.client = cache(make_client)
        """Makes the client of an AWS service. For some services no types are installed."""

    @cached_property
    def adapters(self) -> "OperatorAdapters":
        from signpost.wiring.operator import OperatorAdapters  # noqa: PLC0415 - a part of the checks needs it

        return OperatorAdapters(self.outputs)

    @cached_property
    def resources(self) -> Sequence[ListedResource]:
        pages = self.client("cloudformation").get_paginator("list_stack_resources").paginate(StackName=self.name)
        return [
            ListedResource(entry["LogicalResourceId"], entry["ResourceType"], entry.get("PhysicalResourceId", ""))
            for page in pages
            for entry in page["StackResourceSummaries"]
            if not entry["ResourceStatus"].startswith("DELETE_")
        ]

    @cached_property
    def events(self) -> Sequence[StackEvent]:
        """The events of the stack, the latest first."""
        pages = self.client("cloudformation").get_paginator("describe_stack_events")
        events = pages.paginate(StackName=self.name, PaginationConfig={"MaxItems": MOST_EVENTS})
        return [_event_of(event) for page in events for event in page["StackEvents"]]

    @cached_property
    def tenants(self) -> Sequence[str]:
        """The tenants that are known: those of the parameters, of the command, of placements and of content. There is
        no list of all tenants, and no table is scanned."""
        placed = [placement.tenant for placement in self.adapters.directory.list_placed()]
        parameters = (self.parameters.get("DefaultTenant"), self.parameters.operator_tenant)
        return sorted({*filter(None, (*parameters, *self._named_tenants, *placed, *self.adapters.list_scopes()))})

    def list_resources(self, kind: str) -> Sequence[ListedResource]:
        return [resource for resource in self.resources if resource.kind == kind]


def make_client(service: str) -> Any:
    return cast("Any", boto3).client(service, config=Config(connect_timeout=10, read_timeout=30))


def _parameters_of(description: "StackTypeDef") -> Mapping[str, str]:
    return {
        parameter.get("ParameterKey", ""): parameter.get("ParameterValue", "")
        for parameter in description.get("Parameters", [])
    }


def _event_of(event: Mapping[str, Any]) -> StackEvent:
    return StackEvent(
        resource=event.get("LogicalResourceId", ""),
        is_stack=event.get("PhysicalResourceId") == event["StackId"],
        status=event.get("ResourceStatus", ""),
        reason=event.get("ResourceStatusReason", ""),
    )
