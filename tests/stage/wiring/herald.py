"""The herald function of the test stage: the product's, which dies where a test says so."""

from collections.abc import Mapping

from signpost.herald import Herald
from signpost.wiring.herald import herald as product
from stage.crashes import mortal


def herald(environment: Mapping[str, str]) -> Herald:
    return mortal(environment, lambda: product(environment))
