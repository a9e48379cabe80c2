"""Steps whose function asks questions, on the deployed stack: parked in the table, answered by their link, and
continued by the gateway or the worker."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from signpost.directory import manifest
from signpost.workflow.engine.permissions import ANSWER
from stage.crashes import CRASH_STEP
from tests.support.asking_steps import accept, form
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

LONGER_THAN_A_GATEWAY_WAITS = 40_000
"""Milliseconds."""
SCRIPT = [{"asks": {"size": form()}}, {"asks": {"colour": form()}}, {"output": {"made": True}}]
LARGE, RED = accept(size=3), accept(size=1)


@pytest.fixture(scope="module", autouse=True)
def warm_stub(executors: Executors) -> None:
    """A first start takes longer than some of these functions may."""
    executors.invoke("stub", json.loads(manifest.MANIFEST_REQUEST))


@pytest.fixture
def scripted_tenant(executors: Executors) -> ScriptedTenant:
    return make_scripted_tenant(executors)


def start_order(there: ScriptedTenant, **reliability: Any) -> Mapping[str, Any]:
    """A run whose step `go` asks in two rounds."""
    there.host_scripts({"shop::order": SCRIPT})
    executor = build_function_executor("shop::order", idempotencyKey=True)
    step = define_one_step(executor=executor, output={"made": "$.output.made"}, reliability=reliability)
    there.publish(workflows={"order": step})
    return there.start("order")


def list_given_answers(there: ScriptedTenant) -> list[Any]:
    return [call["answers"] for call in there.list_calls("shop::order")]


@pytest.mark.invariant(159)
def test_a_step_that_asks_in_two_rounds_is_answered_by_its_links(scripted_tenant: ScriptedTenant) -> None:
    at = start_order(scripted_tenant)
    parked = scripted_tenant.submit(at, "go")
    assert (parked["waitingFor"], parked["version"], list_link_names(parked)) == ("answers", 1, ["self", ANSWER])
    listed = scripted_tenant.call_tool("gateway.search", kind="run", waiting="answers", query="")
    assert [found["item"]["id"] for found in listed["results"]] == [at["workflowId"]]
    stranger = scripted_tenant.make_key()
    assert list_link_names(scripted_tenant.get(at["workflowId"], stranger)) == ["self"]
    again = scripted_tenant.follow_link(parked, ANSWER, size=LARGE)
    assert again["questions"].keys() == {"colour"}
    done = scripted_tenant.follow_link(again, ANSWER, colour=RED)
    assert (done["state"], done["version"], done["context"]) == ("done", 2, {"made": True})
    assert list_given_answers(scripted_tenant) == [{}, {"size": LARGE}, {"size": LARGE, "colour": RED}]
    assert {call["idempotencyKey"] for call in scripted_tenant.list_calls("shop::order")} == {
        f"{at['workflowId']}.go.1"
    }
    assert scripted_tenant.list_audit_types(at["workflowId"]).count("executor.answered") == 2


def test_a_step_of_the_worker_asks_and_goes_on_at_the_worker(scripted_tenant: ScriptedTenant) -> None:
    at = start_order(scripted_tenant, timeoutMs=LONGER_THAN_A_GATEWAY_WAITS)
    workflow_id = at["workflowId"]
    assert scripted_tenant.submit(at, "go")["pending"]["on"] == "executor"
    parked = scripted_tenant.wait_until(workflow_id, lambda seen: "questions" in seen)
    assert scripted_tenant.follow_link(parked, ANSWER, size=LARGE)["pending"]["on"] == "executor"
    again = scripted_tenant.wait_until(workflow_id, lambda seen: "colour" in seen.get("questions", {}))
    scripted_tenant.follow_link(again, ANSWER, colour=RED)
    assert scripted_tenant.wait_until_settled(workflow_id)["state"] == "done"
    assert len(scripted_tenant.list_calls("shop::order")) == 3


@pytest.mark.invariant(160)
def test_the_worker_goes_on_if_the_gateway_dies_after_it_has_stored_the_answers(
    scripted_tenant: ScriptedTenant,
) -> None:
    at = start_order(scripted_tenant)
    parked = scripted_tenant.submit(at, "go")
    (link,) = [link for link in parked["links"] if link["args"].get("transition") == ANSWER]
    died = scripted_tenant.send(
        "workflow.submit",
        headers={CRASH_STEP: "before dynamodb.UpdateItem"},
        **build_submission(at, ANSWER),
        arguments={**link["args"]["arguments"], "size": LARGE},
    )
    assert died.status >= 500, died.text
    again = scripted_tenant.wait_until(at["workflowId"], lambda seen: "colour" in seen.get("questions", {}))
    assert scripted_tenant.follow_link(again, ANSWER, colour=RED)["state"] == "done"
    assert list_given_answers(scripted_tenant)[1] == {"size": LARGE}
    assert len(scripted_tenant.list_calls("shop::order")) == 3
