"""The worker function of the test stage: the product's, which tries again at once, and dies where a test says so."""

from collections.abc import Mapping

from signpost.wiring.worker import composed
from signpost.worker import Worker
from stage.crashes import mortal
from stage.wiring.delivery import AT_ONCE


def worker(environment: Mapping[str, str]) -> Worker:
    return mortal(environment, lambda: composed(environment, AT_ONCE, machines={}))
