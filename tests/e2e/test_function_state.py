"""Effects and handles of functions of a deployed stack, whose processes are killed by the kernel."""

import uuid
from typing import Any

import pytest

from signpost.model import Json
from tests.support.executors import Executors
from tests.support.waiting import wait_for

pytestmark = pytest.mark.cloud

FUNCTIONS = pytest.mark.parametrize("function", ["trials::once", "trials::once_apart"], ids=["here", "apart"])
"""Functions in the sandbox, and in a process of their own."""


@pytest.fixture(scope="module", autouse=True)
def _placed(executors: Executors) -> None:
    executors.place_manifest("trials", None)


class Rounds:
    """The rounds of one request: calls of one function in one thread."""

    def __init__(self, executors: Executors, key: str, function: str) -> None:
        self.effect = f"effect-{uuid.uuid4().hex}"
        self._executors, self._key, self._function = executors, key, function
        self._thread = uuid.uuid4().hex

    def call(self, **arguments: Json) -> Any:
        arguments = {"once": self.effect, **arguments}
        return self._executors.call(self._key, self._function, arguments, thread=self._thread)

    def call_after_the_claim(self, **arguments: Json) -> Any:
        """Call until no other call can be carrying out the effect any more."""
        return wait_for(
            "the claim to end", lambda: self.call(**arguments), lambda reply: "is carrying out" not in str(reply)
        )

    @property
    def count(self) -> int:
        return self._executors.count_effect(self.effect)


@pytest.mark.invariant(155)
@FUNCTIONS
def test_an_effect_happens_once_in_all_rounds(executors: Executors, key: str, function: str) -> None:
    rounds = Rounds(executors, key, function)
    first = rounds.call()
    assert first.get("result", {}).get("number") == 1, first
    assert [rounds.call() for _ in range(2)] == [first] * 2
    assert rounds.count == 1


@pytest.mark.invariant(155)
@FUNCTIONS
@pytest.mark.parametrize(("moment", "happened"), [("before", 0), ("inside", 1)])
def test_an_effect_whose_process_is_killed_is_in_doubt(
    executors: Executors, key: str, function: str, moment: str, happened: int
) -> None:
    rounds = Rounds(executors, key, function)
    killed = rounds.call(dies=moment)
    assert killed.get("failure", {}).get("outcome") == "unknown", killed
    reply = rounds.call_after_the_claim(dies=moment)
    assert reply.get("failure", {}).get("outcome") == "unknown", reply
    assert "It is not known whether 'effect'" in reply["failure"]["message"], reply
    assert rounds.count == happened


@pytest.mark.invariant(155)
@FUNCTIONS
def test_an_effect_is_not_repeated_if_its_process_is_killed_afterwards(
    executors: Executors, key: str, function: str
) -> None:
    rounds = Rounds(executors, key, function)
    killed = rounds.call(dies="after")
    assert killed.get("failure", {}).get("outcome") == "unknown", killed
    reply = rounds.call(dies="after")
    assert reply.get("result", {}).get("number") == 1, reply
    assert rounds.count == 1


@pytest.mark.invariant(155)
def test_a_killed_effect_is_repeated_with_the_consent_of_its_author(executors: Executors, key: str) -> None:
    rounds = Rounds(executors, key, "trials::once")
    rounds.call(dies="inside", repeat=True)
    reply = rounds.call_after_the_claim(dies="inside", repeat=True)
    assert reply.get("result", {}).get("number") == 2, reply
    assert rounds.call(dies="inside", repeat=True) == reply


@pytest.mark.invariant(157)
def test_a_handle_lasts_from_call_to_call_and_is_its_callers_alone(executors: Executors, key: str, tenant: str) -> None:
    cart = executors.call(key, "trials::open_cart")["result"]
    filled = executors.call(key, "trials::fill_cart", {"cart": cart, "item": "tea"})
    assert filled.get("result") == [{"items": ["tea"]}, 2, 1], filled
    others = executors.make_key(tenant)
    foreign = executors.call(others, "trials::fill_cart", {"cart": cart, "item": "salt"})
    assert executors.call(others, "trials::close_cart", {"cart": cart}) == {"signpost": 1, "result": None}
    assert executors.call(key, "trials::fill_cart", {"cart": cart, "item": "ham"})["result"][1] == 3
    executors.call(key, "trials::close_cart", {"cart": cart})
    closed = executors.call(key, "trials::fill_cart", {"cart": cart, "item": "tea"})
    assert foreign["failure"]["message"] == closed["failure"]["message"]
    assert "Call `trials::open_cart` to make a new one" in closed["failure"]["message"]
