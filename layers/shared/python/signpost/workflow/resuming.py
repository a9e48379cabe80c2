"""A move that was begun before, taken up at what was executed of it."""

from signpost.records import dataclass
from signpost.workflow.definition import Definition
from signpost.workflow.engine import Engine
from signpost.workflow.instance import Instance
from signpost.workflow.ports import Executors
from signpost.workflow.steps import HARMLESS, Performed, Resumed, Step


@dataclass(frozen=True, slots=True)
class Resuming:
    engine: Engine
    people: Executors

    def step(self, definition: Definition, instance: Instance, resumed: Resumed, now: float) -> Step:
        """What is harmless on the way to it comes to the same again: the claim is not of that."""
        step = self.engine.advance(definition, instance, resumed, now)
        while (doing := step.doing) is not None and doing.executor.kind in HARMLESS:
            came = self.people.perform(doing, doing.step.principal)
            step = self.engine.advance(definition, doing.step.instance, Performed(doing, came), now)
        return step
