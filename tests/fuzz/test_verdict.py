"""The judge of the fuzzing run sees what it is there to see."""

import json

import pytest

from tests.fuzz.events import event
from tests.fuzz.verdict import faults
from tests.support.memory_gateway import META, Answer, modern

JSON = {"content-type": "application/json"}
SENT = event(json.dumps(modern("tools/list", {}, META)[0]), {}, now=0)


def error(code: object, message: str = "No.", message_id: object = 1) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": message_id, "error": {"code": code, "message": message}})


GOOD: dict[str, object] = {"resultType": "complete", "tools": [], "ttlMs": 0, "cacheScope": "private"}


def result(**members: object) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "result": {**GOOD, **members}})


@pytest.mark.parametrize(
    "answer",
    [
        Answer(200, JSON, result()),
        Answer(400, JSON, error(-32602)),
        Answer(404, JSON, error(-32601)),
        Answer(401, JSON, error(401, message_id=None)),
        Answer(202, {}, ""),
        Answer(200, {"content-type": "text/event-stream"}, f"event: message\ndata: {result()}\n\n"),
    ],
)
def test_a_defined_answer_has_no_fault(answer: Answer) -> None:
    assert list(faults(SENT, answer)) == []


@pytest.mark.parametrize(
    "answer",
    [
        Answer(500, JSON, error(500, message_id=None)),
        Answer(200, JSON, error(-32603)),
        Answer(404, JSON, error(-32602)),
        Answer(400, JSON, error(-32000)),
        Answer(400, JSON, error("-32602")),
        Answer(400, JSON, error(-32602, "KeyError: 'name'")),
        Answer(400, JSON, error(-32602, 'File "dispatch.py"')),
        Answer(400, JSON, error(-32602, "")),
        Answer(400, JSON, error(401, message_id=None)),
        Answer(200, JSON, result(ttlMs=float("nan"))),
        Answer(200, JSON, result(ttlMs=None)),
        Answer(200, JSON, result(tools=[{"name": 7}])),
        Answer(200, JSON, result(resultType="input_required", inputRequests={"a": {"method": "roots/list"}})),
        Answer(200, JSON, result().replace('"id": 1', '"id": 2')),
        Answer(400, JSON, error(-32602, message_id=2)),
        Answer(400, JSON, error(-32602, message_id=1.5)),
        Answer(200, JSON, "{"),
        Answer(200, JSON, "{}"),
        Answer(200, {"content-type": "text/html"}, "<p>"),
        Answer(200, JSON, ""),
        Answer(202, {"x": "a\r\ny: b"}, ""),
    ],
)
def test_everything_else_has(answer: Answer) -> None:
    assert list(faults(SENT, answer)) != []


def test_a_text_of_the_request_may_be_repeated() -> None:
    sent = event(json.dumps({"jsonrpc": "2.0", "id": ".py", "method": "initialize"}), {}, now=0)
    answer = Answer(400, JSON, error(-32602, message_id=".py"))
    assert [fault for fault in faults(sent, answer) if fault.startswith("says")] == []
    assert [fault for fault in faults(SENT, answer) if fault.startswith("says")] != []
