"""Cursors and states are worth something to whoever was given them, in their place, and to nobody else."""

import base64
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

import pytest

from signpost.mcp.revisions import CLIENT_CAPABILITIES
from signpost.model import JsonObject
from tests.fuzz.target import Target
from tests.support.effort import count_examples
from tests.support.memory_gateway import META

EDITS = count_examples(400)
ALPHABET = "ABCxyz019-_.=~ \N{ROCKET}"
INPUT_REQUIRING_TOOL = "test_input_required_result_request_state"
META_WITH_ELICITATION: JsonObject = {**META, CLIENT_CAPABILITIES: {"elicitation": {}}}
CONFIRMED: JsonObject = {"confirm": {"action": "accept", "content": {"ok": True}}}


@dataclass(frozen=True, slots=True)
class TokenPlace:
    """Where a token is given, and where it comes back."""

    target: Target

    def obtain(self, caller: str | None = None) -> str:
        raise NotImplementedError

    def present(self, token: str) -> Any:
        raise NotImplementedError

    def refused(self, answered: Any) -> bool:
        return answered.get("error", {}).get("code") == -32602


class ListCursor(TokenPlace):
    def obtain(self, caller: str | None = None) -> str:
        return self.target.ask("resources/list", {}, caller=caller)["result"]["nextCursor"]

    def present(self, token: str) -> Any:
        return self.target.ask("resources/list", {"cursor": token})


class HomeCursor(TokenPlace):
    def obtain(self, caller: str | None = None) -> str:
        answered = self.target.ask("tools/call", {"name": "gateway.home", "arguments": {}}, caller=caller)
        return answered["result"]["structuredContent"]["nextCursor"]

    def present(self, token: str) -> Any:
        return self.target.ask("tools/call", {"name": "gateway.home", "arguments": {"cursor": token}})

    def refused(self, answered: Any) -> bool:
        return answered["result"]["isError"] is True


class RequestState(TokenPlace):
    def obtain(self, caller: str | None = None) -> str:
        answered = self.target.ask(
            "tools/call", {"name": INPUT_REQUIRING_TOOL, "arguments": {}}, caller=caller, meta=META_WITH_ELICITATION
        )
        return answered["result"]["requestState"]

    def present(self, token: str) -> Any:
        again: JsonObject = {
            "name": INPUT_REQUIRING_TOOL,
            "arguments": {},
            "inputResponses": CONFIRMED,
            "requestState": token,
        }
        return self.target.ask("tools/call", again, meta=META_WITH_ELICITATION)


PLACES = (ListCursor, HomeCursor, RequestState)


@pytest.fixture(params=PLACES)
def place(request: pytest.FixtureRequest, target: Target) -> TokenPlace:
    return request.param(target)


def edited_tokens(token: str) -> Iterator[str]:
    random = Random(7)  # noqa: S311 - the same edits in every run
    yield from ("", ".", "..", token[:-1], token + "A", token * 2, token.swapcase(), token[::-1], "x" * 20_000)
    payload, _, mac = token.partition(".")
    yield from (f"{mac}.{payload}", f"{payload}.", f".{mac}", payload, payload + mac)
    for _ in range(EDITS):
        at = random.randrange(len(token))
        yield token[:at] + random.choice(ALPHABET) + token[at + random.randrange(3) :]


def decode_token(token: str) -> list[bytes | None]:
    """What a token says. The last character of a part has bits that say nothing."""
    return [_read_part(part) for part in token.split(".")]


def _read_part(part: str) -> bytes | None:
    try:
        return base64.b64decode(part + "=" * (-len(part) % 4), altchars=b"-_", validate=True)
    except ValueError:
        return None


def test_a_token_is_accepted_in_its_own_place(place: TokenPlace) -> None:
    assert not place.refused(place.present(place.obtain()))


def test_an_edited_token_is_refused(place: TokenPlace) -> None:
    token = place.obtain()
    changed = [each for each in edited_tokens(token) if decode_token(each) != decode_token(token)]
    assert [each for each in changed if not place.refused(place.present(each))] == []


def test_the_token_of_another_caller_is_refused(place: TokenPlace, target: Target) -> None:
    assert place.refused(place.present(place.obtain(target.new_caller())))


def test_a_token_is_refused_in_every_other_place(place: TokenPlace, target: Target) -> None:
    others = [other(target) for other in PLACES if not isinstance(place, other)]
    assert all(other.refused(other.present(place.obtain())) for other in others)
