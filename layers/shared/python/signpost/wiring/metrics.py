"""/metrics of a gateway. Imported when somebody asks for it: at a cold start of /mcp nobody does."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from signpost.http.metrics import MetricsPage
from signpost.metrics.meter import Meter
from signpost.protocol.surface import Surface

if TYPE_CHECKING:
    from signpost.wiring.composition import Composition


def metrics_page(composition: "Composition", surfaces: Mapping[str, Surface]) -> MetricsPage:
    meter = Meter(
        surfaces=surfaces,
        function_lists=composition.function_lists,
        content=composition.documents.view,
        catalogue=composition.catalogue,
        access=composition.policy.functions,
        breakers=composition.adapters.breakers,
        clock=composition.adapters.clock,
    )
    return MetricsPage(meter)
