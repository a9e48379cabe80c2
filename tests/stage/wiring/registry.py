"""The registry function of the test stage: the product's, whose invocations may say whose operator they come from."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from signpost.model import Json
from signpost.registry_door import RegistryDoor
from signpost.wiring.registry import Composition, Registry, composed, operators_door


class StageRegistry:
    def __init__(self, product: Registry, composition: Composition) -> None:
        self._product = product

        @cache
        def door(tenant: str) -> RegistryDoor:
            return operators_door(composition, tenant)

        self._door = door

    def handle(self, event: Mapping[str, Any], remaining_ms: int, request_id: str) -> Json:
        """`{function_id, payload, tenant}` is from the operator of that tenant, everything else as in the product."""
        if "tenant" in event:
            return self._door(event["tenant"]).handle(event, remaining_ms, request_id)
        return self._product.handle(event, remaining_ms, request_id)


def registry(environment: Mapping[str, str]) -> StageRegistry:
    composition = composed(environment)
    door = operators_door(composition, composition.settings.operator_tenant)
    return StageRegistry(Registry(composition.deployment, door), composition)
