"""The extension `io.modelcontextprotocol/tasks` (SEP-2663): calls of tools whose results clients fetch later.

The server decides which call is a task, and only for clients that declare the extension with the request.
"""

from collections.abc import Callable, Mapping

from signpost.errors import CAPABILITY_MISSING, INTERNAL_ERROR, INVALID_PARAMS, Rejection
from signpost.mcp import results
from signpost.mcp.headers import TASK_PARAMETER, find_header_fault
from signpost.mcp.providers import TaskProvider
from signpost.mcp.request import McpRequest
from signpost.mcp.surface import TASKS
from signpost.model import Json, JsonObject, Task

UNDECLARED = Rejection(
    CAPABILITY_MISSING,
    f"This request needs a client that declares the extension {TASKS}.",
    {"requiredCapabilities": {"extensions": {TASKS: {}}}},
)
UNKNOWN_TASK = Rejection(INVALID_PARAMS, "There is no task of this id that you have started, or it has expired.")
"""One answer for all: a caller must not learn whether the task of another one exists."""
DONE: JsonObject = {}


def get_task(request: McpRequest) -> JsonObject | Rejection:
    task_id = _parse_task_id(request)
    if isinstance(task_id, Rejection):
        return task_id
    task = _provider_of(request).get_task(task_id, request.call)
    return UNKNOWN_TASK if task is None else build_task(task, request)


def update_task(request: McpRequest) -> JsonObject | Rejection:
    task_id, responses = _parse_task_id(request), request.params.get("inputResponses")
    if isinstance(task_id, Rejection):
        return task_id
    if not isinstance(responses, Mapping):
        return Rejection(INVALID_PARAMS, "tasks/update takes a `taskId` and an object `inputResponses`.")
    return DONE if _provider_of(request).answer_task(task_id, responses, request.call) else UNKNOWN_TASK


def cancel_task(request: McpRequest) -> JsonObject | Rejection:
    task_id = _parse_task_id(request)
    if isinstance(task_id, Rejection):
        return task_id
    return DONE if _provider_of(request).cancel_task(task_id, request.call) else UNKNOWN_TASK


TASK_METHODS: Mapping[str, Callable[[McpRequest], JsonObject | Rejection]] = {
    "tasks/get": get_task,
    "tasks/update": update_task,
    "tasks/cancel": cancel_task,
}


def _parse_task_id(request: McpRequest) -> str | Rejection:
    """Parse the id, which `Mcp-Name` repeats. Endpoints without tasks do not have the methods, so this is no rule of
    all requests."""
    task_id = request.params.get(TASK_PARAMETER)
    fault = find_header_fault("mcp-name", task_id, request.headers)
    if fault is not None or not request.call.client.follows_tasks:
        return fault or UNDECLARED
    return task_id if isinstance(task_id, str) else Rejection(INVALID_PARAMS, f"{request.method} takes a `taskId`.")


def _provider_of(request: McpRequest) -> TaskProvider:
    assert request.surface.tasks is not None  # noqa: S101 - the method exists only on surfaces with tasks
    return request.surface.tasks()


def build_created_task(task: Task) -> JsonObject:
    """Build the result of a call that has become a task."""
    return {"resultType": "task", **_common_fields(task)}


def build_task(task: Task, request: McpRequest) -> JsonObject:
    """Build the answer to tasks/get: the task, with what its status adds."""
    fields = dict(_common_fields(task))
    if task.result is not None:
        fields["result"] = _build_inner_result(task, request)
    if task.status == "failed":
        fields["error"] = {"code": INTERNAL_ERROR, "message": task.message, "data": task.failure or {}}
    if task.status == "input_required":
        fields["inputRequests"] = task.questions
    return fields


def _build_inner_result(task: Task, request: McpRequest) -> JsonObject:
    """Build the result with the envelope of the answer that a client waiting for the call would have had."""
    assert task.result is not None  # noqa: S101 - asked for completed tasks only
    result = results.build_tool_result(task.result, request.revision)
    return results.add_envelope(result, request.revision, None, request.server_info)


def _common_fields(task: Task) -> Mapping[str, Json]:
    return {
        "taskId": task.id,
        "status": task.status,
        "createdAt": task.created_at,
        "lastUpdatedAt": task.updated_at,
        "ttlMs": task.ttl_ms,
        "pollIntervalMs": task.poll_ms,
        **({"statusMessage": task.message} if task.message else {}),
    }
