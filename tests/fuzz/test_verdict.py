"""The judge of the fuzzing run sees what it is there to see."""

import json

import pytest

from tests.fuzz.events import event
from tests.fuzz.verdict import faults
from tests.support.memory_gateway import META, GatewayAnswer, build_modern_request

JSON = {"content-type": "application/json"}
SENT = event(json.dumps(build_modern_request("tools/list", {}, META)[0]), {}, now=0)


def error(code: object, message: str = "No.", message_id: object = 1) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": message_id, "error": {"code": code, "message": message}})


GOOD: dict[str, object] = {"resultType": "complete", "tools": [], "ttlMs": 0, "cacheScope": "private"}


def result(**members: object) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "result": {**GOOD, **members}})


@pytest.mark.parametrize(
    "answer",
    [
        GatewayAnswer(200, JSON, result()),
        GatewayAnswer(400, JSON, error(-32602)),
        GatewayAnswer(404, JSON, error(-32601)),
        GatewayAnswer(401, JSON, error(401, message_id=None)),
        GatewayAnswer(202, {}, ""),
        GatewayAnswer(200, {"content-type": "text/event-stream"}, f"event: message\ndata: {result()}\n\n"),
    ],
)
def test_a_defined_answer_has_no_fault(answer: GatewayAnswer) -> None:
    assert list(faults(SENT, answer)) == []


@pytest.mark.parametrize(
    "answer",
    [
        GatewayAnswer(500, JSON, error(500, message_id=None)),
        GatewayAnswer(200, JSON, error(-32603)),
        GatewayAnswer(404, JSON, error(-32602)),
        GatewayAnswer(400, JSON, error(-32000)),
        GatewayAnswer(400, JSON, error("-32602")),
        GatewayAnswer(400, JSON, error(-32602, "KeyError: 'name'")),
        GatewayAnswer(400, JSON, error(-32602, 'File "dispatch.py"')),
        GatewayAnswer(400, JSON, error(-32602, "")),
        GatewayAnswer(400, JSON, error(401, message_id=None)),
        GatewayAnswer(200, JSON, result(ttlMs=float("nan"))),
        GatewayAnswer(200, JSON, result(ttlMs=None)),
        GatewayAnswer(200, JSON, result(tools=[{"name": 7}])),
        GatewayAnswer(200, JSON, result(resultType="input_required", inputRequests={"a": {"method": "roots/list"}})),
        GatewayAnswer(200, JSON, result().replace('"id": 1', '"id": 2')),
        GatewayAnswer(400, JSON, error(-32602, message_id=2)),
        GatewayAnswer(400, JSON, error(-32602, message_id=1.5)),
        GatewayAnswer(200, JSON, "{"),
        GatewayAnswer(200, JSON, "{}"),
        GatewayAnswer(200, {"content-type": "text/html"}, "<p>"),
        GatewayAnswer(200, JSON, ""),
        GatewayAnswer(202, {"x": "a\r\ny: b"}, ""),
    ],
)
def test_any_other_answer_has_a_fault(answer: GatewayAnswer) -> None:
    assert list(faults(SENT, answer)) != []


def test_an_answer_may_repeat_text_of_the_request() -> None:
    sent = event(json.dumps({"jsonrpc": "2.0", "id": ".py", "method": "initialize"}), {}, now=0)
    answer = GatewayAnswer(400, JSON, error(-32602, message_id=".py"))
    assert [fault for fault in faults(sent, answer) if fault.startswith("says")] == []
    assert [fault for fault in faults(SENT, answer) if fault.startswith("says")] != []
