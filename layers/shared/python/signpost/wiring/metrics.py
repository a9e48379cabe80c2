"""Builds the /metrics page of a gateway. Imported at its first request, since a cold start of /mcp does not need it."""

from typing import TYPE_CHECKING

from signpost.entrypoints.http.metrics import MetricsPage
from signpost.metrics.meter import Meter

if TYPE_CHECKING:
    from signpost.wiring.composition import GatewayComposition
    from signpost.wiring.endpoints import SurfaceBuilders


def build_metrics_page(composition: "GatewayComposition", surfaces: "SurfaceBuilders") -> MetricsPage:
    meter = Meter(
        surfaces={path: build() for path, build in surfaces.items()},
        function_lists=composition.function_lists,
        content=composition.documents.view,
        catalogue=composition.catalogue,
        access=composition.policy.functions,
        breakers=composition.adapters.breakers,
        clock=composition.adapters.clock,
    )
    return MetricsPage(meter)
