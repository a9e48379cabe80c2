"""Steps that execute, on the deployed stack: by the gateway while somebody waits, by the worker when nobody does."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from signpost.directory import manifest
from stage.crashes import CRASH_STEP
from tests.support.executors import Executors
from tests.support.scripted_tenant import (
    ScriptedTenant,
    build_function_executor,
    build_submission,
    define_one_step,
    list_link_names,
    make_scripted_tenant,
)

pytestmark = pytest.mark.cloud

ONLY_SELF = ["self"]
RESOLVING = "workflow.resolve"
LATER_THAN_A_GATEWAY_WAITS = 26_000
"""Milliseconds."""


@pytest.fixture(scope="module", autouse=True)
def warm_stub(executors: Executors) -> None:
    """A first start takes longer than some of these functions may."""
    executors.invoke("stub", json.loads(manifest.MANIFEST_REQUEST))


@pytest.fixture
def scripted_tenant(executors: Executors) -> ScriptedTenant:
    return make_scripted_tenant(executors)


def test_a_function_receives_mapped_arguments_and_its_output_is_stored(scripted_tenant: ScriptedTenant) -> None:
    scripted_tenant.host_scripts(
        {"shop::pay": [{"output": {"receipt": "R-1"}, "evidence": [{"kind": "paid", "by": "card"}]}]}
    )
    mapped = {"amount": "$.arguments.price", "order": "$.workflow.input.order", "how": {"set": "$.fast"}}
    paying = define_one_step(
        executor=build_function_executor("shop::pay", arguments=mapped, idempotencyKey=True),
        output={"receipt": "$.output.receipt"},
    )
    proven = {"kind": "evidence", "requires": [{"kind": "paid", "count": 1}]}
    paying["states"]["done"] = {"transitions": {"ship": {"target": "over", "guards": [proven]}}}
    paying["states"]["over"] = {"terminal": True}
    scripted_tenant.publish(workflows={"paying": paying})
    at = scripted_tenant.start("paying", order="O-7")
    paid = scripted_tenant.submit(at, "go", price=12)
    assert (paid["state"], paid["version"], paid["context"]) == ("done", 2, {"receipt": "R-1"})
    assert paid["evidence"] == [{"kind": "paid", "by": "card"}]
    (call,) = scripted_tenant.list_calls("shop::pay")
    assert call["arguments"] == {"amount": 12, "order": "O-7", "how": "$.fast"}
    assert call["step"] == call["idempotencyKey"] == f"{at['workflowId']}.go.1"
    assert scripted_tenant.submit(paid, "ship")["terminal"] is True


def test_a_function_runs_for_the_submitter_with_its_declared_permissions(scripted_tenant: ScriptedTenant) -> None:
    scripted_tenant.publish(
        workflows={"showing": define_one_step(executor=build_function_executor("trials::show"), output={"shown": "$"})}
    )
    shown = scripted_tenant.submit(
        scripted_tenant.start("showing"), "go", scripted_tenant.make_person_credential("ada")
    )["context"]["shown"]
    assert (shown["tenant"], shown["permissions"]) == (scripted_tenant.tenant, ["mail", "web"])
    assert (shown["subject"], shown["key"]) == ("ada", None)


def test_the_on_enter_executor_of_a_state_is_a_step_of_its_own(scripted_tenant: ScriptedTenant) -> None:
    scripted_tenant.host_scripts({"shop::pay": [{"output": {}}], "shop::greet": [{"output": {"word": "hello"}}]})
    greeting = define_one_step(executor=build_function_executor("shop::pay"))
    on_enter = {
        "executor": build_function_executor("shop::greet", idempotencyKey=True),
        "output": {"word": "$.output.word"},
    }
    greeting["states"]["done"] = {"onEnter": on_enter, "terminal": True}
    scripted_tenant.publish(workflows={"greeting": greeting})
    at = scripted_tenant.start("greeting")
    entered = scripted_tenant.submit(at, "go")
    assert (entered["state"], entered["version"], entered["context"]) == ("done", 3, {"word": "hello"})
    assert [call["idempotencyKey"] for call in scripted_tenant.list_calls("shop::greet")] == [
        f"{at['workflowId']}.on_enter.2"
    ]


def test_a_failed_on_enter_executor_can_be_submitted_again(scripted_tenant: ScriptedTenant) -> None:
    failing = {"error": "permanent_error", "message": "nobody is at home"}
    scripted_tenant.host_scripts(
        {"shop::pay": [{"output": {}}], "shop::greet": [failing, {"output": {"word": "hello"}}]}
    )
    greeting = define_one_step(executor=build_function_executor("shop::pay"))
    on_enter = {"executor": build_function_executor("shop::greet"), "output": {"word": "$.output.word"}}
    greeting["states"]["done"] = {"onEnter": on_enter, "transitions": {"back": {"target": "open"}}}
    scripted_tenant.publish(workflows={"greeting": greeting})
    owed = scripted_tenant.submit(scripted_tenant.start("greeting"), "go")
    assert owed["error"]["code"] == "EXECUTOR_FAILED"
    assert (owed["state"], owed["version"], owed["entering"]) == ("done", 2, "done")
    assert list_link_names(owed) == ["self", "on_enter"]
    entered = scripted_tenant.submit(owed, "on_enter")
    assert (entered["version"], entered["context"], list_link_names(entered)) == (3, {"word": "hello"}, ["back"])
    assert len(scripted_tenant.list_calls("shop::pay")) == 1


def test_three_deterministic_transitions_run_in_one_call(scripted_tenant: ScriptedTenant) -> None:
    names = ["lint", "test", "build"]
    scripted_tenant.host_scripts({f"ci::{name}": [{"output": {"said": f"{name} ok"}}] for name in names})
    states: dict[str, Any] = {
        name: {
            "transitions": {
                name: {
                    "target": target,
                    "actor": "deterministic",
                    "executor": build_function_executor(f"ci::{name}", arguments={}),
                    "output": {name: "$.output.said"},
                }
            }
        }
        for name, target in zip(names, [*names[1:], "built"], strict=True)
    }
    scripted_tenant.publish(
        workflows={"ci": {"initialState": "lint", "states": {**states, "built": {"terminal": True}}}}
    )
    built = scripted_tenant.start("ci")
    assert (built["state"], built["version"], built["terminal"]) == ("built", 4, True)
    assert [hop["transition"] for hop in built["chain"]] == names
    assert built["context"] == {name: f"{name} ok" for name in names}
    assert [len(scripted_tenant.list_calls(f"ci::{name}")) for name in names] == [1, 1, 1]


def test_a_fallback_runs_with_the_same_idempotency_key(scripted_tenant: ScriptedTenant) -> None:
    scripted_tenant.host_scripts(
        {"mail::own": [{"error": "transient_error"}], "mail::other": [{"output": {"sent": True}}]}
    )
    reliability = {"retry": {"maxAttempts": 2}, "fallback": {"executors": [build_function_executor("mail::other")]}}
    sending = define_one_step(
        executor=build_function_executor("mail::own", idempotencyKey=True),
        reliability=reliability,
        output={"sent": "$.output.sent"},
    )
    scripted_tenant.publish(workflows={"sending": sending})
    assert scripted_tenant.submit(scripted_tenant.start("sending"), "go")["context"] == {"sent": True}
    calls = [*scripted_tenant.list_calls("mail::own"), *scripted_tenant.list_calls("mail::other")]
    assert len(calls) == 3
    assert len({call["idempotencyKey"] for call in calls}) == 1


def test_a_function_with_a_timeout_too_long_for_the_gateway_runs_in_the_worker(scripted_tenant: ScriptedTenant) -> None:
    scripted_tenant.host_scripts({"shop::bake": [{"delayMs": 2000, "output": {"cake": "warm"}}]}, timeout_ms=40_000)
    scripted_tenant.publish(
        workflows={
            "baking": define_one_step(executor=build_function_executor("shop::bake"), output={"cake": "$.output.cake"})
        }
    )
    at = scripted_tenant.start("baking")
    waiting = scripted_tenant.submit(at, "go")
    assert "error" not in waiting
    assert (waiting["state"], waiting["version"], list_link_names(waiting)) == ("open", 1, ONLY_SELF)
    assert waiting["pending"]["transition"] == "go"
    again = scripted_tenant.submit(at, "go")
    assert again["error"]["code"] == "STALE_WORKFLOW_VERSION"
    assert (again["error"]["retryAfterMs"] > 0, list_link_names(again)) == (True, ONLY_SELF)
    baked = scripted_tenant.wait_until_settled(at["workflowId"])
    assert (baked["state"], baked["version"], baked["context"]) == ("done", 2, {"cake": "warm"})
    assert len(scripted_tenant.list_calls("shop::bake")) == 1


def test_a_parent_workflow_waits_for_a_child_that_waits_for_a_person(scripted_tenant: ScriptedTenant) -> None:
    answering: dict[str, Any] = {"target": "answered", "actor": "human", "output": {"answer": "$.arguments.answer"}}
    answering["inputSchema"] = {"type": "object", "properties": {"answer": {"type": "string"}}}
    child = {
        "initialState": "asked",
        "states": {"asked": {"transitions": {"answer": answering}}, "answered": {"terminal": True}},
    }
    parent = define_one_step(
        executor={"kind": "workflow", "definitionId": "child"}, output={"heard": "$.output.answer"}
    )
    scripted_tenant.publish(workflows={"parent": parent, "child": child})
    at = scripted_tenant.start("parent")
    waiting = scripted_tenant.submit(at, "go")
    assert (waiting["state"], waiting["pending"]["on"], list_link_names(waiting)) == ("open", "workflow", ONLY_SELF)
    asked = scripted_tenant.get(waiting["pending"]["workflowId"])
    assert (asked["state"], asked["waitingFor"]) == ("asked", "human")
    answered = scripted_tenant.submit(asked, "answer", scripted_tenant.make_person_credential("ada"), answer="yes")
    assert answered["terminal"] is True
    done = scripted_tenant.wait_until_settled(at["workflowId"])
    assert (done["state"], done["version"], done["context"]) == ("done", 2, {"heard": "yes"})
    assert "sub_workflow.completed" in scripted_tenant.list_audit_types(at["workflowId"])


def test_a_retry_delay_too_long_for_a_call_is_spent_in_the_queue(scripted_tenant: ScriptedTenant) -> None:
    scripted_tenant.host_scripts({"mail::own": [{"error": "rate_limited"}, {"output": {"sent": True}}]})
    retry = {"maxAttempts": 2, "backoff": "fixed", "initialDelayMs": LATER_THAN_A_GATEWAY_WAITS}
    sending = define_one_step(
        executor=build_function_executor("mail::own"), reliability={"retry": retry}, output={"sent": "$.output.sent"}
    )
    scripted_tenant.publish(workflows={"sending": sending})
    at = scripted_tenant.start("sending")
    waiting = scripted_tenant.submit(at, "go")
    pending = waiting["pending"]
    assert (pending["on"], pending["attempt"], list_link_names(waiting)) == ("retry", 2, ONLY_SELF)
    assert 20_000 < pending["retryAfterMs"] <= LATER_THAN_A_GATEWAY_WAITS
    sent = scripted_tenant.wait_until_settled(at["workflowId"])
    assert (sent["state"], sent["context"]) == ("done", {"sent": True})
    first, second = scripted_tenant.list_calls("mail::own")
    assert second["at"] - first["at"] >= LATER_THAN_A_GATEWAY_WAITS / 1000


@pytest.mark.invariant(96)
def test_a_retry_in_the_queue_is_not_made_for_a_revoked_key(scripted_tenant: ScriptedTenant) -> None:
    scripted_tenant.host_scripts({"mail::own": [{"error": "rate_limited"}, {"output": {"sent": True}}]})
    retry = {"maxAttempts": 2, "backoff": "fixed", "initialDelayMs": LATER_THAN_A_GATEWAY_WAITS}
    sending = define_one_step(executor=build_function_executor("mail::own"), reliability={"retry": retry})
    scripted_tenant.publish(workflows={"sending": sending})
    at, key = scripted_tenant.start("sending"), scripted_tenant.make_key()
    assert scripted_tenant.submit(at, "go", key)["pending"]["attempt"] == 2
    scripted_tenant.revoke_key(key)
    stopped = scripted_tenant.wait_until_settled(at["workflowId"])
    assert (stopped["state"], stopped["fault"]["errorClass"]) == ("open", "access_lost")
    assert list_link_names(stopped) == ["go"]
    assert len(scripted_tenant.list_calls("mail::own")) == 1


def start_lost_step(there: ScriptedTenant) -> Mapping[str, Any]:
    """A step whose gateway died when its function had been carried out."""
    there.host_scripts(
        {"shop::pay": [{"output": {"receipt": "R-1"}}, {"output": {"receipt": "R-2"}}]}, timeout_ms=2_500
    )
    executor = build_function_executor("shop::pay", idempotencyKey=True)
    there.publish(workflows={"paying": define_one_step(executor=executor, output={"receipt": "$.output.receipt"})})
    at = there.start("paying")
    died = there.send(
        "workflow.submit", headers={CRASH_STEP: "before dynamodb.TransactWriteItems"}, **build_submission(at, "go")
    )
    assert died.status >= 500, died.text
    doubtful = there.wait_until(at["workflowId"], lambda seen: "inDoubt" in seen)
    assert (doubtful["state"], doubtful["version"]) == ("open", 1)
    assert len(there.list_calls("shop::pay")) == 1
    return doubtful


def test_a_lost_lease_is_found_and_its_step_resolved_by_a_permitted_caller(scripted_tenant: ScriptedTenant) -> None:
    doubtful = start_lost_step(scripted_tenant)
    workflow_id, may = doubtful["workflowId"], scripted_tenant.make_key(RESOLVING)
    scripted_tenant.sweep()
    scripted_tenant.wait_until(
        workflow_id, lambda _: "executor.in_doubt" in scripted_tenant.list_audit_types(workflow_id)
    )
    assert list_link_names(scripted_tenant.get(workflow_id)) == ONLY_SELF
    assert scripted_tenant.submit(doubtful, "go")["error"]["code"] == "IN_DOUBT"
    seen = scripted_tenant.get(workflow_id, may)
    assert list_link_names(seen) == ["self", "$retry", "$resolve"]
    assert scripted_tenant.follow_link(seen, "$resolve", happened=False)["error"]["code"] == "GUARD_REJECTED"
    paid = scripted_tenant.follow_link(seen, "$resolve", may, happened=True, output={"receipt": "R-1"})
    assert "error" not in paid, paid
    assert (paid["state"], paid["version"], paid["context"]) == ("done", 2, {"receipt": "R-1"})
    assert len(scripted_tenant.list_calls("shop::pay")) == 1
    assert "executor.resolved" in scripted_tenant.list_audit_types(workflow_id)


def test_a_retried_step_in_doubt_has_the_same_idempotency_key(scripted_tenant: ScriptedTenant) -> None:
    doubtful = start_lost_step(scripted_tenant)
    may = scripted_tenant.make_key(RESOLVING)
    paid = scripted_tenant.follow_link(scripted_tenant.get(doubtful["workflowId"], may), "$retry", may)
    assert (paid["state"], paid["version"], paid["context"]) == ("done", 2, {"receipt": "R-2"})
    first, second = scripted_tenant.list_calls("shop::pay")
    assert first["idempotencyKey"] == second["idempotencyKey"] == f"{doubtful['workflowId']}.go.1"


def test_a_step_resolved_as_not_happened_leaves_its_instance_unchanged(scripted_tenant: ScriptedTenant) -> None:
    doubtful = start_lost_step(scripted_tenant)
    may = scripted_tenant.make_key(RESOLVING)
    open_again = scripted_tenant.follow_link(
        scripted_tenant.get(doubtful["workflowId"], may), "$resolve", may, happened=False
    )
    assert "error" not in open_again
    assert (open_again["state"], open_again["version"], list_link_names(open_again)) == ("open", 1, ["go"])
    assert scripted_tenant.submit(open_again, "go")["context"] == {"receipt": "R-2"}


def test_a_capability_is_called_in_one_call(scripted_tenant: ScriptedTenant) -> None:
    scripted_tenant.host_scripts({"shop::price": [{"output": {"price": 12}}]})
    schema = {"type": "object", "properties": {"item": {"type": "string"}}, "required": ["item"]}
    exposed = {"name": "shop.price", "inputSchema": schema, "executor": build_function_executor("shop::price")}
    scripted_tenant.publish(proxy={"expose": [exposed]})
    priced = scripted_tenant.start("proxy_default", capability="shop.price", arguments={"item": "tea"})
    assert (priced["version"], priced["context"]) == (2, {"lastResult": {"price": 12}})
    assert [call["arguments"] for call in scripted_tenant.list_calls("shop::price")] == [{"item": "tea"}]
    asked = scripted_tenant.start("proxy_default", capability="shop.price")
    assert (asked["version"], list_link_names(asked)) == (1, ["shop.price"])
