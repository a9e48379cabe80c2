"""The sweeper function of the test stage: the product's, or where a test says so, one in a hurry."""

from collections.abc import Mapping

from signpost.registry.collection import Ages
from signpost.sweeper import SweeperDoor
from signpost.wiring.sweeper import composed


def sweeper(environment: Mapping[str, str]) -> SweeperDoor:
    """With `HURRIED`, objects that nothing has named for so many seconds, more than none, are collected, and parts at
    once: nothing can be published by parts meanwhile."""
    if "HURRIED" not in environment:
        return composed(environment, Ages())
    unnamed = float(environment["HURRIED"])
    return composed(environment, Ages(unnamed=unnamed, parts=0.0, between_looks=0.0, longest_gap=600.0))
