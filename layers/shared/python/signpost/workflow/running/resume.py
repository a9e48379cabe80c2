"""Resumes a move that was begun before, at the executor that was claimed."""

from signpost.records import dataclass
from signpost.workflow.definition import Definition
from signpost.workflow.engine.engine import Engine
from signpost.workflow.engine.steps import HARMLESS_KINDS, ExecutorReport, Resumption, Step
from signpost.workflow.instance import Instance
from signpost.workflow.running.attempts import ExecutionServices


@dataclass(frozen=True, slots=True)
class StepResumer:
    engine: Engine
    services: ExecutionServices

    def resume(self, definition: Definition, instance: Instance, resumption: Resumption, now: float) -> Step:
        """Decide the move again up to the executor that was claimed. Harmless executors before it are performed again:
        they give the same outcome, and a claim is never for one of them."""
        step = self.engine.advance(definition, instance, resumption, now)
        while (pending := step.pending) is not None and pending.executor.kind in HARMLESS_KINDS:
            outcome = self.services.perform_harmless(pending)
            step = self.engine.advance(definition, pending.step.instance, ExecutorReport(pending, outcome), now)
        return step
