"""What an executor makes of a token, shown by a counter that only its functions move."""

import json
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from signpost.adapters.clock import SystemClock
from signpost.adapters.memory import MemoryMasterKeys
from signpost.adapters.secrets_manager import SecretMasterKeys
from signpost.calling import wire
from signpost.contract import FunctionCall
from signpost.directory.keys import keys_of
from signpost.model import JsonObject, MasterKeys, Principal
from signpost.signing.capability_tokens import TokenMint, grant_of
from signpost.signing.key_ring import KeyRing
from tests.support.executors import Executors

pytestmark = pytest.mark.cloud

type CallChange = Callable[[FunctionCall], FunctionCall]
PRINCIPAL = Principal("agent", "acme", "signpost:api-key")


def connect_stack_keys(executors: Executors) -> SecretMasterKeys:
    secretsmanager = executors.laptop.client("secretsmanager")
    return SecretMasterKeys(lambda: secretsmanager, executors.gateway.deployed.outputs["MasterSecretArn"])


def build_call(effect: str, **changes: Any) -> FunctionCall:
    arguments: JsonObject = {"effect": effect}
    call = FunctionCall(uuid.uuid4().hex, "trials::show", arguments, PRINCIPAL, time.time() + 20, step="wf_1.go.1")
    return replace(call, **changes)


def mint_token(keys: MasterKeys, call: FunctionCall, arn: str, lasting: float = 60) -> str:
    mint = TokenMint(KeyRing(store=MemoryMasterKeys(keys), clock=SystemClock()))
    return mint.mint(grant_of(call, arn, time.time() + lasting))


def invoke_executor(executors: Executors, call: FunctionCall, token: str, name: str = "trials") -> Mapping[str, Any]:
    return json.loads(executors.invoke(name, wire.call_message(call, token)))


@pytest.fixture
def effect() -> str:
    return uuid.uuid4().hex


def test_a_call_with_its_own_token_runs(executors: Executors, effect: str) -> None:
    call = build_call(effect)
    token = mint_token(connect_stack_keys(executors).read(), call, executors.find_executor("trials").arn)
    assert "result" in invoke_executor(executors, call, token)
    assert executors.count_effect(effect) == 1


FOREIGN_CALLS: list[tuple[CallChange, str]] = [
    (lambda call: replace(call, function="trials::nan"), "another function"),
    (lambda call: replace(call, call_id="another"), "another call"),
    (lambda call: replace(call, principal=replace(PRINCIPAL, tenant="umbrella")), "another tenant"),
    (lambda call: replace(call, step="wf_1.go.2"), "another step"),
    (lambda call: replace(call, arguments={**call.arguments, "more": 1}), "other arguments"),
    (lambda call: replace(call, permissions=frozenset({"mail"})), "widened"),
    (lambda call: replace(call, principal=replace(PRINCIPAL, human=True)), "a person"),
    (lambda call: replace(call, deadline=call.deadline + 60), "a later deadline"),
]


@pytest.mark.invariant(29)
@pytest.mark.parametrize(("change", "what"), FOREIGN_CALLS)
def test_a_token_of_another_call_runs_nothing(executors: Executors, effect: str, change: CallChange, what: str) -> None:
    call = build_call(effect)
    token = mint_token(connect_stack_keys(executors).read(), call, executors.find_executor("trials").arn)
    failed = invoke_executor(executors, change(call), token)["failure"]
    assert (failed["code"], failed["outcome"]) == ("invalid_token", "none"), what
    assert executors.count_effect(effect) == 0


@pytest.mark.invariant(29)
def test_a_tampered_or_foreign_token_runs_nothing(executors: Executors, effect: str) -> None:
    call = build_call(effect)
    keys, arn = connect_stack_keys(executors).read(), executors.find_executor("trials").arn
    good = mint_token(keys, call, arn)
    text, mac, second = good.split(".")
    of_another_executor = mint_token(keys, call, executors.find_executor("blocking").arn)
    of_another_stack = mint_token(MasterKeys("0" * 64), call, arn)
    swapped = f"{text}.{second}.{mac}"
    longer = f"{text[:-4]}AAAA.{mac}.{second}"
    for token in ("", "nonsense", swapped, longer, of_another_executor, of_another_stack):
        assert invoke_executor(executors, call, token)["failure"]["code"] == "invalid_token"
    assert executors.count_effect(effect) == 0


def test_an_expired_token_runs_nothing(executors: Executors, effect: str) -> None:
    call = build_call(effect)
    token = mint_token(connect_stack_keys(executors).read(), call, executors.find_executor("trials").arn, lasting=-1)
    assert invoke_executor(executors, call, token)["failure"]["code"] == "token_expired"
    late = build_call(effect, deadline=time.time() - 1)
    token = mint_token(connect_stack_keys(executors).read(), late, executors.find_executor("trials").arn)
    assert invoke_executor(executors, late, token)["failure"]["code"] == "late"
    assert executors.count_effect(effect) == 0


