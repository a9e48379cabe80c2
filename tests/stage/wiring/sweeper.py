"""The sweeper function of the test stage: the product's, or where a test says so, one in a hurry."""

from collections.abc import Mapping

from signpost.content.retention import RetentionAges
from signpost.entrypoints.sweeper import SweeperHandler
from signpost.wiring.sweeper import compose_sweeper


def build_sweeper(environment: Mapping[str, str]) -> SweeperHandler:
    """With `HURRIED`, objects that nothing has named for so many seconds, more than none, are collected, and parts at
    once: nothing can be published by parts meanwhile."""
    if "HURRIED" not in environment:
        return compose_sweeper(environment, RetentionAges())
    unnamed = float(environment["HURRIED"])
    return compose_sweeper(environment, RetentionAges(unnamed=unnamed, parts=0.0, between_looks=0.0, longest_gap=600.0))
