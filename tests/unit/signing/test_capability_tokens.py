"""What a capability token allows, and everything that it does not."""

import base64
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signpost.adapters.memory import MemoryMasterKeys
from signpost.contract import CallClient, FunctionCall
from signpost.model import JsonObject, MasterKeys, Principal
from signpost.signing.capability_tokens import (
    DEEPEST_CALL,
    FOR_EXECUTOR,
    TokenMint,
    TokenVerifier,
    derive_executor_key,
    grant_of,
)
from signpost.signing.key_ring import KEYS_LIFETIME, KeyRing, derive_key
from signpost.signing.signed_text import parse_signed_text, sign, write_signed_text
from tests.support.memory_gateway import ManualClock

MAIL = "arn:aws:lambda:us-east-1:000000000000:function:mail"
OTHER = "arn:aws:lambda:us-east-1:000000000000:function:other"
FIRST = "a" * 64
PRINCIPAL = Principal("agent", "acme", "signpost:api-key", frozenset({"writer"}), frozenset({"mail", "read"}))
type Change = Callable[[FunctionCall], FunctionCall]


class StackWithExecutors:
    """A stack with its keys, and the executors' own copies."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.stack = MemoryMasterKeys(MasterKeys(FIRST))
        self.mint = TokenMint(KeyRing(store=self.stack, clock=self.clock))
        self.executors = {arn: MemoryMasterKeys(MasterKeys(derive_executor_key(FIRST, arn))) for arn in (MAIL, OTHER)}
        self.verifiers = {
            arn: TokenVerifier(KeyRing(store=keys, clock=self.clock), clock=self.clock)
            for arn, keys in self.executors.items()
        }

    def call(self) -> FunctionCall:
        return FunctionCall(
            call_id="c1",
            function="email::send",
            arguments={"to": "x", "n": [1, 2.5, None]},
            principal=PRINCIPAL,
            deadline=self.clock.now() + 10,
            permissions=frozenset({"mail"}),
            step="wf_1.send.3",
        )

    def token(self, call: FunctionCall, executor: str = MAIL, lasting: float = 30) -> str:
        return self.mint.mint(grant_of(call, executor, self.clock.now() + lasting))

    def rotate(self, key: str) -> None:
        keys = MasterKeys(current=key, previous=self.stack.read().current)
        for arn, executor in self.executors.items():
            previous = derive_executor_key(keys.previous or "", arn)
            executor.write(MasterKeys(current=derive_executor_key(key, arn), previous=previous))
        self.stack.write(keys)


@pytest.fixture
def stack() -> StackWithExecutors:
    return StackWithExecutors()


def test_s125_s130_a_token_allows_the_call_it_was_minted_for(stack: StackWithExecutors) -> None:
    call = stack.call()
    assert stack.verifiers[MAIL].refusal(stack.token(call), call) is None


CALL_CHANGES: list[Change] = [
    lambda call: replace(call, function="email::delete"),
    lambda call: replace(call, call_id="c2"),
    lambda call: replace(call, step="wf_1.send.4"),
    lambda call: replace(call, step=None),
    lambda call: replace(call, arguments={**call.arguments, "to": "y"}),
    lambda call: replace(call, arguments={"to": "x", "n": [True, 2.5, None]}),
    lambda call: replace(call, answers={"confirm": {"action": "accept"}}),
    lambda call: replace(call, state="asked"),
    lambda call: replace(call, idempotency_key="wf_1.send.4"),
    lambda call: replace(call, keep_at="answers/umbrella/x.json"),
    lambda call: replace(call, permissions=call.permissions | {"admin"}),
    lambda call: replace(call, permissions=frozenset()),
    lambda call: replace(call, depth=1),
    lambda call: replace(call, deadline=call.deadline + 60),
    lambda call: replace(call, principal=replace(PRINCIPAL, tenant="umbrella")),
    lambda call: replace(call, principal=replace(PRINCIPAL, subject="somebody else")),
    lambda call: replace(call, principal=replace(PRINCIPAL, issuer="https://elsewhere.example")),
    lambda call: replace(call, principal=replace(PRINCIPAL, roles=frozenset({"admin"}))),
    lambda call: replace(call, principal=replace(PRINCIPAL, permissions=frozenset({"signpost.admin"}))),
    lambda call: replace(call, principal=replace(PRINCIPAL, human=True)),
]


@pytest.mark.parametrize("change", CALL_CHANGES)
def test_s131_s143_a_token_of_another_call_is_refused(stack: StackWithExecutors, change: Change) -> None:
    token = stack.token(stack.call())
    assert stack.verifiers[MAIL].refusal(token, change(stack.call())) == "invalid_token"


def test_a_token_of_another_executor_is_refused(stack: StackWithExecutors) -> None:
    call = stack.call()
    assert stack.verifiers[OTHER].refusal(stack.token(call, MAIL), call) == "invalid_token"
    assert stack.verifiers[MAIL].refusal(stack.token(call, OTHER), call) == "invalid_token"


@given(st.integers(min_value=0), st.sampled_from("ABCxyz019-_.="))
def test_s132_a_changed_token_is_refused(place: int, letter: str) -> None:
    world = StackWithExecutors()
    token = world.token(world.call())
    place %= len(token)
    changed = token[:place] + letter + token[place + 1 :]
    # The last part is the gateway's own signature, which an executor cannot check.
    gateways = token.rindex(".")
    if changed[:gateways] != token[:gateways]:
        assert world.verifiers[MAIL].refusal(changed, world.call()) == "invalid_token"
    if changed != token and (place < token.index(".") or place > gateways):
        assert world.mint.read_grant(changed) is None


@pytest.mark.parametrize("token", ["", ".", "..", "a.b.c", "e30.e30.e30", "é.é.é", "x" * 10_000])
def test_s140_s141_an_invalid_token_is_refused(stack: StackWithExecutors, token: str) -> None:
    assert stack.verifiers[MAIL].refusal(token, stack.call()) == "invalid_token"
    assert stack.mint.read_grant(token) is None


def test_s133_s134_a_token_is_good_until_it_expires(stack: StackWithExecutors) -> None:
    call = stack.call()
    token = stack.token(call, lasting=30)
    stack.clock.advance(29.9)
    assert stack.verifiers[MAIL].refusal(token, call) is None
    stack.clock.advance(0.1)
    assert stack.verifiers[MAIL].refusal(token, call) == "token_expired"


@pytest.mark.parametrize(("depth", "refusal"), [(0, None), (DEEPEST_CALL, None), (DEEPEST_CALL + 1, "too_deep")])
def test_s135_s136_a_chain_of_calls_is_three_deep_at_most(
    stack: StackWithExecutors, depth: int, refusal: str | None
) -> None:
    call = replace(stack.call(), depth=depth)
    assert stack.verifiers[MAIL].refusal(stack.token(call), call) == refusal


def test_s144_the_order_of_permissions_does_not_matter(stack: StackWithExecutors) -> None:
    one = replace(stack.call(), permissions=frozenset(("a", "b", "c")))
    other = replace(stack.call(), permissions=frozenset(("c", "b", "a")))
    assert stack.token(one) == stack.token(other)


def test_s142_a_token_with_unknown_members_is_refused(stack: StackWithExecutors) -> None:
    """Signed by the right key, as a later release might: what is not understood is not granted."""
    call = stack.call()
    said = json.loads(_decode_first_part(stack.token(call)))
    assert stack.verifiers[MAIL].refusal(_signed_like_a_token({**said, "caveat": "?"}), call) == "invalid_token"
    assert stack.verifiers[MAIL].refusal(_signed_like_a_token(said), call) is None


def test_s144_after_a_rotation_only_the_current_and_the_previous_key_are_accepted(stack: StackWithExecutors) -> None:
    call = stack.call()
    first = stack.token(call, lasting=10_000)
    stack.rotate("b" * 64)
    stack.clock.advance(KEYS_LIFETIME)
    second = stack.token(call, lasting=10_000)
    assert first != second
    assert stack.verifiers[MAIL].refusal(first, call) is None
    assert stack.verifiers[MAIL].refusal(second, call) is None
    stack.rotate("c" * 64)
    stack.clock.advance(KEYS_LIFETIME)
    assert stack.verifiers[MAIL].refusal(first, call) == "invalid_token"
    assert stack.verifiers[MAIL].refusal(second, call) is None


def test_an_executor_that_meets_a_new_key_reads_it_at_once(stack: StackWithExecutors) -> None:
    call = stack.call()
    assert stack.verifiers[MAIL].refusal(stack.token(call), call) is None
    for key in ("b" * 64, "c" * 64):
        stack.rotate(key)
        new_gateway = TokenMint(KeyRing(store=stack.stack, clock=stack.clock))
        token = new_gateway.mint(grant_of(call, MAIL, stack.clock.now() + 30))
        assert stack.verifiers[MAIL].refusal(token, call) is None
        assert stack.mint.read_grant(token) is not None


def test_a_token_signed_by_an_executor_is_no_token_to_the_gateway(stack: StackWithExecutors) -> None:
    """It has its own key, and might ask for anything in the name of anybody."""
    call = stack.call()
    forged = _signed_like_a_token(json.loads(_decode_first_part(stack.token(call))))
    assert stack.verifiers[MAIL].refusal(forged, call) is None
    assert stack.mint.read_grant(forged) is None


def test_the_gateway_reads_back_what_it_minted(stack: StackWithExecutors) -> None:
    capability = grant_of(stack.call(), MAIL, stack.clock.now() + 30)
    read = stack.mint.read_grant(stack.mint.mint(capability))
    assert read == capability
    assert read is not None
    assert read.principal == PRINCIPAL


def _decode_first_part(token: str) -> bytes:
    text = token.split(".", maxsplit=1)[0]
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _signed_like_a_token(said: dict[str, Any]) -> str:
    """What the executor of mail can make with the key that it has."""
    text = json.dumps(said, separators=(",", ":"), sort_keys=True).encode()
    mac = sign(text, derive_key(derive_executor_key(FIRST, MAIL), FOR_EXECUTOR))
    return write_signed_text(text, mac, mac)


def test_a_token_names_the_declared_calls_and_is_refused_for_others(stack: StackWithExecutors) -> None:
    call = replace(stack.call(), callees=frozenset({"web::get", "crm::find"}))
    token = stack.token(call)
    grant = stack.mint.read_grant(token)
    assert grant is not None
    assert grant.calls == ("crm::find", "web::get")
    assert stack.verifiers[MAIL].refusal(token, call) is None
    assert stack.verifiers[MAIL].refusal(token, replace(call, callees=frozenset({"root::purge"}))) == "invalid_token"


def test_a_token_without_calls_has_the_fields_that_executors_of_an_earlier_release_know(
    stack: StackWithExecutors,
) -> None:
    text, _, _ = parse_signed_text(stack.token(stack.call()), signatures=2)
    assert not {"calls", "thread", "claims"} & json.loads(text).keys()


@pytest.mark.invariant(174)
def test_a_token_carries_the_claims_of_the_principal_and_is_refused_for_others(stack: StackWithExecutors) -> None:
    claims: JsonObject = {"department": "sales", "groups": ["red", "blue"]}
    call = replace(stack.call(), principal=replace(PRINCIPAL, claims=claims))
    token = stack.token(call)
    grant = stack.mint.read_grant(token)
    assert grant is not None
    assert grant.principal == call.principal
    assert stack.verifiers[MAIL].refusal(token, call) is None
    for other in ({"department": "legal", "groups": ["red", "blue"]}, {}):
        forged = replace(call, principal=replace(PRINCIPAL, claims=other))
        assert stack.verifiers[MAIL].refusal(token, forged) == "invalid_token"


CLIENT = CallClient({"elicitation": {}}, {"name": "host"}, can_answer=True, thread="t1")


def test_a_token_covers_the_client_of_its_call(stack: StackWithExecutors) -> None:
    call = replace(stack.call(), client=CLIENT)
    token = stack.token(call)
    grant = stack.mint.read_grant(token)
    assert grant is not None
    assert grant.thread == "t1"
    assert stack.verifiers[MAIL].refusal(token, call) is None


@pytest.mark.parametrize(
    "client",
    [
        None,
        replace(CLIENT, thread="t2"),
        replace(CLIENT, can_answer=False),
        replace(CLIENT, capabilities={"elicitation": {}, "sampling": {}}),
        replace(CLIENT, info={"name": "other"}),
        replace(CLIENT, wants_progress=True),
        replace(CLIENT, log_level="debug"),
    ],
)
def test_a_token_is_refused_for_another_client(stack: StackWithExecutors, client: CallClient | None) -> None:
    call = replace(stack.call(), client=CLIENT)
    assert stack.verifiers[MAIL].refusal(stack.token(call), replace(call, client=client)) == "invalid_token"
