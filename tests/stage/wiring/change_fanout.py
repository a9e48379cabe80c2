"""The change fan-out of the test stage: the product's."""

from signpost.wiring.change_fanout import build_change_fanout

__all__ = ["build_change_fanout"]
