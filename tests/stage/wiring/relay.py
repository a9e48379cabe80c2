"""The relay function of the test stage: the product's, which dies where a test says so."""

from collections.abc import Mapping

from signpost.relay import Relay
from signpost.wiring.relay import relay as product
from stage.crashes import mortal


def relay(environment: Mapping[str, str]) -> Relay:
    return mortal(environment, lambda: product(environment))
