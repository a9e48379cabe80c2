"""The composition of the test stage: the product's, with the fixtures beside it."""

from collections.abc import Mapping
from dataclasses import replace

from signpost.http.front_door import FrontDoor
from signpost.protocol.surface import Surface
from signpost.settings import gateway_settings
from signpost.telemetry import Telemetry
from signpost.wiring import aws_adapters, front_door, gateway_surface
from stage.fixtures import Fixtures


def gateway(environment: Mapping[str, str]) -> FrontDoor:
    settings = gateway_settings(environment)
    adapters = aws_adapters(settings)
    return front_door(settings, adapters, Telemetry("gateway"), {"/mcp": with_fixtures(gateway_surface(adapters))})


def with_fixtures(surface: Surface) -> Surface:
    fixtures = Fixtures()
    return replace(
        surface,
        tools=(*surface.tools, fixtures),
        resources=(*surface.resources, fixtures),
        prompts=(*surface.prompts, fixtures),
        completions=(*surface.completions, fixtures),
    )
