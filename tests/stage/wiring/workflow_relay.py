"""The workflow relay of the test stage: the product's, which dies at a step that a test names."""

from collections.abc import Mapping

from signpost.entrypoints.workflow_relay import WorkflowRelay
from signpost.wiring.workflow_relay import build_workflow_relay as product
from stage.crashes import make_mortal


def build_workflow_relay(environment: Mapping[str, str]) -> WorkflowRelay:
    return make_mortal(environment, lambda: product(environment))
