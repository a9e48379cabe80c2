"""The registry function of the test stage: the product's, whose invocations may say whose operator they come from."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from signpost.model import Json
from signpost.registry_door import RegistryDoor
from signpost.wiring.registry import Composition, Registry, composed, operators_door
from stage.crashes import Crashes


class StageRegistry:
    def __init__(self, product: Registry, composition: Composition, crashes: Crashes) -> None:
        self._product = product
        self._crashes = crashes

        @cache
        def door(tenant: str) -> RegistryDoor:
            return operators_door(composition, tenant)

        self._door = door

    def handle(self, event: Mapping[str, Any], remaining_ms: int, request_id: str) -> Json:
        """`{function_id, payload, tenant}` is from the operator of that tenant, everything else as in the product. With
        `crash_after` the process dies after so many steps."""
        self._crashes.arm(event.get("crash_after"))
        if "tenant" in event:
            return self._door(event["tenant"]).handle(event, remaining_ms, request_id)
        return self._product.handle(event, remaining_ms, request_id)


def registry(environment: Mapping[str, str]) -> StageRegistry:
    crashes = Crashes()
    composition = composed(environment)
    door = operators_door(composition, composition.settings.operator_tenant)
    return StageRegistry(Registry(composition.deployment, door), composition, crashes)
