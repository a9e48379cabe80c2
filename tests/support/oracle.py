"""Checks answers of the gateway with the official models."""

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, cast

from jsonschema import Draft202012Validator
from mcp_types.methods import parse_server_notification, validate_server_result

from signpost.mcp.revisions import (
    ASSUMED_VERSION,
    CLIENT_CAPABILITIES,
    LEGACY_VERSIONS,
    MODERN_VERSIONS,
    PROTOCOL_VERSION,
)
from signpost.mcp.surface import TASKS
from signpost.model import JsonObject
from tests.support.task_schemas import CREATED_TASK, DONE, SHOWN_TASK

CAPABILITY_FOR = {
    "elicitation/create": "elicitation",
    "sampling/createMessage": "sampling",
    "roots/list": "roots",
}
"""The capability that a client must have declared for each method of an input request."""

SKILL_SCHEMA: JsonObject = {
    "type": "object",
    "required": ["uri", "frontmatter", "resources"],
    "additionalProperties": False,
    "properties": {
        "uri": {"type": "string", "pattern": "^skill://.+/SKILL\\.md$"},
        "frontmatter": {
            "type": "object",
            "required": ["name", "description"],
            "properties": {
                "name": {"type": "string", "pattern": "^[a-z0-9]+(-[a-z0-9]+)*$", "maxLength": 64},
                "description": {"type": "string", "minLength": 1, "maxLength": 1024},
            },
        },
        "resources": {
            "type": "array",
            "minItems": 1,
            "maxItems": 512,
            "items": {
                "type": "object",
                "required": ["uri", "digest", "size"],
                "additionalProperties": False,
                "properties": {
                    "uri": {"type": "string"},
                    "digest": {"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"},
                    "size": {"type": "integer", "minimum": 0},
                },
            },
        },
    },
}
EXTENSION_SCHEMAS = {
    "skills/list": {"required": ["skills", "ttlMs", "cacheScope"], "properties": {"skills": {"items": SKILL_SCHEMA}}},
    "skills/get": {
        "required": ["skill", "ttlMs", "cacheScope"],
        "properties": {"skill": SKILL_SCHEMA, "nextCursor": False},
    },
    "tasks/get": SHOWN_TASK,
    "tasks/update": DONE,
    "tasks/cancel": DONE,
}
"""Results that the official models do not know, as JSON Schemas by the specifications of the extensions."""
SAME_RESULT_METHODS = {"resources/directory/read": "resources/list"}
"""Methods of extensions that have the result of another method, except for the cache fields."""


def check_answer(method: str, version: str, request_params: JsonObject, answer_json: Any) -> None:
    """Check that this message is an answer that the revision knows for the method."""
    assert answer_json["jsonrpc"] == "2.0", answer_json
    assert ("result" in answer_json) != ("error" in answer_json), answer_json
    if "error" in answer_json:
        check_error(answer_json["error"])
        return
    result: dict[str, Any] = answer_json["result"]
    if result.get("resultType") == "task":
        Draft202012Validator(CREATED_TASK).validate(result)
        assert TASKS in _object(_declared_by(request_params).get("extensions")), request_params
        assert (method, version) == ("tools/call", MODERN_VERSIONS[0]), result
        return
    if method in EXTENSION_SCHEMAS:
        Draft202012Validator(EXTENSION_SCHEMAS[method]).validate(result)
        assert (version, result["resultType"]) == (MODERN_VERSIONS[0], "complete"), result
        return
    if method in SAME_RESULT_METHODS:
        validate_server_result(SAME_RESULT_METHODS[method], version, {"ttlMs": 0, "cacheScope": "private", **result})
        return
    validate_server_result(method, version, result)
    if result.get("resultType") == "input_required":
        _check_inputs(result.get("inputRequests") or {}, request_params)


def check_error(error: Any) -> None:
    assert set(error) <= {"code", "message", "data"}, error
    assert type(error["code"]) is int, error
    assert isinstance(error["message"], str), error
    assert error["message"], error


def _check_inputs(requests: Mapping[str, Any], request_params: JsonObject) -> None:
    declared = _declared_by(request_params)
    for request in requests.values():
        assert CAPABILITY_FOR[request["method"]] in declared, request["method"]


def _declared_by(request_params: JsonObject) -> Mapping[str, Any]:
    return _object(_object(request_params.get("_meta")).get(CLIENT_CAPABILITIES))


def check_exchange(body: str | bytes, headers: Mapping[str, str], answer_headers: Mapping[str, str], text: str) -> None:
    """Check every message of an exchange, as far as the sent body can be read."""
    sent = _documents(body)
    requests = {document["id"]: document for document in sent if _is_request(document)}
    header = {name.lower(): value.strip(" \t") for name, value in headers.items()}.get("mcp-protocol-version")
    for message in parse_messages(answer_headers, text):
        version = _version(requests, header)
        if "method" in message:
            parse_server_notification(message["method"], version, message.get("params"))
        elif message.get("id") in requests:
            request = requests[message["id"]]
            check_answer(request["method"], version, _object(request.get("params")), message)
        elif "jsonrpc" in message:
            check_error(message["error"])
            assert message["id"] is None or message["id"] in [_object(document).get("id") for document in sent], message


def parse_messages(headers: Mapping[str, str], text: str) -> list[Any]:
    """Return the messages of an answer: one, those of a batch, or those of a stream, in their order."""
    kind = headers.get("content-type", "").partition(";")[0]
    if kind == "text/event-stream":
        events = [json.loads(line.removeprefix("data:")) for line in text.split("\n") if line.startswith("data:")]
        return [message for event in events for message in _listed(event)]
    if kind != "application/json":
        return []
    return _listed(json.loads(text))


def _documents(body: str | bytes) -> list[Any]:
    with suppress(ValueError, RecursionError):
        return _listed(json.loads(body))
    return []


def _listed(document: Any) -> list[Any]:
    return cast("list[Any]", document) if isinstance(document, list) else [document]


def _is_request(document: Any) -> bool:
    found = _object(document)
    return isinstance(found.get("method"), str) and type(found.get("id")) in {int, str}


def _version(requests: Mapping[Any, Any], header: str | None) -> str:
    for request in requests.values():
        meta = _object(_object(request.get("params")).get("_meta"))
        if isinstance(claimed := meta.get(PROTOCOL_VERSION), str):
            return claimed
    return header if header in LEGACY_VERSIONS else ASSUMED_VERSION


def _object(value: Any) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}
