"""One workflow instance with a step that plays a script, and the principals around it."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from signpost.adapters.memory.instances import MemoryInstanceStore
from signpost.model import Principal
from signpost.workflow.engine.permissions import CANCEL, MAY_CANCEL, MAY_RESOLVE
from signpost.workflow.engine.steps import ExecutorFailure
from signpost.workflow.ports import StepAttempt, StepOutcome
from tests.support.memory_workflows import LEASE_MARGIN, TENANT, MemoryWorkflows
from tests.support.played_executors import ExecutorCrash, ScriptedExecutor

AGENT = Principal("agent", TENANT, "t")
STRANGER = Principal("stranger", TENANT, "t")
RESOLVER = Principal("rosa", TENANT, "t", permissions=frozenset({MAY_RESOLVE}))
CANCELLER = Principal("carl", TENANT, "t", permissions=frozenset({MAY_CANCEL}))
ATTEMPT_SECONDS = 5.0
"""Seconds that an attempt may take."""
LEASE_SECONDS = ATTEMPT_SECONDS + LEASE_MARGIN
UNKNOWN_OUTCOME = ExecutorFailure("timeout", "It was not heard of again.", "unknown")
CONSENT: Mapping[str, Any] = {"retry": {"maxAttempts": 1}}


def define_step(idempotent: Any = None, reliability: Any = None, **more: Any) -> Any:
    executor: dict[str, Any] = {"kind": "act", "idempotencyKey": True}
    if idempotent is not None:
        executor["idempotent"] = idempotent
    go = {"target": "b", "executor": executor, "output": {"went": "$.output"}, "reliability": reliability or {}}
    states = {
        "a": {"transitions": {"go": go, "stop": {"target": "b"}}},
        "b": {"terminal": True},
        "late": {"terminal": True},
    }
    return {"initialState": "a", "states": states, **more}


class StepCase:
    """One workflow instance with a step `go` that plays a script."""

    def __init__(
        self,
        *entries: StepOutcome | ExecutorCrash | Callable[[StepAttempt], StepOutcome],
        store: Any = None,
        seconds: float | None = ATTEMPT_SECONDS,
    ) -> None:
        self.script = ScriptedExecutor(*entries, seconds=seconds)
        instances = MemoryInstanceStore()
        self.workflows = MemoryWorkflows(
            {"act": self.script}, instances=instances, store=store(instances) if store else None
        )
        self.id = ""

    def start(self, document: Any = None) -> "StepCase":
        self.workflows.publish("demo", document or define_step())
        self.id = self.workflows.start(AGENT)["workflowId"]
        return self

    def submit(self, transition: str = "go", by: Principal = AGENT, arguments: Any = None, **more: Any) -> Any:
        return self.workflows.submit(self.id, transition, by, arguments, **more)

    def submit_override(self, order: str, by: Principal = RESOLVER, **more: Any) -> Any:
        """Submit an order about the step that is in doubt, with the claim that its link names."""
        claim = self.instance.claim
        return self.submit(order, by, {"claim": claim.token if claim is not None else "none", **more})

    def get(self, by: Principal = AGENT) -> Any:
        return self.workflows.get(self.id, by)

    def advance(self, seconds: float) -> None:
        self.workflows.clock.advance(seconds)

    def submit_and_crash(self) -> None:
        with pytest.raises(ExecutorCrash):
            self.submit()

    @property
    def instance(self) -> Any:
        return self.workflows.load_instance(self.id)

    @property
    def idempotency_keys(self) -> list[str | None]:
        """The idempotency keys of the attempts, by which an executor recognizes a repetition."""
        return [attempt.idempotency_key for attempt in self.script.attempts]

    @property
    def events(self) -> list[str]:
        return self.workflows.list_event_types(self.id)


def list_link_names(answer: Any) -> list[str]:
    """Return the names of its links, without `$cancel`, which tests/interaction/test_cancel_links.py looks at."""
    names = [link["args"].get("transition", link["rel"]) for link in answer["links"]]
    return [name for name in names if name != CANCEL]
