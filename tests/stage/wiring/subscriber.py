"""The subscriber function of the test stage is the product's."""

from signpost.wiring.subscriber import subscriber

__all__ = ["subscriber"]
