"""The workflow worker of the test stage: the product's, which tries again without a delay, and dies at a step that a
test names."""

from collections.abc import Mapping

from signpost.entrypoints.workflow_worker import WorkflowWorker
from signpost.wiring.workflow_worker import compose_worker
from stage.crashes import make_mortal
from stage.wiring.delivery import NO_DELAY


def build_worker(environment: Mapping[str, str]) -> WorkflowWorker:
    return make_mortal(environment, lambda: compose_worker(environment, NO_DELAY, step_executors={}))