def test_the_previous_key_is_accepted_and_a_revoked_one_is_not(executors: Executors, effect: str) -> None:
    """On an executor of its own copy of the keys, as two rotations leave them."""
    arn = executors.find_executor("blocking").arn
    current = connect_stack_keys(executors).read()
    first, second = MasterKeys("1" * 64), MasterKeys("2" * 64)
    own = SecretMasterKeys(lambda: executors.laptop.client("secretsmanager"), executors.outputs["BlockingKeys"])
    own.write(keys_of(arn, MasterKeys(second.current, first.current)))
    try:
        executors.restart("blocking")
        for keys, runs in ((second, True), (first, True), (current, False)):
            call = build_call(effect, function="blocking::return")
            reply = invoke_executor(executors, call, mint_token(keys, call, arn), "blocking")
            assert ("result" in reply) == runs, reply
        assert executors.count_effect(f"{effect}.finished") == 2
    finally:
        own.write(keys_of(arn, current))
        executors.restart("blocking")


@pytest.mark.invariant(29)
def test_an_executor_reads_its_own_keys_and_no_others(executors: Executors, key: str) -> None:
    blocking, master = executors.outputs["BlockingKeys"], executors.gateway.deployed.outputs["MasterSecretArn"]
    executors.laptop.expect_denial(f"{executors.stack}-trials", "secretsmanager:GetSecretValue", blocking, master)
    for secret, answer in (("TrialsKeys", "read"), ("BlockingKeys", "AccessDeniedException")):
        reply = executors.call(key, "trials::secret", {"secret": executors.outputs[secret]})
        assert reply["result"] == answer
    assert executors.call(key, "trials::secret", {"secret": master})["result"] == "AccessDeniedException"


def test_a_nested_call_gets_at_most_the_permissions_of_its_grant(executors: Executors, key: str, tenant: str) -> None:
    deepest = executors.call(key, "trials::nested", {"deeper": 3})["result"]
    assert deepest == {"depth": 3, "permissions": ["mail", "web"], "tenant": tenant}
    other = executors.call(key, "trials::call", {"function": "trials::checked", "arguments": {"n": 1}})
    assert (other["result"]["permissions"], other["result"]["depth"]) == (["web"], 1)


def test_nested_calls_end_at_depth_three(executors: Executors, key: str) -> None:
    failed = executors.call(key, "trials::nested", {"deeper": 4})["failure"]
    assert "three deep" in failed["message"]


@pytest.mark.invariant(29)
def test_the_gateway_rejects_a_token_forged_by_an_executor(executors: Executors, effect: str) -> None:
    """With its own key an executor can sign what it likes; nobody else believes it."""
    arn = executors.find_executor("trials").arn
    own = SecretMasterKeys(lambda: executors.laptop.client("secretsmanager"), executors.outputs["TrialsKeys"])
    call = build_call(effect)
    forged = mint_token(own.read(), call, arn)
    message = wire.nested_message(wire.NestedCall(forged, call.call_id, "trials::show", {"effect": effect}))
    function = executors.gateway.deployed.outputs["NestedCallsFunctionName"]
    answer = executors.laptop.client("lambda").invoke(FunctionName=function, Payload=json.dumps(message).encode())
    assert json.loads(answer["Payload"].read())["failure"]["code"] == "invalid_token"
    assert executors.count_effect(effect) == 0


API_EVENT: Any = {
    "version": "2.0",
    "rawPath": "/health",
    "rawQueryString": "",
    "headers": {},
    "requestContext": {"http": {"method": "GET", "path": "/health", "sourceIp": "127.0.0.1"}, "requestId": "forged"},
    "isBase64Encoded": False,
}


@pytest.mark.invariant(84)
def test_an_executor_cannot_hand_an_event_of_the_api_to_the_gateway(executors: Executors, key: str) -> None:
    outputs = executors.gateway.deployed.outputs
    gateway, nested_calls = outputs["GatewayFunctionName"], outputs["NestedCallsFunctionName"]
    executors.laptop.expect_denial(f"{executors.stack}-trials", "lambda:InvokeFunction", outputs["GatewayFunctionArn"])
    denied = executors.call(key, "trials::invoke", {"invoked": gateway, "event": API_EVENT})
    assert denied["result"] == "AccessDeniedException"
    refused = executors.call(key, "trials::invoke", {"invoked": nested_calls, "event": API_EVENT})
    assert refused["result"]["failure"]["code"] == "not_understood"


@pytest.mark.invariant(84)
def test_the_gateway_answers_no_nested_call(executors: Executors) -> None:
    message = wire.nested_message(wire.NestedCall("token", "call", "trials::show", {}))
    function = executors.gateway.deployed.outputs["GatewayFunctionName"]
    answer = executors.laptop.client("lambda").invoke(FunctionName=function, Payload=json.dumps(message).encode())
    failed = json.loads(answer["Payload"].read())["failure"]
    assert failed["code"] == "not_understood"
    assert "NestedCallsFunctionArn" in failed["message"]


@pytest.mark.invariant(83)
def test_an_executor_calls_no_function_that_the_calling_function_does_not_declare(
    executors: Executors, key: str, effect: str
) -> None:
    undeclared = {"function": "trials::show", "arguments": {"effect": effect}}
    failed = executors.call(key, "trials::call", undeclared)["failure"]
    assert "trials::show was not called" in failed["message"]
    assert executors.count_effect(effect) == 0
