"""What a test client sends and reads: headers, event streams and notifications."""

import pytest

from signpost.entrypoints.http.response import event_stream_response
from signpost.mcp.headers import decode_header
from signpost.mcp.messages import encode
from signpost.model import JsonObject
from signpost.testing.client_replies import ClientReply
from signpost.testing.http_messages import (
    build_modern_message,
    encode_header,
    mirror_arguments,
    parse_messages,
    read_body,
)
from signpost.testing.profiles import declare

PROGRESS: JsonObject = {
    "jsonrpc": "2.0",
    "method": "notifications/progress",
    "params": {"progressToken": "progress-1", "progress": 1, "total": 2, "message": "half\u2028way"},
}
LOG: JsonObject = {
    "jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "logger": "kit", "data": "hi"},
}  # fmt: skip
ANSWER: JsonObject = {"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": "done"}]}}


def test_the_notifications_of_an_event_stream_come_before_its_answer() -> None:
    response = event_stream_response([encode(message) for message in (PROGRESS, LOG, ANSWER)]).to_api_gateway()
    messages = parse_messages(response["headers"]["content-type"], read_body(response))
    assert messages == [PROGRESS, LOG, ANSWER]
    reply = ClientReply("tools/call", {}, 200, messages[-1], messages[:-1])
    assert reply.progress == [{"progress": 1, "total": 2, "message": "half\u2028way"}]
    assert reply.logs == [{"level": "info", "logger": "kit", "data": "hi"}]
    assert reply.text == "done"


def test_an_empty_body_has_no_messages() -> None:
    assert parse_messages("application/json", "") == []


@pytest.mark.parametrize("name", ["skill:a", "workflow:Ä", " a", "=?base64?YQ==?=", "a\nb", "workflow:Tech News"])
def test_a_name_in_a_header_is_decoded_to_itself(name: str) -> None:
    assert decode_header(encode_header(name)) == name
    assert encode_header(name).isascii()
    assert build_modern_message("tools/call", {"name": name}, {}).headers["mcp-name"] == encode_header(name)


def test_capabilities_are_declared_by_the_names_that_functions_use() -> None:
    assert declare(["elicitation", "elicitation.url", "sampling", "sampling.tools", "roots", "a.test/tasks"]) == {
        "elicitation": {"form": {}, "url": {}},
        "sampling": {"tools": {}},
        "roots": {},
        "extensions": {"a.test/tasks": {}},
    }
    assert declare(["elicitation.url"]) == {"elicitation": {"url": {}}}
    raw: JsonObject = {"elicitation": {}}
    assert declare(raw) == raw


def test_arguments_are_mirrored_in_headers_as_the_schema_asks() -> None:
    schema: JsonObject = {
        "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "place": {"type": "object", "properties": {"floor": {"type": "integer", "x-mcp-header": "Floor"}}},
            "dry": {"type": "boolean", "x-mcp-header": "Dry"},
            "left": {"type": "string", "x-mcp-header": "Left"},
        }
    }
    arguments: JsonObject = {"region": "Zürich", "place": {"floor": 2}, "dry": True}
    assert mirror_arguments(schema, arguments) == {
        "mcp-param-region": encode_header("Zürich"), "mcp-param-floor": "2", "mcp-param-dry": "true",
    }  # fmt: skip
