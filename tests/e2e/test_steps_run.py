"""Steps that execute, on the deployed stack: by the gateway while somebody waits, by the worker when nobody does."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from signpost.directory import manifest
from stage.crashes import DIES_AT
from tests.support.executed_workflows import Workshop, function, one_step, rels, step, workshop
from tests.support.executors import Executors

pytestmark = pytest.mark.cloud

ONLY_SELF = ["self"]
RESOLVING = "workflow.resolve"
LATER_THAN_A_GATEWAY_WAITS = 26_000
"""Milliseconds."""


@pytest.fixture(scope="module", autouse=True)
def is_warm(executors: Executors) -> None:
    """A first start takes longer than some of these functions may."""
    executors.invoke("stub", json.loads(manifest.MANIFEST_REQUEST))


@pytest.fixture
def there(executors: Executors) -> Workshop:
    return workshop(executors)


def test_a_function_gets_what_its_author_maps_and_what_it_answers_is_kept(there: Workshop) -> None:
    there.hosts({"shop::pay": [{"output": {"receipt": "R-1"}, "evidence": [{"kind": "paid", "by": "card"}]}]})
    mapped = {"amount": "$.arguments.price", "order": "$.workflow.input.order", "how": {"set": "$.fast"}}
    paying = one_step(
        executor=function("shop::pay", arguments=mapped, idempotencyKey=True), output={"receipt": "$.output.receipt"}
    )
    proven = {"kind": "evidence", "requires": [{"kind": "paid", "count": 1}]}
    paying["states"]["done"] = {"transitions": {"ship": {"target": "over", "guards": [proven]}}}
    paying["states"]["over"] = {"terminal": True}
    there.publish(workflows={"paying": paying})
    at = there.start("paying", order="O-7")
    paid = there.submit(at, "go", price=12)
    assert (paid["state"], paid["version"], paid["context"]) == ("done", 2, {"receipt": "R-1"})
    assert paid["evidence"] == [{"kind": "paid", "by": "card"}]
    (call,) = there.called("shop::pay")
    assert call["arguments"] == {"amount": 12, "order": "O-7", "how": "$.fast"}
    assert call["step"] == call["idempotencyKey"] == f"{at['workflowId']}.go.1"
    assert there.submit(paid, "ship")["terminal"] is True


def test_a_function_acts_for_who_submitted_and_with_what_it_declares(there: Workshop) -> None:
    there.publish(workflows={"showing": one_step(executor=function("trials::show"), output={"shown": "$"})})
    shown = there.submit(there.start("showing"), "go", there.person("ada"))["context"]["shown"]
    assert (shown["tenant"], shown["permissions"]) == (there.tenant, ["mail", "web"])
    assert (shown["subject"], shown["key"]) == ("ada", None)


def test_what_a_state_does_on_being_entered_is_a_step_of_its_own(there: Workshop) -> None:
    there.hosts({"shop::pay": [{"output": {}}], "shop::greet": [{"output": {"word": "hello"}}]})
    greeting = one_step(executor=function("shop::pay"))
    on_enter = {"executor": function("shop::greet", idempotencyKey=True), "output": {"word": "$.output.word"}}
    greeting["states"]["done"] = {"onEnter": on_enter, "terminal": True}
    there.publish(workflows={"greeting": greeting})
    at = there.start("greeting")
    entered = there.submit(at, "go")
    assert (entered["state"], entered["version"], entered["context"]) == ("done", 3, {"word": "hello"})
    assert [call["idempotencyKey"] for call in there.called("shop::greet")] == [f"{at['workflowId']}.on_enter.2"]


def test_what_cannot_be_entered_is_owed_and_can_be_done_again(there: Workshop) -> None:
    failing = {"error": "permanent_error", "message": "nobody is at home"}
    there.hosts({"shop::pay": [{"output": {}}], "shop::greet": [failing, {"output": {"word": "hello"}}]})
    greeting = one_step(executor=function("shop::pay"))
    on_enter = {"executor": function("shop::greet"), "output": {"word": "$.output.word"}}
    greeting["states"]["done"] = {"onEnter": on_enter, "transitions": {"back": {"target": "open"}}}
    there.publish(workflows={"greeting": greeting})
    owed = there.submit(there.start("greeting"), "go")
    assert owed["error"]["code"] == "EXECUTOR_FAILED"
    assert (owed["state"], owed["version"], owed["entering"]) == ("done", 2, "done")
    assert rels(owed) == ["self", "on_enter"]
    entered = there.submit(owed, "on_enter")
    assert (entered["version"], entered["context"], rels(entered)) == (3, {"word": "hello"}, ["back"])
    assert len(there.called("shop::pay")) == 1


def test_three_functions_follow_each_other_in_one_call(there: Workshop) -> None:
    names = ["lint", "test", "build"]
    there.hosts({f"ci::{name}": [{"output": {"said": f"{name} ok"}}] for name in names})
    states: dict[str, Any] = {
        name: {
            "transitions": {
                name: {
                    "target": target,
                    "actor": "deterministic",
                    "executor": function(f"ci::{name}", arguments={}),
                    "output": {name: "$.output.said"},
                }
            }
        }
        for name, target in zip(names, [*names[1:], "built"], strict=True)
    }
    there.publish(workflows={"ci": {"initialState": "lint", "states": {**states, "built": {"terminal": True}}}})
    built = there.start("ci")
    assert (built["state"], built["version"], built["terminal"]) == ("built", 4, True)
    assert [hop["transition"] for hop in built["chain"]] == names
    assert built["context"] == {name: f"{name} ok" for name in names}
    assert [len(there.called(f"ci::{name}")) for name in names] == [1, 1, 1]


def test_a_fallback_takes_over_with_the_same_key(there: Workshop) -> None:
    there.hosts({"mail::own": [{"error": "transient_error"}], "mail::other": [{"output": {"sent": True}}]})
    reliability = {"retry": {"maxAttempts": 2}, "fallback": {"executors": [function("mail::other")]}}
    sending = one_step(
        executor=function("mail::own", idempotencyKey=True), reliability=reliability, output={"sent": "$.output.sent"}
    )
    there.publish(workflows={"sending": sending})
    assert there.submit(there.start("sending"), "go")["context"] == {"sent": True}
    calls = [*there.called("mail::own"), *there.called("mail::other")]
    assert len(calls) == 3
    assert len({call["idempotencyKey"] for call in calls}) == 1


def test_a_function_that_takes_longer_than_a_gateway_waits_is_the_worker_s(there: Workshop) -> None:
    there.hosts({"shop::bake": [{"delayMs": 2000, "output": {"cake": "warm"}}]}, timeout_ms=40_000)
    there.publish(workflows={"baking": one_step(executor=function("shop::bake"), output={"cake": "$.output.cake"})})
    at = there.start("baking")
    waiting = there.submit(at, "go")
    assert "error" not in waiting
    assert (waiting["state"], waiting["version"], rels(waiting)) == ("open", 1, ONLY_SELF)
    assert waiting["pending"]["transition"] == "go"
    again = there.submit(at, "go")
    assert again["error"]["code"] == "STALE_WORKFLOW_VERSION"
    assert (again["error"]["retryAfterMs"] > 0, rels(again)) == (True, ONLY_SELF)
    baked = there.until_settled(at["workflowId"])
    assert (baked["state"], baked["version"], baked["context"]) == ("done", 2, {"cake": "warm"})
    assert len(there.called("shop::bake")) == 1


def test_a_workflow_waits_for_another_that_waits_for_a_person(there: Workshop) -> None:
    answering: dict[str, Any] = {"target": "answered", "actor": "human", "output": {"answer": "$.arguments.answer"}}
    answering["inputSchema"] = {"type": "object", "properties": {"answer": {"type": "string"}}}
    child = {
        "initialState": "asked",
        "states": {"asked": {"transitions": {"answer": answering}}, "answered": {"terminal": True}},
    }
    parent = one_step(executor={"kind": "workflow", "definitionId": "child"}, output={"heard": "$.output.answer"})
    there.publish(workflows={"parent": parent, "child": child})
    at = there.start("parent")
    waiting = there.submit(at, "go")
    assert (waiting["state"], waiting["pending"]["on"], rels(waiting)) == ("open", "workflow", ONLY_SELF)
    asked = there.get(waiting["pending"]["workflowId"])
    assert (asked["state"], asked["waitingFor"]) == ("asked", "human")
    answered = there.submit(asked, "answer", there.person("ada"), answer="yes")
    assert answered["terminal"] is True
    done = there.until_settled(at["workflowId"])
    assert (done["state"], done["version"], done["context"]) == ("done", 2, {"heard": "yes"})
    assert "sub_workflow.completed" in there.audit(at["workflowId"])


def test_a_pause_that_is_too_long_for_a_call_is_made_by_the_queue(there: Workshop) -> None:
    there.hosts({"mail::own": [{"error": "rate_limited"}, {"output": {"sent": True}}]})
    retry = {"maxAttempts": 2, "backoff": "fixed", "initialDelayMs": LATER_THAN_A_GATEWAY_WAITS}
    sending = one_step(executor=function("mail::own"), reliability={"retry": retry}, output={"sent": "$.output.sent"})
    there.publish(workflows={"sending": sending})
    at = there.start("sending")
    waiting = there.submit(at, "go")
    pending = waiting["pending"]
    assert (pending["on"], pending["attempt"], rels(waiting)) == ("retry", 2, ONLY_SELF)
    assert 20_000 < pending["retryAfterMs"] <= LATER_THAN_A_GATEWAY_WAITS
    sent = there.until_settled(at["workflowId"])
    assert (sent["state"], sent["context"]) == ("done", {"sent": True})
    first, second = there.called("mail::own")
    assert second["at"] - first["at"] >= LATER_THAN_A_GATEWAY_WAITS / 1000


def lost(there: Workshop) -> Mapping[str, Any]:
    """A step whose gateway died when its function had been carried out."""
    there.hosts({"shop::pay": [{"output": {"receipt": "R-1"}}, {"output": {"receipt": "R-2"}}]}, timeout_ms=2_500)
    executor = function("shop::pay", idempotencyKey=True)
    there.publish(workflows={"paying": one_step(executor=executor, output={"receipt": "$.output.receipt"})})
    at = there.start("paying")
    died = there.send("workflow.submit", headers={DIES_AT: "before dynamodb.TransactWriteItems"}, **step(at, "go"))
    assert died.status >= 500, died.text
    doubtful = there.until(at["workflowId"], lambda seen: "inDoubt" in seen)
    assert (doubtful["state"], doubtful["version"]) == ("open", 1)
    assert len(there.called("shop::pay")) == 1
    return doubtful


def test_a_lease_that_was_lost_is_found_and_somebody_who_may_says_what_came_of_it(there: Workshop) -> None:
    doubtful = lost(there)
    workflow_id, may = doubtful["workflowId"], there.key_with(RESOLVING)
    there.sweep()
    there.until(workflow_id, lambda _: "executor.in_doubt" in there.audit(workflow_id))
    assert rels(there.get(workflow_id)) == ONLY_SELF
    assert there.submit(doubtful, "go")["error"]["code"] == "IN_DOUBT"
    seen = there.get(workflow_id, may)
    assert rels(seen) == ["self", "$retry", "$resolve"]
    assert there.follow(seen, "$resolve", happened=False)["error"]["code"] == "GUARD_REJECTED"
    paid = there.follow(seen, "$resolve", may, happened=True, output={"receipt": "R-1"})
    assert "error" not in paid, paid
    assert (paid["state"], paid["version"], paid["context"]) == ("done", 2, {"receipt": "R-1"})
    assert len(there.called("shop::pay")) == 1
    assert "executor.resolved" in there.audit(workflow_id)


def test_what_is_in_doubt_is_done_again_with_the_same_key_if_somebody_who_may_says_so(there: Workshop) -> None:
    doubtful = lost(there)
    may = there.key_with(RESOLVING)
    paid = there.follow(there.get(doubtful["workflowId"], may), "$retry", may)
    assert (paid["state"], paid["version"], paid["context"]) == ("done", 2, {"receipt": "R-2"})
    first, second = there.called("shop::pay")
    assert first["idempotencyKey"] == second["idempotencyKey"] == f"{doubtful['workflowId']}.go.1"


def test_what_is_in_doubt_and_did_not_happen_stands_where_it_stood(there: Workshop) -> None:
    doubtful = lost(there)
    may = there.key_with(RESOLVING)
    open_again = there.follow(there.get(doubtful["workflowId"], may), "$resolve", may, happened=False)
    assert "error" not in open_again
    assert (open_again["state"], open_again["version"], rels(open_again)) == ("open", 1, ["go"])
    assert there.submit(open_again, "go")["context"] == {"receipt": "R-2"}


def test_a_capability_is_called_in_one_call(there: Workshop) -> None:
    there.hosts({"shop::price": [{"output": {"price": 12}}]})
    schema = {"type": "object", "properties": {"item": {"type": "string"}}, "required": ["item"]}
    exposed = {"name": "shop.price", "inputSchema": schema, "executor": function("shop::price")}
    there.publish(proxy={"expose": [exposed]})
    priced = there.start("proxy_default", capability="shop.price", arguments={"item": "tea"})
    assert (priced["version"], priced["context"]) == (2, {"lastResult": {"price": 12}})
    assert [call["arguments"] for call in there.called("shop::price")] == [{"item": "tea"}]
    asked = there.start("proxy_default", capability="shop.price")
    assert (asked["version"], rels(asked)) == (1, ["shop.price"])
