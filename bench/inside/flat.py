"""Times lists of the flat surface in a warm process. `main` runs in a new process, with the event of a tools/list."""

import os
import statistics
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bench.inside.invocation import Context, fresh_event, read_result, report
from bench.inside.warm import WARM_UP, time_calls
from bench.tools import SCHEMA, names_and_descriptions
from signpost.contract import HostedFunction
from signpost.list_revisions import ListRevisions
from signpost.settings import gateway_settings
from signpost.telemetry import Telemetry
from signpost.wiring.composition import compose_gateway
from signpost.wiring.flat_surface import build_flat_surface
from signpost.wiring.gateway import build_front_door
from signpost.wiring.gateway_adapters import build_aws_adapters

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

ENDPOINT = "/mcp/flat"


class BenchFunctions:
    """The tools of the bench as functions of the tenant."""

    def functions(self, tenant: str | None) -> Sequence[HostedFunction]:
        del tenant
        return [
            HostedFunction(f"bench::{name}", description=description, input_schema=SCHEMA)
            for name, description in names_and_descriptions()
        ]


class FixedRevisions:
    """The list revisions of a tenant with one change, the placement of its functions."""

    def read(self, tenant: str) -> ListRevisions:
        del tenant
        return ListRevisions(
            content=0,
            shipped_content=0,
            catalogue=None,
            policies=None,
            placements=1,
            shipped_placements=0,
            own_settings={},
            deployment_settings={},
        )


def main() -> None:
    settings, telemetry = gateway_settings(os.environ), Telemetry("gateway")
    adapters = replace(
        build_aws_adapters(settings, telemetry), placed_functions=BenchFunctions(), revisions=FixedRevisions()
    )
    composition = compose_gateway(adapters, telemetry)
    surface = build_flat_surface(composition)
    gateway = build_front_door(settings, composition, telemetry, {ENDPOINT: lambda: surface})

    def handler(event: dict[str, Any], context: "LambdaContext | Context") -> dict[str, Any]:
        return gateway.handle({**event, "rawPath": ENDPOINT}, context.get_remaining_time_in_millis())

    listing = sys.argv[1]
    listed = len(read_result(handler(fresh_event(listing), Context()))["tools"])
    if listed != len(list(names_and_descriptions())) + 1:  # skill__fetch
        sys.exit(f"the server listed {listed} tools, an unexpected number")
    for _ in range(WARM_UP):
        handler(fresh_event(listing), Context())
    report({"warm_flat_list_500_ms": statistics.median(time_calls(handler, listing))})
