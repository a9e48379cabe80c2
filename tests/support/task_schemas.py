"""The results of the tasks extension as JSON Schemas, by its specification. The official models do not know them."""

from collections.abc import Mapping, Sequence

from signpost.model import JsonObject

_TIME: JsonObject = {"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$"}
_BASE: Mapping[str, JsonObject] = {
    "taskId": {"type": "string", "minLength": 1},
    "createdAt": _TIME,
    "lastUpdatedAt": _TIME,
    "ttlMs": {"type": ["integer", "null"], "minimum": 1},
    "pollIntervalMs": {"type": "integer", "minimum": 1},
    "statusMessage": {"type": "string", "minLength": 1},
    "_meta": {"type": "object"},
}
_REQUIRED = ("resultType", "taskId", "status", "createdAt", "lastUpdatedAt", "ttlMs")
_RESULT: JsonObject = {"type": "object", "required": ["resultType", "content", "isError"]}
_ERROR: JsonObject = {
    "type": "object",
    "required": ["code", "message"],
    "additionalProperties": False,
    "properties": {"code": {"type": "integer"}, "message": {"type": "string", "minLength": 1}, "data": {}},
}
_QUESTION: JsonObject = {
    "type": "object",
    "required": ["method"],
    "properties": {"method": {"enum": ["elicitation/create", "sampling/createMessage", "roots/list"]}},
}
_QUESTIONS: JsonObject = {"type": "object", "additionalProperties": _QUESTION}


def _task(result_type: str, status: str | Sequence[str], **more: JsonObject) -> JsonObject:
    allowed = [status] if isinstance(status, str) else list(status)
    return {
        "type": "object",
        "required": [*_REQUIRED, *more],
        "additionalProperties": False,
        "properties": {**_BASE, "resultType": {"const": result_type}, "status": {"enum": allowed}, **more},
    }


STATUSES = ("working", "input_required", "completed", "failed", "cancelled")
CREATED_TASK = _task("task", STATUSES)
"""The answer to tools/call; it never has a result, an error or questions."""
SHOWN_TASK: JsonObject = {
    "oneOf": [
        _task("complete", ["working", "cancelled"]),
        _task("complete", "completed", result=_RESULT),
        _task("complete", "failed", error=_ERROR),
        _task("complete", "input_required", inputRequests=_QUESTIONS),
    ]
}
"""The answer to tasks/get."""
DONE: JsonObject = {
    "type": "object",
    "required": ["resultType"],
    "additionalProperties": False,
    "properties": {"resultType": {"const": "complete"}, "_meta": {"type": "object"}},
}
"""The answer to tasks/update and tasks/cancel."""
