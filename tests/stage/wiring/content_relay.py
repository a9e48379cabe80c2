"""The content relay of the test stage: the product's, which dies at a step that a test names."""

from collections.abc import Mapping

from signpost.entrypoints.content_relay import ContentRelay
from signpost.wiring.content_relay import build_content_relay as product
from stage.crashes import make_mortal


def build_content_relay(environment: Mapping[str, str]) -> ContentRelay:
    return make_mortal(environment, lambda: product(environment))
