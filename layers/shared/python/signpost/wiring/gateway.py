"""The gateway function: its entry points over one composition, made at init."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from signpost.calling.nested import is_nested, refuse_misdirected
from signpost.entrypoints.http.front_door import FrontDoor, RequestChecks
from signpost.entrypoints.http.origins import Origins, ReadOrigins
from signpost.identity.authenticator import Authenticator
from signpost.mcp.dispatch import Dispatcher
from signpost.mcp.server_description import ServerDescriptions
from signpost.mcp.services import McpServices
from signpost.mcp.surface import Surface
from signpost.mcp.tool_texts import ToolTexts
from signpost.records import dataclass
from signpost.schema.validation import Validators
from signpost.settings import ENDPOINTS, GatewaySettings, IdentitySettings, gateway_settings
from signpost.telemetry import Telemetry
from signpost.wiring.composition import GatewayComposition, compose_gateway
from signpost.wiring.endpoints import SurfaceBuilders, build_surfaces
from signpost.wiring.gateway_adapters import GatewayAdapters, build_aws_adapters
from signpost.wiring.identity import anonymous_principal, build_authenticator

if TYPE_CHECKING:
    from signpost.deployment_lists import RecentList
    from signpost.entrypoints.http.metrics import MetricsPage


@dataclass(frozen=True, slots=True)
class Gateway:
    """A warm gateway function. It serves clients only: nested calls have a function of their own, so that executors
    need no right to invoke this one, which would take an event of theirs for a request of a client."""

    front_door: FrontDoor

    def handle(self, event: Mapping[str, Any], remaining_ms: int) -> Mapping[str, Any]:
        return refuse_misdirected() if is_nested(event) else self.front_door.handle(event, remaining_ms)


def build_gateway(environment: Mapping[str, str]) -> Gateway:
    settings = gateway_settings(environment)
    telemetry = Telemetry("gateway")
    composition = compose_gateway(build_aws_adapters(settings, telemetry), telemetry)
    surfaces = build_surfaces(composition)
    surfaces[ENDPOINTS[0]]()  # most cold starts serve it, and at init a function has a whole processor
    return Gateway(build_front_door(settings, composition, telemetry, surfaces))


def build_front_door(
    settings: GatewaySettings, composition: GatewayComposition, telemetry: Telemetry, surfaces: SurfaceBuilders
) -> FrontDoor:
    adapters = composition.adapters
    services = McpServices(
        sealer=composition.sealer,
        clock=adapters.clock,
        alarm=adapters.alarm,
        validators=Validators(adapters.alarm),
        long_answers=adapters.long_answers,
        tool_texts=ToolTexts(),
        server=ServerDescriptions(composition.revisions),
        ids=adapters.ids,
        used_nonces=adapters.used_nonces,
    )
    return FrontDoor(
        settings=settings,
        checks=RequestChecks(
            origins=Origins(
                settings.allowed_origins, _build_more_origins(adapters) if settings.has_more_origins else frozenset
            ),
            authenticator=_build_authenticator(settings.identity, composition),
        ),
        dispatchers={path: _build_once(build, services) for path, build in surfaces.items()},
        metrics=cache(lambda: _build_metrics_page(composition, surfaces)),
        telemetry=telemetry,
        clock=adapters.clock,
        alarm=adapters.alarm,
    )


def _build_once(build_surface: Callable[[], Surface], services: McpServices) -> Callable[[], Dispatcher]:
    return cache(lambda: Dispatcher(build_surface(), services))


def _build_metrics_page(composition: GatewayComposition, surfaces: SurfaceBuilders) -> "MetricsPage":
    # Imported on first use: most cold starts serve no metrics.
    from signpost.wiring import metrics  # noqa: PLC0415

    return metrics.build_metrics_page(composition, surfaces)


def _build_more_origins(adapters: GatewayAdapters) -> ReadOrigins:
    @cache
    def build() -> "RecentList":
        # Imported on first use: few requests come from such an origin.
        from signpost.deployment_lists import RecentList, more_origins  # noqa: PLC0415

        return RecentList(adapters.deployment_lists(), adapters.clock, more_origins)

    return lambda: build().read()


def _build_authenticator(settings: IdentitySettings, composition: GatewayComposition) -> Authenticator:
    adapters = composition.adapters
    return build_authenticator(
        settings,
        api_keys=composition.api_keys,
        issuer_key_sets=adapters.issuer_key_sets,
        key_set_source=adapters.key_set_source,
        deployment_lists=adapters.deployment_lists,
        clock=adapters.clock,
        anonymous=anonymous_principal(settings),
    )
