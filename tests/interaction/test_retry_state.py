"""Requests in several rounds: sealed, bound, expiring, and never asked of a client that cannot answer."""

import json
from dataclasses import replace
from typing import Any

import pytest

from signpost.identity import api_keys
from signpost.mcp.retry_state import STATE_LIFETIME
from signpost.mcp.revisions import CLIENT_CAPABILITIES
from signpost.model import Json, JsonObject, MasterKeys, Principal
from signpost.signing.key_ring import KeyRing
from signpost.signing.seals import Sealer
from signpost.wiring.endpoints import build_gateway_surface
from stage.samples import TENANT
from tests.support.fixture_provider import add_fixtures
from tests.support.memory_gateway import META, GatewayAnswer, MemoryGateway, build_modern_request

EVERYTHING: JsonObject = {"elicitation": {}, "sampling": {}, "roots": {}}
ASKING = "test_input_required_result_request_state"


class RetryingClient:
    def __init__(self, gateway: MemoryGateway | None = None, capabilities: JsonObject = EVERYTHING) -> None:
        self.gateway = gateway or MemoryGateway()
        self.gateway.serve_surface(add_fixtures(build_gateway_surface(self.gateway.composition)))
        self.capabilities = capabilities
        self.credential = str(self.gateway.make_key(TENANT))

    def send(self, name: str, arguments: Json = None, method: str = "tools/call", **more: Json) -> GatewayAnswer:
        meta: JsonObject = {**META, CLIENT_CAPABILITIES: self.capabilities}
        message, headers = build_modern_request(method, {"name": name, "arguments": arguments or {}, **more}, meta)
        headers |= {"authorization": f"Bearer {self.credential}"}
        return self.gateway.send(body=json.dumps(message), headers=headers)

    def ask(self, name: str, method: str = "tools/call", arguments: Json = None, **more: Json) -> Any:
        return self.send(name, arguments, method, **more).json["result"]


def accept_with(**content: Json) -> JsonObject:
    return {"action": "accept", "content": content}


@pytest.fixture
def client() -> RetryingClient:
    return RetryingClient()


def test_an_input_request_is_answered_and_the_call_completes(client: RetryingClient) -> None:
    asked = client.ask("test_input_required_result_elicitation")
    assert asked["resultType"] == "input_required"
    assert "ttlMs" not in asked
    done = client.ask(
        "test_input_required_result_elicitation",
        inputResponses={"user_name": accept_with(name="Author")},
        requestState=asked["requestState"],
    )
    assert (done["resultType"], done["content"][0]["text"]) == ("complete", "Hello, Author!")


@pytest.mark.parametrize(
    "answers", [{}, {"other": accept_with(name="x")}, {"user_name": {"action": "decline"}}, {"user_name": "x"}]
)
def test_an_unanswered_input_request_is_sent_again(client: RetryingClient, answers: JsonObject) -> None:
    name = "test_input_required_result_elicitation"
    asked = client.ask(name)
    again = client.ask(name, inputResponses=answers, requestState=asked["requestState"])
    assert (again["resultType"], list(again["inputRequests"])) == ("input_required", ["user_name"])


@pytest.mark.invariant(149)
def test_answers_without_the_state_of_their_questions_are_not_given(client: RetryingClient) -> None:
    answers: JsonObject = {"user_name": accept_with(name="Author"), "another": accept_with(name="Author")}
    asked = client.ask("test_input_required_result_elicitation", inputResponses=answers)
    assert (asked["resultType"], list(asked["inputRequests"])) == ("input_required", ["user_name"])


def test_retry_state_is_carried_through_several_input_requests(client: RetryingClient) -> None:
    name = "test_input_required_result_multi_round"
    first = client.ask(name)
    answers = {"step1": accept_with(name="Author")}
    second = client.ask(name, inputResponses=answers, requestState=first["requestState"])
    assert list(second["inputRequests"]) == ["step2"]
    answers = {"step2": accept_with(color="green")}
    done = client.ask(name, inputResponses=answers, requestState=second["requestState"])
    assert done["content"][0]["text"] == "Author likes green."


