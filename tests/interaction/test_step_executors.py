"""The table of step executors: a kind that runs is a kind that authors can write and check."""

from signpost.adapters.ids import RandomIds
from signpost.wiring.workflows import build_step_executors
from signpost.workflow.authoring.json_schema import EXECUTOR_SETTINGS
from signpost.workflow.engine.steps import HARMLESS_KINDS, NOOP_KIND
from tests.support.memory_gateway import MemoryGateway


def test_every_kind_in_the_table_has_its_settings() -> None:
    gateway = MemoryGateway()
    composition, workflows = gateway.composition, gateway.composition.workflow_services().workflows
    kinds = build_step_executors(composition.calling, workflows, gateway.clock, RandomIds()).keys()
    assert kinds <= EXECUTOR_SETTINGS.keys()
    assert {*kinds, NOOP_KIND} >= HARMLESS_KINDS
