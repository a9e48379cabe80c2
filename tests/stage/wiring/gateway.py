"""The composition of the test stage: the product's, with the fixtures beside it, and faults where a request asks."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from signpost.protocol.surface import Surface
from signpost.settings import gateway_settings
from signpost.telemetry import Telemetry
from signpost.wiring.adapters import aws_adapters
from signpost.wiring.composition import Composition, composed
from signpost.wiring.endpoints import gateway_surface, surfaces
from signpost.wiring.gateway import Gateway, back_door, front_door
from stage.calls import FunctionCalls
from stage.crashes import mortal
from stage.faults import FAULTS, Faults
from stage.fixtures import Fixtures


class StageGateway:
    def __init__(self, product: Gateway, faults: Faults) -> None:
        self._product = product
        self._faults = faults

    def handle(self, event: Mapping[str, Any], remaining_ms: int) -> Mapping[str, Any]:
        self._faults.arm(event.get("headers") or {})
        answer = self._product.handle(event, remaining_ms)
        if not self._faults.happened:
            return answer
        return {**answer, "headers": {**answer["headers"], FAULTS: ", ".join(self._faults.happened)}}


def gateway(environment: Mapping[str, str]) -> StageGateway:
    return mortal(environment, lambda: faulty(environment))


def faulty(environment: Mapping[str, str]) -> StageGateway:
    faults = Faults()
    return StageGateway(composed_with_fixtures(environment), faults)


def composed_with_fixtures(environment: Mapping[str, str]) -> Gateway:
    settings = gateway_settings(environment)
    telemetry = Telemetry("gateway")
    composition = composed(aws_adapters(settings, telemetry), telemetry)
    default = with_calls(with_fixtures(gateway_surface(composition)), composition)
    return Gateway(
        front_door=front_door(settings, composition, telemetry, {**surfaces(composition), "/mcp": default}),
        back_door=back_door(composition, telemetry),
    )


def with_fixtures(surface: Surface) -> Surface:
    fixtures = Fixtures()
    return replace(
        surface,
        tools=(*surface.tools, fixtures),
        resources=(*surface.resources, fixtures),
        prompts=(*surface.prompts, fixtures),
        completions=(*surface.completions, fixtures),
    )


def with_calls(surface: Surface, composition: Composition) -> Surface:
    return replace(surface, tools=(*surface.tools, FunctionCalls(composition.calling.executors)))
