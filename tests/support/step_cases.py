"""One workflow instance with a step that plays a script, and the principals around it."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from signpost.adapters.memory.instances import MemoryInstanceStore
from signpost.model import Principal
from signpost.workflow.engine.permissions import MAY_CANCEL, MAY_RESOLVE
from signpost.workflow.engine.steps import ExecutorFailure
from signpost.workflow.ports import StepAttempt, StepOutcome
from tests.support.machines import Crash, Script
from tests.support.workshop import MARGIN, TENANT, Workshop

AGENT = Principal("agent", TENANT, "t")
STRANGER = Principal("stranger", TENANT, "t")
RESOLVER = Principal("rosa", TENANT, "t", permissions=frozenset({MAY_RESOLVE}))
CANCELLER = Principal("carl", TENANT, "t", permissions=frozenset({MAY_CANCEL}))
SECONDS = 5.0
"""Seconds that an attempt may take."""
LEASE = SECONDS + MARGIN
UNKNOWN = ExecutorFailure("timeout", "It was not heard of again.", "unknown")
CONSENT: Mapping[str, Any] = {"retry": {"maxAttempts": 1}}


def executing(idempotent: Any = None, reliability: Any = None, **more: Any) -> Any:
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


class Case:
    """One workflow instance with a step `go` that plays a script."""

    def __init__(
        self,
        *entries: StepOutcome | Crash | Callable[[StepAttempt], StepOutcome],
        store: Any = None,
        seconds: float | None = SECONDS,
    ) -> None:
        self.script = Script(*entries, seconds=seconds)
        instances = MemoryInstanceStore()
        self.shop = Workshop({"act": self.script}, instances=instances, store=store(instances) if store else None)
        self.id = ""

    def begun(self, document: Any = None) -> "Case":
        self.shop.publish("demo", document or executing())
        self.id = self.shop.start(AGENT)["workflowId"]
        return self

    def go(self, transition: str = "go", by: Principal = AGENT, arguments: Any = None, **more: Any) -> Any:
        return self.shop.submit(self.id, transition, by, arguments, **more)

    def order(self, order: str, by: Principal = RESOLVER, **more: Any) -> Any:
        """Submit an order about the step that is in doubt, with the claim that its link names."""
        claim = self.stand.claim
        return self.go(order, by, {"claim": claim.token if claim is not None else "none", **more})

    def get(self, by: Principal = AGENT) -> Any:
        return self.shop.get(self.id, by)

    def wait(self, seconds: float) -> None:
        self.shop.clock.advance(seconds)

    def crashes(self) -> None:
        with pytest.raises(Crash):
            self.go()

    @property
    def stand(self) -> Any:
        return self.shop.stand(self.id)

    @property
    def keys(self) -> list[str | None]:
        """The idempotency keys of the attempts, by which an executor recognizes a repetition."""
        return [attempt.idempotency_key for attempt in self.script.errands]

    @property
    def events(self) -> list[str]:
        return self.shop.events(self.id)


def linked(answer: Any) -> list[str]:
    return [link["args"].get("transition", link["rel"]) for link in answer["links"]]
