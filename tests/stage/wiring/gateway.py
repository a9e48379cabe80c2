"""The gateway of the test stage: the product's, with a tool that calls any function in addition, and with faults or
a pause where a request asks for them."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from signpost.mcp.surface import Surface
from signpost.settings import gateway_settings
from signpost.telemetry import Telemetry
from signpost.wiring.composition import GatewayComposition, compose_gateway
from signpost.wiring.endpoints import build_gateway_surface, build_surfaces
from signpost.wiring.gateway import Gateway, build_front_door
from signpost.wiring.gateway_adapters import build_aws_adapters
from stage.calls import CallFunctionProvider
from stage.clocks import choose_clock
from stage.crashes import make_mortal
from stage.faults import FAULTS_HEADER, FaultInjector
from stage.pauses import pause_if_asked


class StageGateway:
    def __init__(self, product: Gateway, faults: FaultInjector) -> None:
        self._product = product
        self._faults = faults

    def handle(self, event: Mapping[str, Any], remaining_ms: int) -> Mapping[str, Any]:
        self._faults.arm(event.get("headers") or {})
        answer = pause_if_asked(event, self._product.handle(event, remaining_ms))
        if not self._faults.injected_faults:
            return answer
        return {**answer, "headers": {**answer["headers"], FAULTS_HEADER: ", ".join(self._faults.injected_faults)}}


def build_gateway(environment: Mapping[str, str]) -> StageGateway:
    return make_mortal(environment, lambda: build_faulty_gateway(environment))


def build_faulty_gateway(environment: Mapping[str, str]) -> StageGateway:
    faults = FaultInjector()
    return StageGateway(compose_stage_gateway(environment), faults)


def compose_stage_gateway(environment: Mapping[str, str]) -> Gateway:
    settings = gateway_settings(environment)
    telemetry = Telemetry("gateway")
    adapters = replace(build_aws_adapters(settings, telemetry), clock=choose_clock(environment))
    composition = compose_gateway(adapters, telemetry)
    default = add_call_function(build_gateway_surface(composition), composition)
    return Gateway(
        build_front_door(settings, composition, telemetry, {**build_surfaces(composition), "/mcp": lambda: default})
    )


def add_call_function(surface: Surface, composition: GatewayComposition) -> Surface:
    return replace(surface, tools=(*surface.tools, CallFunctionProvider(composition.calling.executors)))
