"""Effects of functions that workflow steps call: once in all attempts of a step, whoever makes them."""

from typing import Any

import pytest

from signpost.calling.effects import RECORD
from signpost.model import JsonObject
from signpost.toolkit import Context, Function, ToolError
from signpost.workflow.engine.permissions import RESOLVE, RETRY
from tests.support.gateway_workflows import TENANT, GatewayWorkflows
from tests.support.stateful_functions import StatefulFunctions
from tests.support.step_cases import AGENT, RESOLVER

CALLERS = {"agent": AGENT, "rosa": RESOLVER}


class Shop:
    """A workflow whose step `pay` calls a function with one effect."""

    def __init__(self, **executor: Any) -> None:
        self.effects: list[str] = []
        self.faults: list[BaseException] = []
        """Raised after the effect, one in each attempt."""
        self.functions = StatefulFunctions(Function("desk::pay", self._pay), tenant=TENANT)
        self.workflows = GatewayWorkflows(CALLERS, gateway=self.functions.gateway)
        retry = executor.pop("retry", {})
        call = {"kind": "function", "function": "desk::pay", **executor}
        pay: JsonObject = {"target": "paid", "executor": call, "output": {"receipt": "$.output"}, "reliability": retry}
        states: JsonObject = {"open": {"transitions": {"pay": pay}}, "paid": {"terminal": True}}
        self.workflows.publish("order", {"initialState": "open", "states": states})
        self.id = self.workflows.call("workflow.start", {"definitionId": "order"}, "agent")["workflowId"]

    def _pay(self, args: Any, ctx: Context) -> str:
        receipt = ctx.once("pay", lambda: self._happen(str(args.get("euros"))))
        if self.faults:
            raise self.faults.pop(0)
        return receipt

    def _happen(self, euros: str) -> str:
        self.effects.append(euros)
        return f"receipt {len(self.effects)}"

    @property
    def claim(self) -> str:
        """The claim of the step in doubt, as a person sees it."""
        return self.workflows.call("workflow.get", {"workflowId": self.id}, "rosa")["inDoubt"]["claim"]

    def submit(self, transition: str, caller: str = "agent", **arguments: Any) -> Any:
        submission = {"workflowId": self.id, "expectedVersion": 1, "transition": transition, "arguments": arguments}
        return self.workflows.call("workflow.submit", submission, caller)


def test_an_attempt_that_is_repeated_finds_the_effect_of_the_first_one() -> None:
    shop = Shop(retry={"retry": {"maxAttempts": 3, "backoff": "fixed", "initialDelayMs": 100}})
    shop.faults = [ToolError("Busy.", "transient_error"), ToolError("Busy.", "transient_error")]
    answer = shop.submit("pay", euros=5)
    assert (answer["state"], answer["context"]) == ("paid", {"receipt": "receipt 1"})
    assert shop.effects == ["5"]


def test_a_step_that_a_caller_repeats_finds_the_effect_of_the_first_time() -> None:
    shop = Shop()
    shop.faults = [ToolError("Busy.")]
    assert shop.submit("pay", euros=5)["error"]["code"] == "EXECUTOR_FAILED"
    assert shop.submit("pay", euros=5)["context"] == {"receipt": "receipt 1"}
    assert shop.effects == ["5"]


def test_a_step_with_other_arguments_has_another_effect() -> None:
    shop = Shop()
    shop.faults = [ToolError("Busy.")]
    shop.submit("pay", euros=5)
    assert shop.submit("pay", euros=6)["context"] == {"receipt": "receipt 2"}
    assert shop.effects == ["5", "6"]


def test_a_person_who_repeats_a_step_in_doubt_repeats_no_recorded_effect() -> None:
    shop = Shop()
    shop.faults = [RuntimeError("odd")]
    shop.submit("pay", euros=5)
    shop.workflows.clock.advance(120)
    assert shop.submit(RETRY, "rosa", claim=shop.claim)["context"] == {"receipt": "receipt 1"}
    assert shop.effects == ["5"]


@pytest.mark.invariant(155)
def test_a_person_resolves_a_step_whose_effect_is_in_doubt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("signpost.toolkit.operations.PAUSE", 0)
    shop = Shop()
    shop.functions.transport.lost_before[RECORD] = 3
    shop.submit("pay", euros=5)
    shop.workflows.clock.advance(120)
    repeated = shop.submit(RETRY, "rosa", claim=shop.claim)
    assert "It is not known whether 'pay' of desk::pay has happened" in str(repeated)
    shop.workflows.clock.advance(120)
    resolved = shop.submit(RESOLVE, "rosa", claim=shop.claim, happened=True, output="receipt 1")
    assert (resolved["state"], shop.effects) == ("paid", ["5"]), resolved
