"""The relay function of the test stage is the product's."""

from signpost.wiring.relay import relay

__all__ = ["relay"]
