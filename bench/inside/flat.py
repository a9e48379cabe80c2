"""Lists of the flat surface in a warm process: `main` of this in a new one, with the event of a tools/list."""

import os
import statistics
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bench.inside.invocation import Context, fresh, report, result
from bench.inside.warm import WARM_UP, laps
from bench.tools import SCHEMA, described
from signpost.content import Revisions
from signpost.contract import Hosted
from signpost.settings import gateway_settings
from signpost.telemetry import Telemetry
from signpost.wiring.adapters import aws_adapters
from signpost.wiring.composition import composed
from signpost.wiring.endpoints import flat_surface
from signpost.wiring.gateway import front_door

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

ENDPOINT = "/mcp/flat"


class Placed:
    """What the bench has for tools, as functions of the tenant."""

    def functions(self, tenant: str | None) -> Sequence[Hosted]:
        del tenant
        return [
            Hosted(f"bench::{name}", description=description, input_schema=SCHEMA) for name, description in described()
        ]


class Unchanged:
    """Nothing has happened in the tenant but that they were placed."""

    def read(self, tenant: str) -> Revisions:
        del tenant
        return Revisions(
            content=0,
            shipped_content=0,
            catalogue=None,
            policies=None,
            placements=1,
            shipped_placements=0,
            settings={},
        )


def main() -> None:
    settings, telemetry = gateway_settings(os.environ), Telemetry("gateway")
    adapters = replace(aws_adapters(settings, telemetry), placed_functions=Placed(), revisions=Unchanged())
    composition = composed(adapters, telemetry)
    gateway = front_door(settings, composition, telemetry, {ENDPOINT: flat_surface(composition)})

    def handler(event: dict[str, Any], context: "LambdaContext | Context") -> dict[str, Any]:
        return gateway.handle({**event, "rawPath": ENDPOINT}, context.get_remaining_time_in_millis())

    listing = sys.argv[1]
    listed = len(result(handler(fresh(listing), Context()))["tools"])
    if listed != len(list(described())) + 1:  # skill__fetch
        sys.exit(f"lists {listed} tools")
    for _ in range(WARM_UP):
        handler(fresh(listing), Context())
    report({"warm_flat_list_500_ms": statistics.median(laps(handler, listing))})
