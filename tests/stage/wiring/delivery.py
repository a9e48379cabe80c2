"""The delivery function of the test stage: the product's, without a delay between attempts."""

from collections.abc import Mapping

from signpost.content.deliveries import Backoff
from signpost.entrypoints.delivery import DeliveryHandler
from signpost.wiring.delivery import compose_delivery

NO_DELAY = Backoff(first=0, longest=0)


def build_delivery(environment: Mapping[str, str]) -> DeliveryHandler:
    return compose_delivery(environment, NO_DELAY)