def test_several_inputs_are_requested_at_once(client: RetryingClient) -> None:
    asked = client.ask("test_input_required_result_multiple_inputs")
    methods = {request["method"] for request in asked["inputRequests"].values()}
    assert methods == {"elicitation/create", "sampling/createMessage", "roots/list"}


def test_a_prompt_can_require_input(client: RetryingClient) -> None:
    asked = client.ask("test_input_required_result_prompt", method="prompts/get")
    assert asked["resultType"] == "input_required"
    answers = {"user_context": accept_with(context="tests")}
    sealed = {"inputResponses": answers, "requestState": asked["requestState"]}
    done = client.ask("test_input_required_result_prompt", method="prompts/get", **sealed)
    assert done["messages"][0]["content"]["text"] == "In this context: tests"


def state_of(client: RetryingClient) -> str:
    return client.ask(ASKING)["requestState"]


CONFIRMED: JsonObject = {"confirm": accept_with(ok=True)}


def test_retry_state_returns_unchanged(client: RetryingClient) -> None:
    done = client.ask(ASKING, inputResponses=CONFIRMED, requestState=state_of(client))
    assert done["content"][0]["text"] == "state-ok"


def is_refused(answer: GatewayAnswer) -> bool:
    return answer.status == 400 and answer.json["error"]["code"] == -32602


@pytest.mark.invariant(22)
def test_a_changed_retry_state_is_refused(client: RetryingClient) -> None:
    state = state_of(client)
    for changed in (state[:-2], f"x{state}", "", "a.b", f"{state}.x"):
        assert is_refused(client.send(ASKING, inputResponses=CONFIRMED, requestState=changed))


@pytest.mark.invariant(22)
def test_the_retry_state_of_another_principal_is_refused(client: RetryingClient) -> None:
    state = state_of(client)
    client.credential = str(client.gateway.make_key(TENANT))
    assert is_refused(client.send(ASKING, inputResponses=CONFIRMED, requestState=state))


@pytest.mark.invariant(22)
def test_the_retry_state_of_another_tool_or_other_arguments_is_refused(client: RetryingClient) -> None:
    state = client.ask("test.ask", arguments={"a": 1})["requestState"]
    assert not is_refused(client.send("test.ask", {"a": 1}, inputResponses=CONFIRMED, requestState=state))
    assert is_refused(client.send("test.ask", {"a": 2}, inputResponses=CONFIRMED, requestState=state))
    assert is_refused(client.send(ASKING, {"a": 1}, inputResponses=CONFIRMED, requestState=state))
    assert is_refused(client.send("test.ask", {"a": 1}, inputResponses=CONFIRMED, requestState=state, extra=1))


def test_the_retry_state_of_another_method_surface_or_purpose_is_refused(client: RetryingClient) -> None:
    prompt = "test_input_required_result_prompt"
    sealer = Sealer(KeyRing(store=client.gateway.adapters.master_keys, clock=client.gateway.clock))
    state = client.ask("test.ask")["requestState"]
    assert is_refused(client.send(prompt, None, "prompts/get", inputResponses=CONFIRMED, requestState=state))
    cursor = sealer.seal("cursor:gateway:tools/list", {"after": "x", "position": 1}, principal_of(client))
    assert is_refused(client.send("test.ask", inputResponses=CONFIRMED, requestState=cursor))
    assert client.send("", method="tools/list", cursor=state).json["error"]["code"] == -32602
    client.gateway.serve_surface(
        replace(add_fixtures(build_gateway_surface(client.gateway.composition)), name="another")
    )
    assert is_refused(client.send("test.ask", inputResponses=CONFIRMED, requestState=state))


def principal_of(client: RetryingClient) -> Principal:
    key_id = client.credential.split("_")[2]
    return Principal(subject=f"api-key:{key_id}", tenant=TENANT, issuer=api_keys.ISSUER)


