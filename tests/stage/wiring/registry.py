"""The registry function of the test stage is the product's."""

from signpost.wiring.registry import deployment

__all__ = ["deployment"]
