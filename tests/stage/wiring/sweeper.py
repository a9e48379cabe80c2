"""The sweeper of the test stage: the product's, or one with short retention times if its environment says so."""

from collections.abc import Mapping

from signpost.content.retention import RetentionAges
from signpost.entrypoints.sweeper import SweeperHandler
from signpost.wiring.sweeper import compose_sweeper


def build_sweeper(environment: Mapping[str, str]) -> SweeperHandler:
    """Compose the sweeper.

    With `HURRIED`, objects that have been unreferenced for so many seconds, more than zero, are removed, and parts at
    once: no publication by parts runs meanwhile.
    """
    if "HURRIED" not in environment:
        return compose_sweeper(environment, RetentionAges())
    unnamed = float(environment["HURRIED"])
    return compose_sweeper(environment, RetentionAges(unnamed=unnamed, parts=0.0, between_looks=0.0, longest_gap=600.0))