@pytest.mark.parametrize("change", [{"tenant": "other"}, {"issuer": "other"}, {"subject": "other"}])
def test_a_seal_is_bound_to_every_part_of_its_holder(client: RetryingClient, change: dict[str, str]) -> None:
    sealer = Sealer(KeyRing(store=client.gateway.adapters.master_keys, clock=client.gateway.clock))
    holder = principal_of(client)
    seal = sealer.seal("purpose", 1, holder)
    assert sealer.open("purpose", seal, holder) == 1
    assert sealer.open("purpose", seal, replace(holder, **change)) is None
    assert sealer.open("another", seal, holder) is None


def test_retry_state_is_bound_to_the_tool_under_all_its_names(client: RetryingClient) -> None:
    state = client.ask("test.ask")["requestState"]
    assert client.ask("test_ask", inputResponses=CONFIRMED, requestState=state)["isError"] is False


@pytest.mark.invariant(22)
def test_retry_state_expires_after_ten_minutes(client: RetryingClient) -> None:
    state = state_of(client)
    client.gateway.clock.advance(STATE_LIFETIME - 1)
    assert not is_refused(client.send(ASKING, inputResponses=CONFIRMED, requestState=state))
    client.gateway.clock.advance(1)
    assert is_refused(client.send(ASKING, inputResponses=CONFIRMED, requestState=state))


def test_retry_state_survives_one_rotation_of_the_keys(client: RetryingClient) -> None:
    state = state_of(client)
    client.gateway.adapters.master_keys.write(MasterKeys("second", "master"))
    client.gateway.clock.advance(300)
    assert not is_refused(client.send(ASKING, inputResponses=CONFIRMED, requestState=state))


@pytest.mark.parametrize("more", [{"inputResponses": []}, {"inputResponses": None}, {"requestState": 7}])
def test_answers_and_retry_state_of_another_type_are_refused(client: RetryingClient, more: dict[str, Json]) -> None:
    assert is_refused(client.send(ASKING, None, "tools/call", **more))


@pytest.mark.invariant(23)
@pytest.mark.parametrize(
    ("declared", "name", "missing"),
    [
        ({}, "test_input_required_result_elicitation", {"elicitation": {}}),
        ({"elicitation": {"url": {}}}, "test_input_required_result_elicitation", {"elicitation": {}}),
        ({}, "test_input_required_result_sampling", {"sampling": {}}),
        ({"elicitation": {}}, "test_input_required_result_multiple_inputs", {"sampling": {}, "roots": {}}),
    ],
)
def test_input_that_needs_an_undeclared_capability_is_never_requested(
    declared: JsonObject, name: str, missing: JsonObject
) -> None:
    answer = RetryingClient(capabilities=declared).send(name)
    assert (answer.status, answer.json["error"]["code"]) == (400, -32021)
    assert answer.json["error"]["data"] == {"requiredCapabilities": missing}


@pytest.mark.parametrize("declared", [{"elicitation": {}}, {"elicitation": {"form": {}}}])
def test_both_declarations_of_form_elicitation_are_accepted(declared: JsonObject) -> None:
    client = RetryingClient(capabilities=declared)
    assert client.ask("test_input_required_result_elicitation")["resultType"] == "input_required"


def test_a_legacy_client_gets_an_error_instead_of_an_input_request(client: RetryingClient) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": ASKING}}
    headers = {"authorization": f"Bearer {client.credential}", "mcp-protocol-version": "2025-11-25"}
    result = client.gateway.send(body=json.dumps(message), headers=headers).json["result"]
    assert result["isError"] is True
    assert "2026-07-28" in result["content"][0]["text"]
    message |= {"method": "prompts/get", "params": {"name": "test_input_required_result_prompt"}}
    error = client.gateway.send(body=json.dumps(message), headers=headers).json["error"]
    assert error["code"] == -32602
