"""Plays a workflow case step by step, wherever it happens, and says what is not as expected."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any, Protocol

from signpost.workflow.instance import AuditEvent
from tests.acceptance.matching import mismatches
from tests.acceptance.workflow_cases import Case, Step, at_path, substitute


class World(Protocol):
    """Where what a case defines has been published, and nothing has happened yet."""

    def play(self, step: Step) -> Any:
        """What it answers; every kind of error looks like `{"error": {"code", "message"}}`."""
        ...


def problems(case: Case, world: World) -> Sequence[str]:
    """Of the first step that has any: those after it stand on it."""
    saved = dict[str, Any]()
    for number, written in enumerate(case.steps, 1):
        step = _substitute_step(written, saved)
        started = perf_counter()
        seen = world.play(step)
        found = list(_unmet_expectations(step, seen, (perf_counter() - started) * 1000))
        if found:
            return [f"step {number} {step.tool}: {one}" for one in found]
        saved |= {name: at_path(seen, path) for name, path in step.save.items()}
    return ()


def audit_answer(events: Sequence[AuditEvent]) -> Mapping[str, Any]:
    """What `$audit` answers."""
    return {
        "events": [
            {
                "event_type": event.record.type,
                "payload": event.record.payload,
                "correlation_id": event.correlation_id,
            }
            for event in events
        ]
    }


def _substitute_step(step: Step, saved: Mapping[str, Any]) -> Step:
    return replace(
        step,
        args=substitute(step.args, saved),
        expect=substitute(step.expect, saved),
        error=substitute(step.error, saved),
    )


def _unmet_expectations(step: Step, seen: Any, milliseconds: float) -> Iterator[str]:
    error = seen.get("error") if isinstance(seen, Mapping) else None  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType] - JSON
    if step.error is not None and (not error or not re.search(step.error, json.dumps(error), re.IGNORECASE)):
        yield f"no error like {step.error!r} in {seen}"
    if step.expect is not None:
        yield from (found := list(mismatches(step.expect, seen)))
        if found and error:
            yield f"the error was {error}"
    if step.milliseconds is not None:
        yield from mismatches(step.milliseconds, milliseconds, "the time it took")
