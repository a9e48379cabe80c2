"""The sweeper function of the test stage: the product's, or where a test says so, one in a hurry."""

from collections.abc import Mapping

from signpost.registry.collection import Ages
from signpost.sweeper import SweeperDoor
from signpost.wiring.sweeper import composed

HURRIED = Ages(unnamed=12.0, parts=0.0, between_looks=0.0, longest_gap=600.0)
"""Still longer than a registry function of the tests takes. Who publishes by parts cannot be swept like this."""


def sweeper(environment: Mapping[str, str]) -> SweeperDoor:
    return composed(environment, HURRIED if "HURRIED" in environment else Ages())
