"""Questions of a function in a deployed stack: every round may be answered by other processes."""

import json
from typing import Any

import pytest

from signpost.mcp.revisions import CLIENT_CAPABILITIES
from signpost.model import Json, JsonObject
from tests.support.executors import Executors
from tests.support.memory_gateway import META, build_modern_request

pytestmark = pytest.mark.cloud

ANSWER: JsonObject = {"who": {"action": "accept", "content": {"name": "Ada", "day": "2027-01-31"}}}


def ask(executors: Executors, key: str, **more: Json) -> Any:
    meta: JsonObject = {**META, CLIENT_CAPABILITIES: {"elicitation": {}}}
    params: JsonObject = {"name": "trials__ask", "arguments": {"greeting": "Hello"}, **more}
    message, headers = build_modern_request("tools/call", params, meta)
    headers |= {"authorization": f"Bearer {key}"}
    return executors.gateway.send("POST", "/mcp/functions", body=json.dumps(message), headers=headers).json


@pytest.mark.invariant(149)
def test_a_function_goes_on_with_its_answer_in_processes_that_did_not_ask(executors: Executors, key: str) -> None:
    asked = ask(executors, key)["result"]
    assert list(asked["inputRequests"]) == ["who"], asked
    executors.restart_gateway()
    executors.restart("trials")
    done = ask(executors, key, inputResponses=ANSWER, requestState=asked["requestState"])["result"]
    assert done["content"][0]["text"] == "Hello, Ada, born in 2027!", done


@pytest.mark.invariant(149)
def test_answers_of_another_caller_or_to_nothing_do_not_reach_a_function(
    executors: Executors, tenant: str, key: str
) -> None:
    asked = ask(executors, key)["result"]
    refused = ask(executors, executors.make_key(tenant), inputResponses=ANSWER, requestState=asked["requestState"])
    assert refused["error"]["code"] == -32602, refused
    assert ask(executors, key, inputResponses=ANSWER)["result"]["resultType"] == "input_required"
