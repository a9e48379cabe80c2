"""The gateway function: its doors, over one graph that is made at init."""

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from signpost.back_door import BackDoor
from signpost.execution.nested import is_nested
from signpost.http.front_door import FrontDoor
from signpost.identity.authenticator import Authenticator
from signpost.protocol.dispatch import Dispatcher
from signpost.protocol.services import Services
from signpost.protocol.surface import Surface
from signpost.protocol.tool_texts import ToolTexts
from signpost.records import dataclass
from signpost.schema.validation import Validators
from signpost.settings import GatewaySettings, IdentitySettings, gateway_settings
from signpost.telemetry import Telemetry
from signpost.wiring.adapters import Adapters, aws_adapters
from signpost.wiring.composition import Composition, composed
from signpost.wiring.endpoints import surfaces
from signpost.wiring.identity import anonymous_in, authenticator

if TYPE_CHECKING:
    from signpost.http.metrics import MetricsPage


@dataclass(frozen=True, slots=True)
class Gateway:
    """A warm gateway function: clients come in at the front, functions of executors at the back."""

    front_door: FrontDoor
    back_door: BackDoor

    def handle(self, event: Mapping[str, Any], remaining_ms: int) -> Mapping[str, Any]:
        door = self.back_door if is_nested(event) else self.front_door
        return door.handle(event, remaining_ms)


def gateway(environment: Mapping[str, str]) -> Gateway:
    settings = gateway_settings(environment)
    telemetry = Telemetry("gateway")
    composition = composed(aws_adapters(settings, telemetry), telemetry)
    return Gateway(
        front_door=front_door(settings, composition, telemetry, surfaces(composition)),
        back_door=back_door(composition, telemetry),
    )


def front_door(
    settings: GatewaySettings, composition: Composition, telemetry: Telemetry, by_path: Mapping[str, Surface]
) -> FrontDoor:
    adapters = composition.adapters
    services = Services(
        sealer=composition.sealer,
        clock=adapters.clock,
        alarm=adapters.alarm,
        validators=Validators(),
        long_answers=adapters.long_answers,
        tool_texts=ToolTexts(),
    )
    return FrontDoor(
        settings=settings,
        authenticator=_authenticator(settings.identity, adapters),
        surfaces={path: Dispatcher(surface, services) for path, surface in by_path.items()},
        metrics=cache(lambda: _metrics_page(composition, by_path)),
        telemetry=telemetry,
        clock=adapters.clock,
        alarm=adapters.alarm,
    )


def _metrics_page(composition: Composition, by_path: Mapping[str, Surface]) -> "MetricsPage":
    # Whoever comes for tools need not wait for it.
    from signpost.wiring import metrics  # noqa: PLC0415

    return metrics.metrics_page(composition, by_path)


def back_door(composition: Composition, telemetry: Telemetry) -> BackDoor:
    adapters = composition.adapters
    return BackDoor(nested=composition.nested, telemetry=telemetry, clock=adapters.clock, alarm=adapters.alarm)


def _authenticator(settings: IdentitySettings, adapters: Adapters) -> Authenticator:
    return authenticator(
        settings,
        api_keys=adapters.api_keys,
        issuer_key_sets=adapters.issuer_key_sets,
        key_set_source=adapters.key_set_source,
        clock=adapters.clock,
        anonymous=anonymous_in(settings),
    )
