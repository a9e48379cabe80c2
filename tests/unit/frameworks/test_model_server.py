"""The server of models answers as OpenAI's API: complete and in events, and it refuses names that the API refuses."""

import json
from collections.abc import Iterator
from http.client import HTTPConnection
from typing import Any

import pytest

from signpost.model import JsonObject
from tests.frameworks.following_model import FollowingModel
from tests.frameworks.model_server import ModelServer

END = json.dumps({"workflowId": "wf_1", "state": "moved", "terminal": True, "links": []})

SCHEMA: JsonObject = {"type": "object", "properties": {}}


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer(FollowingModel("Office move")) as server:
        yield server


def post(server: ModelServer, path: str = "chat/completions", **request: Any) -> tuple[int, str]:
    connection = HTTPConnection("127.0.0.1", server.port, timeout=10)
    try:
        connection.request("POST", f"/v1/{path}", json.dumps(request), {"Content-Type": "application/json"})
        response = connection.getresponse()
        return response.status, response.read().decode()
    finally:
        connection.close()


def offer(name: str) -> Any:
    return [{"type": "function", "function": {"name": name, "parameters": SCHEMA}}]


def test_a_call_is_answered_with_the_reason_of_a_call(server: ModelServer) -> None:
    status, text = post(server, model="m", messages=[{"role": "user", "content": "go"}], tools=offer("gateway_home"))
    assert status == 200
    (choice,) = json.loads(text)["choices"]
    assert choice["finish_reason"] == "tool_calls"
    (call,) = choice["message"]["tool_calls"]
    assert call["function"] == {"name": "gateway_home", "arguments": "{}"}


@pytest.mark.parametrize("content", [END, [{"type": "text", "text": END}]])
def test_the_last_text_of_a_conversation_is_kept(server: ModelServer, content: Any) -> None:
    messages = [{"role": "user", "content": "go"}, {"role": "tool", "tool_call_id": "call_0", "content": content}]
    _, text = post(server, model="m", messages=messages, tools=offer("workflow_submit"))
    (choice,) = json.loads(text)["choices"]
    assert choice["finish_reason"] == "stop"
    assert choice["message"]["content"] == server.last_text == "The run wf_1 has ended in the state moved."


def test_a_stream_has_the_call_its_reason_and_an_end(server: ModelServer) -> None:
    _, text = post(server, model="m", messages=[], tools=offer("gateway_home"), stream=True)
    *events, end = [line.removeprefix("data: ") for line in text.split("\n\n") if line]
    assert end == "[DONE]"
    first, last, _usage = map(json.loads, events)
    assert first["choices"][0]["delta"]["tool_calls"][0]["index"] == 0
    assert last["choices"][0]["finish_reason"] == "tool_calls"


def offer_flat(name: str) -> Any:
    return [{"type": "function", "name": name, "parameters": SCHEMA, "strict": False}]


def test_the_newer_api_answers_with_a_call(server: ModelServer) -> None:
    _, text = post(server, "responses", model="m", input="go", tools=offer_flat("gateway_home"))
    (item,) = json.loads(text)["output"]
    assert (item["type"], item["name"], item["arguments"]) == ("function_call", "gateway_home", "{}")


@pytest.mark.parametrize("output", [END, [{"type": "input_text", "text": END}]])
def test_the_newer_api_ends_a_conversation_with_a_text(server: ModelServer, output: Any) -> None:
    said = [{"role": "user", "content": "go"}, {"type": "function_call_output", "call_id": "call_0", "output": output}]
    _, text = post(server, "responses", model="m", input=said, tools=offer_flat("workflow_submit"))
    (item,) = json.loads(text)["output"]
    assert item["content"][0]["text"] == server.last_text == "The run wf_1 has ended in the state moved."


@pytest.mark.parametrize(("results", "kind"), [([], "function_call"), ([END], "message")])
def test_a_stream_of_the_newer_api_ends_with_the_complete_item(
    server: ModelServer, results: list[str], kind: str
) -> None:
    said = [{"type": "function_call_output", "call_id": "call_0", "output": result} for result in results]
    _, text = post(server, "responses", model="m", input=said, tools=offer_flat("gateway_home"), stream=True)
    events = [json.loads(line.partition("data: ")[2]) for line in text.split("\n\n") if line]
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    assert [events[0]["type"], events[-1]["type"]] == ["response.created", "response.completed"]
    (item,) = events[-1]["response"]["output"]
    assert item["type"] == kind
    assert events[-2]["item"] == item


@pytest.mark.parametrize("name", ["gateway.home", "skill:price", "a" * 65])
def test_a_name_that_the_api_does_not_allow_is_refused(server: ModelServer, name: str) -> None:
    status, text = post(server, model="m", messages=[], tools=offer(name))
    assert status == 400
    assert "tools[0].function.name" in json.loads(text)["error"]["message"]
    assert name in server.last_text


def test_another_path_is_not_found(server: ModelServer) -> None:
    connection = HTTPConnection("127.0.0.1", server.port, timeout=10)
    connection.request("GET", "/v1/models")
    assert connection.getresponse().status == 404
    connection.close()
