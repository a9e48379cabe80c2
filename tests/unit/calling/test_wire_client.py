import json
from typing import Any

import pytest

from signpost.calling import wire
from signpost.calling.wire_client import client_object, client_of
from signpost.calling.wire_fields import MalformedMessage
from signpost.contract import CallClient, CallReply, Failure, FunctionCall, KeptResult, Result
from signpost.model import InputRequired, JsonObject, LogNotice, Notice, Principal, ProgressNotice

NOTICES: tuple[Notice, ...] = (
    ProgressNotice(0),
    ProgressNotice(0.5, 2.0, "half"),
    LogNotice("warning", {"left": [1, None]}),
)


@pytest.mark.parametrize(
    "client",
    [
        CallClient(),
        CallClient({"roots": {}}, {"name": "host", "version": "1"}, True, True, "info", "t1"),
    ],
)
def test_a_client_is_read_as_it_was_written(client: CallClient) -> None:
    assert client_of(json.loads(json.dumps(client_object(client)))) == client


@pytest.mark.parametrize("claims", [{}, {"department": "sales", "groups": ["red"], "level": 3}])
def test_claims_travel_with_the_principal_of_a_call(claims: JsonObject) -> None:
    principal = Principal("ann", "acme", "https://issuer.test", claims=claims)
    message = json.loads(json.dumps(wire.call_message(FunctionCall("1", "a::b", {}, principal, 1.0), "token")))
    assert ("claims" in message["call"]["principal"]) == bool(claims)
    assert wire.parse_call(message)[0].principal == principal


@pytest.mark.parametrize(
    "reply",
    [
        Result(1, [], notices=NOTICES),
        KeptResult("answers/a/b.json", 1, "0" * 64, [], notices=NOTICES),
        InputRequired({"a": {"method": "roots/list"}}, "state", NOTICES),
        Failure("reported", "permanent_error", "none", "No.", notices=NOTICES),
        Result(None, []),
    ],
)
def test_notices_travel_with_every_reply(reply: CallReply) -> None:
    message = wire.reply_message(reply)
    assert ("notices" in message) == bool(reply.notices)
    assert wire.parse_reply(json.dumps(message).encode()) == reply


@pytest.mark.parametrize(
    "notices",
    [
        "three",
        [1],
        [{}],
        [{"progress": {}}],
        [{"progress": {"done": "all"}}],
        [{"progress": {"done": 1, "total": "2"}}],
        [{"log": {"level": "loud", "data": 1}}],
        [{"log": {"data": 1}}],
    ],
)
def test_a_reply_with_malformed_notices_does_not_follow_the_contract(notices: Any) -> None:
    with pytest.raises(MalformedMessage):
        wire.parse_reply(json.dumps({"signpost": 1, "result": 1, "notices": notices}).encode())
