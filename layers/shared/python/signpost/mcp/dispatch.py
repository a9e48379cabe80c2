"""Answers the body of a POST: parses its JSON-RPC messages, performs them and builds the replies."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from itertools import accumulate

from signpost.errors import (
    CAPABILITY_MISSING,
    HEADER_MISMATCH,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    VERSION_UNSUPPORTED,
    Rejection,
    Unavailable,
)
from signpost.mcp import headers as header_rules
from signpost.mcp import messages, methods, results
from signpost.mcp.messages import JsonRpcMessage, MessageId, PostedResponse
from signpost.mcp.request import McpRequest, parse_client
from signpost.mcp.revisions import (
    ASSUMED_VERSION,
    BATCH_VERSIONS,
    LEGACY_VERSIONS,
    MODERN_VERSIONS,
    ProtocolRevision,
    find_version_fault,
    parse_revision,
)
from signpost.mcp.services import McpServices
from signpost.mcp.surface import Surface
from signpost.model import Call, Json, JsonObject, Notifications, Trace, as_object
from signpost.records import dataclass

type FaultReporter = Callable[[Exception], None]

LARGEST_BATCH = 50
LONGEST_NOTIFICATIONS = 256 * 1024
LONGEST_BATCH_ANSWER = 256 * 1024
"""Bytes of answers after which no further message of a batch is carried out."""
LONGEST_ANSWER = 4 * 1024 * 1024
"""Bytes of one answer. Lambda itself fails at six million."""
LEGACY_REVISION = ProtocolRevision(ASSUMED_VERSION, is_modern=False)
FALLBACK_REVISION = ProtocolRevision(MODERN_VERSIONS[-1], is_modern=True)

STATUS_MODERN = {
    PARSE_ERROR: 400,
    INVALID_REQUEST: 400,
    INVALID_PARAMS: 400,
    HEADER_MISMATCH: 400,
    CAPABILITY_MISSING: 400,
    VERSION_UNSUPPORTED: 400,
    METHOD_NOT_FOUND: 404,
}
STATUS_LEGACY = {PARSE_ERROR: 400, INVALID_REQUEST: 400}
"""The HTTP status of each error code in legacy revisions; STATUS_MODERN has the others. Unlisted codes are answered
200."""

_TRACEPARENT = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")


@dataclass(frozen=True, slots=True)
class McpReply:
    """The answer to a body. A reply without text becomes an empty HTTP 202. Notifications are sent before the text."""

    status: int = 202
    text: str = ""
    operation: str = "none"
    trace: Trace | None = None
    notifications: Sequence[str] = ()
    client: JsonObject = field(default_factory=dict[str, Json])
    """The name and version that the client gives itself, for the log."""


class Dispatcher:
    """Performs the messages of a body. `report_fault` receives each unexpected exception; the client gets a
    sentence."""

    def __init__(self, surface: Surface, services: McpServices) -> None:
        self._surface = surface
        self._services = services

    def answer(self, body: bytes, headers: Mapping[str, str], call: Call, report_fault: FaultReporter) -> McpReply:
        document = messages.decode(body)
        if isinstance(document, Rejection):
            return _build_error_reply(document, None, FALLBACK_REVISION)
        if isinstance(document, list):
            return self._answer_batch(document, headers, call, report_fault)
        return self._answer_message(document, headers, call, report_fault)

    def _answer_message(
        self, document: Json, headers: Mapping[str, str], call: Call, report_fault: FaultReporter
    ) -> McpReply:
        message = messages.parse_message(document)
        if isinstance(message, Rejection):
            return _build_error_reply(message, messages.find_message_id(document), FALLBACK_REVISION)
        if isinstance(message, PostedResponse):
            return _answer_posted_response(document, headers)
        if message.id is None:
            return McpReply(operation="notification")
        revision = parse_revision(message, headers.get("mcp-protocol-version"))
        if isinstance(revision, Rejection):
            return _build_error_reply(revision, message.id, FALLBACK_REVISION)
        fault = header_rules.find_mismatch(message, revision, headers) or find_version_fault(revision)
        return (
            _build_error_reply(fault, message.id, revision)
            if fault
            else self._answer_request(message, revision, headers, call, report_fault)
        )

    def _answer_request(
        self,
        message: JsonRpcMessage,
        revision: ProtocolRevision,
        headers: Mapping[str, str],
        call: Call,
        report_fault: FaultReporter,
    ) -> McpReply:
        method = methods.find_method(message.method, revision, self._surface)
        if method is None:
            return _build_error_reply(
                Rejection(METHOD_NOT_FOUND, "This endpoint has no method of this name."), message.id, revision
            )
        client = parse_client(message.params, revision)
        if isinstance(client, Rejection):
            return _build_error_reply(client, message.id, revision)
        trace = trace_of(message.params)
        request_call = replace(
            call, trace=trace, client=client, notifications=Notifications(), thread=self._services.ids.new()
        )
        request = McpRequest(
            message.method, message.params, revision, request_call, self._surface, self._services, headers
        )
        reply = _perform(method, request, message.id, report_fault)
        return replace(
            reply,
            operation=message.method,
            trace=trace,
            client=client.info or as_object(message.params.get("clientInfo")),
            notifications=_encode_notifications(request_call.notifications.messages),
        )

    def _answer_batch(
        self, documents: Sequence[Json], headers: Mapping[str, str], call: Call, report_fault: FaultReporter
    ) -> McpReply:
        if headers.get("mcp-protocol-version", ASSUMED_VERSION) not in BATCH_VERSIONS:
            fault = Rejection(INVALID_REQUEST, "This version of the protocol has no batches. Send single messages.")
            return _build_error_reply(fault, None, FALLBACK_REVISION)
        if not 0 < len(documents) <= LARGEST_BATCH:
            fault = Rejection(INVALID_REQUEST, f"A batch must have 1 to {LARGEST_BATCH} messages.")
            return _build_error_reply(fault, None, FALLBACK_REVISION)
        texts: list[str] = []
        notifications: list[str] = []
        for document in documents:
            reply = (
                self._answer_message(document, headers, call, report_fault)
                if _has_room_in_batch(texts)
                else _build_skipped_reply(document)
            )
            texts += [reply.text] if reply.text else []
            notifications += reply.notifications
        if not texts:
            return McpReply(operation="batch")
        return McpReply(200, f"[{','.join(texts)}]", "batch", notifications=_take_fitting(notifications))


def _perform(
    method: methods.Method, request: McpRequest, message_id: MessageId | None, report_fault: FaultReporter
) -> McpReply:
    """Calls the method and turns exceptions into error replies, so that one message of a batch cannot spoil the
    others."""
    revision = request.revision
    try:
        result = method.answer(request)
        if isinstance(result, Rejection):
            return _build_error_reply(result, message_id, revision)
        text = _encode_result(request, result, method.freshness)
        return (
            _build_link_reply(request, result, text, message_id)
            if _is_too_long(text)
            else _build_result_reply(text, message_id)
        )
    except Unavailable as fault:
        report_fault(fault)
        return replace(
            _build_error_reply(Rejection(INTERNAL_ERROR, f"{fault} Try again shortly."), message_id, revision),
            status=503,
        )
    except Exception as fault:  # noqa: BLE001 - the boundary
        report_fault(fault)
        request_id = request.call.request_id
        sentence = f"An internal error occurred. Its log entries have the request id {request_id}."
        return _build_error_reply(Rejection(INTERNAL_ERROR, sentence, {"requestId": request_id}), message_id, revision)


def _encode_result(
    request: McpRequest, result: JsonObject | results.Listing, freshness: results.Freshness | None
) -> str:
    return results.to_text(result, request.revision, freshness, request.server_info)


def _encode_notifications(notifications: Sequence[JsonObject]) -> Sequence[str]:
    """Encodes the first notifications, as many as fit beside the answer."""
    return _take_fitting([messages.encode(notification) for notification in notifications])


def _take_fitting(texts: Sequence[str]) -> Sequence[str]:
    lengths = accumulate(len(text.encode()) for text in texts)
    return [text for text, length in zip(texts, lengths, strict=True) if length <= LONGEST_NOTIFICATIONS]


def _has_room_in_batch(texts: Sequence[str]) -> bool:
    """Whether the batch may carry one more answer. Each single answer has a size limit of its own."""
    return sum(len(text.encode()) for text in texts) <= LONGEST_BATCH_ANSWER


def _build_skipped_reply(document: Json) -> McpReply:
    """Builds the error for a message that was not carried out, so that the client may send it again by itself."""
    fault = Rejection(
        INTERNAL_ERROR, "This message was not carried out: the answers before it were too long. Send it by itself."
    )
    message_id = messages.find_message_id(document)
    return McpReply() if message_id is None else _build_error_reply(fault, message_id, LEGACY_REVISION)


def _is_too_long(text: str) -> bool:
    """Whether the text exceeds the limit. A character has at most four bytes, so short texts are not encoded for
    counting."""
    return len(text) > LONGEST_ANSWER // 4 and len(text.encode()) > LONGEST_ANSWER


def _build_link_reply(
    request: McpRequest, result: JsonObject | results.Listing, text: str, message_id: MessageId | None
) -> McpReply:
    """Keeps a tool result that is too long to be sent, also that of a task, and builds a reply that links to it."""
    if isinstance(result, Mapping) and request.method == "tasks/get" and "result" in result:
        task_result = as_object(result["result"])
        linked = _link_tool_result(request, task_result, messages.encode(task_result))
        complete = results.add_envelope(linked, request.revision, None, request.server_info)
        return _build_result_reply(_encode_result(request, {**result, "result": complete}, None), message_id)
    if request.method != "tools/call" or isinstance(result, results.Listing) or "content" not in result:
        return _build_error_reply(
            Rejection(INTERNAL_ERROR, f"The answer has more than {LONGEST_ANSWER} bytes and cannot be sent."),
            message_id,
            request.revision,
        )
    return _build_result_reply(_encode_result(request, _link_tool_result(request, result, text), None), message_id)


def _link_tool_result(request: McpRequest, result: JsonObject, text: str) -> JsonObject:
    """Keeps the text of a tool result and builds the result that links to it."""
    try:
        address = request.services.long_answers.keep(request.call.principal.tenant, text)
    except Unavailable:
        # Not a 503, which would invite the client to repeat a tool call that has been carried out.
        return results.build_lost_result(request.revision)
    return results.build_link_result(result, address, request.revision)


def _build_result_reply(text: str, message_id: MessageId | None) -> McpReply:
    return McpReply(200, f'{{"jsonrpc":"2.0","id":{messages.encode(message_id)},"result":{text}}}')


def _build_error_reply(fault: Rejection, message_id: MessageId | None, revision: ProtocolRevision) -> McpReply:
    statuses = STATUS_MODERN if revision.is_modern else STATUS_LEGACY
    error: JsonObject = {"code": fault.code, "message": fault.message}
    if fault.data is not None:
        error = {**error, "data": fault.data}
    answer: JsonObject = {"jsonrpc": "2.0", "id": message_id, "error": error}
    return McpReply(statuses.get(fault.code, 200), messages.encode(answer), "rejected")


def _answer_posted_response(document: Json, headers: Mapping[str, str]) -> McpReply:
    """Accepts a response that a legacy client posts, although no request of the gateway awaits one."""
    if headers.get("mcp-protocol-version", ASSUMED_VERSION) in LEGACY_VERSIONS:
        return McpReply(operation="notification")
    fault = Rejection(INVALID_REQUEST, "This endpoint accepts requests and notifications, not responses.")
    return _build_error_reply(fault, messages.find_message_id(document), FALLBACK_REVISION)


def trace_of(params: JsonObject) -> Trace | None:
    meta = as_object(params.get("_meta"))
    traceparent, tracestate = meta.get("traceparent"), meta.get("tracestate")
    if not isinstance(traceparent, str) or not _TRACEPARENT.fullmatch(traceparent):
        return None
    return Trace(traceparent, tracestate if isinstance(tracestate, str) else None)
