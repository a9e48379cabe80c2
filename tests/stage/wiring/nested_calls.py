"""The nested calls function of the test stage, which is the product's."""

from signpost.wiring.nested_calls import build_nested_calls

__all__ = ["build_nested_calls"]
