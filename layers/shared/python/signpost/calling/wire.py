"""The contract between gateway and executor on the wire, version 1: one JSON object as request, one as reply.
`docs/executors.md` describes it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast, get_args

from signpost.calling.wire_client import client_object, client_of, notice_objects, notices_in
from signpost.calling.wire_fields import (
    WIRE_VERSION,
    MalformedMessage,
    check_version,
    is_block,
    number_in,
    object_in,
    objects_in,
    optional_object_in,
    optional_text_in,
    parse_message,
    text_in,
    texts_in,
)
from signpost.contract import (
    CallReply,
    ClientPresentation,
    Failure,
    FailureClass,
    FailureOutcome,
    FunctionCall,
    KeptResult,
    Result,
)
from signpost.model import InputRequired, Json, JsonObject, Notice, Principal, Trace, as_object
from signpost.records import dataclass
from signpost.schema.limits import is_too_deep

LARGEST_PAYLOAD = 6_000_000
"""Bytes of a call or a reply. Lambda takes 6 MB, and refuses more only after all of it was sent."""
LARGEST_REPLY = 5_000_000
"""Bytes of a reply that an executor sends; a longer result goes to the content bucket."""
LARGEST_KEPT_RESULT = 64_000_000

CONTEXT = "context"
"""The name of the operation by which functions use the state that their context offers."""

FAILURE_CLASSES: Sequence[str] = get_args(FailureClass.__value__)
OUTCOMES: Sequence[str] = get_args(FailureOutcome.__value__)


def call_message(call: FunctionCall, token: str) -> JsonObject:
    optional: Mapping[str, Json] = {
        "idempotencyKey": call.idempotency_key,
        "step": call.step,
        "trace": _trace_object(call.trace),
        "answers": call.answers or None,
        "state": call.state,
        "keepAt": call.keep_at,
        "calls": sorted(call.callees) or None,
        "client": None if call.client is None else client_object(call.client),
    }
    return {
        "signpost": WIRE_VERSION,
        "operation": "call",
        "token": token,
        "call": {
            "id": call.call_id,
            "function": call.function,
            "arguments": call.arguments,
            "principal": principal_object(call.principal),
            "deadline": call.deadline,
            "permissions": sorted(call.permissions),
            "depth": call.depth,
            **{name: value for name, value in optional.items() if value is not None},
        },
    }


@dataclass(frozen=True, slots=True)
class NestedCall:
    """A function's request to call another function with the rights of the call that it is running."""

    token: str
    call_id: str
    """The id of the call that the function is running, for the logs."""
    function: str
    arguments: JsonObject
    idempotency_key: str | None = None
    trace: Trace | None = None


def nested_message(nested: NestedCall) -> JsonObject:
    optional: JsonObject = {"idempotencyKey": nested.idempotency_key, "trace": _trace_object(nested.trace)}
    call: JsonObject = {"id": nested.call_id, "function": nested.function, "arguments": nested.arguments}
    present = {name: value for name, value in optional.items() if value is not None}
    return {"signpost": WIRE_VERSION, "operation": "nested", "token": nested.token, "call": {**call, **present}}


def parse_nested(message: JsonObject) -> NestedCall:
    """Read a nested call. Raises MalformedMessage."""
    if operation_of(message) != "nested":
        raise MalformedMessage("operation is not nested")
    fields = object_in(message, "call")
    return NestedCall(
        token=text_in(message, "token"),
        call_id=text_in(fields, "id"),
        function=text_in(fields, "function"),
        arguments=object_in(fields, "arguments"),
        idempotency_key=optional_text_in(fields, "idempotencyKey"),
        trace=_trace_of(as_object(fields.get("trace"))),
    )


@dataclass(frozen=True, slots=True)
class ContextOperation:
    """A function's request to the gateway to read or write the state that its context offers."""

    token: str
    call_id: str
    """The id of the call that the function is running, for the logs."""
    action: str
    fields: JsonObject


def context_message(operation: ContextOperation) -> JsonObject:
    call: JsonObject = {"id": operation.call_id, "action": operation.action, "fields": operation.fields}
    return {"signpost": WIRE_VERSION, "operation": CONTEXT, "token": operation.token, "call": call}


def parse_context_operation(message: JsonObject) -> ContextOperation:
    """Read a context operation. Raises MalformedMessage."""
    if operation_of(message) != CONTEXT:
        raise MalformedMessage("operation is not context")
    fields = object_in(message, "call")
    return ContextOperation(
        text_in(message, "token"), text_in(fields, "id"), text_in(fields, "action"), object_in(fields, "fields")
    )


def operation_of(message: Json) -> str:
    """Return the operation of a message. Raises MalformedMessage."""
    return text_in(check_version(as_object(message)), "operation")


def parse_call(message: JsonObject) -> tuple[FunctionCall, str]:
    """Read a call and its token. Raises MalformedMessage."""
    fields = object_in(message, "call")
    call = FunctionCall(
        call_id=text_in(fields, "id"),
        function=text_in(fields, "function"),
        arguments=object_in(fields, "arguments"),
        principal=principal_of(object_in(fields, "principal")),
        deadline=number_in(fields, "deadline"),
        permissions=frozenset(texts_in(fields, "permissions")),
        depth=int(number_in(fields, "depth")),
        idempotency_key=optional_text_in(fields, "idempotencyKey"),
        step=optional_text_in(fields, "step"),
        trace=_trace_of(as_object(fields.get("trace"))),
        answers=as_object(fields.get("answers")),
        state=fields.get("state"),
        keep_at=optional_text_in(fields, "keepAt"),
        callees=frozenset(texts_in(fields, "calls")),
        client=client_of(optional_object_in(fields, "client")),
    )
    return call, text_in(message, "token")


def principal_object(principal: Principal) -> JsonObject:
    return {
        "subject": principal.subject,
        "tenant": principal.tenant,
        "issuer": principal.issuer,
        "roles": sorted(principal.roles),
        "permissions": sorted(principal.permissions),
        "human": principal.human,
        **({"claims": principal.claims} if principal.claims else {}),
    }


def principal_of(fields: JsonObject) -> Principal:
    """Read a principal. Raises MalformedMessage."""
    return Principal(
        subject=text_in(fields, "subject"),
        tenant=text_in(fields, "tenant"),
        issuer=text_in(fields, "issuer"),
        roles=frozenset(texts_in(fields, "roles")),
        permissions=frozenset(texts_in(fields, "permissions")),
        human=fields.get("human") is True,
        claims=as_object(fields.get("claims")),
    )


def reply_message(reply: CallReply) -> JsonObject:
    return {**_reply_members(reply), **_notices_member(reply.notices)}


def _reply_members(reply: CallReply) -> JsonObject:
    match reply:
        case Result(value, evidence, shown):
            return {"signpost": WIRE_VERSION, "result": value, **_evidence_member(evidence), **_shown_member(shown)}
        case KeptResult(key, size, sha256, evidence):
            return {
                "signpost": WIRE_VERSION,
                "kept": {"key": key, "size": size, "sha256": sha256},
                **_evidence_member(evidence),
            }
        case InputRequired(requests, state, single_use=single_use):
            once: JsonObject = {"singleUse": True} if single_use else {}
            return {"signpost": WIRE_VERSION, "inputRequired": {"requests": requests, "state": state, **once}}
        case Failure():
            return {"signpost": WIRE_VERSION, "failure": _failure_object(reply), **_shown_member(reply.shown)}


def parse_reply(text: bytes) -> CallReply:
    """Read the reply of an executor. Raises MalformedMessage."""
    return read_reply(parse_message(text))


def read_reply(message: JsonObject) -> CallReply:
    """Read a reply that is a JSON object already. Raises MalformedMessage."""
    notices = notices_in(message)
    if "result" in message:
        return Result(message["result"], objects_in(message, "evidence"), _shown_of(message), notices)
    if "kept" in message:
        kept = object_in(message, "kept")
        size = int(number_in(kept, "size"))
        return KeptResult(text_in(kept, "key"), size, text_in(kept, "sha256"), objects_in(message, "evidence"), notices)
    if "inputRequired" in message:
        input_required = object_in(message, "inputRequired")
        requests = {key: as_object(request) for key, request in object_in(input_required, "requests").items()}
        is_single_use = input_required.get("singleUse") is True
        return InputRequired(requests, input_required.get("state"), notices, is_single_use)
    return replace(_failure_of(object_in(message, "failure"), _shown_of(message)), notices=notices)


def _failure_object(failed: Failure) -> JsonObject:
    retry: JsonObject = {"retryAfterMs": failed.retry_after_ms} if failed.retry_after_ms is not None else {}
    described: JsonObject = {"class": failed.kind, "outcome": failed.outcome, "message": failed.message}
    uncounted: JsonObject = {} if failed.counts else {"counts": False}
    return {"code": failed.code, **described, **retry, **uncounted}


def _failure_of(fields: JsonObject, shown: ClientPresentation | None) -> Failure:
    kind, outcome = text_in(fields, "class"), text_in(fields, "outcome")
    if kind not in FAILURE_CLASSES or outcome not in OUTCOMES:
        raise MalformedMessage("its failure has an unknown class or outcome")
    retry = fields.get("retryAfterMs")
    return Failure(
        code=text_in(fields, "code"),
        kind=cast("FailureClass", kind),
        outcome=cast("FailureOutcome", outcome),
        message=text_in(fields, "message"),
        retry_after_ms=int(number_in(fields, "retryAfterMs")) if retry is not None else None,
        shown=shown,
        counts=fields.get("counts") is not False,
    )


def _notices_member(notices: Sequence[Notice]) -> JsonObject:
    return {"notices": notice_objects(notices)} if notices else {}


def _evidence_member(evidence: Sequence[JsonObject]) -> JsonObject:
    return {"evidence": list(evidence)} if evidence else {}


def shown_object(shown: ClientPresentation) -> JsonObject:
    members: JsonObject = {"content": list(shown.content), "meta": shown.meta}
    return {name: value for name, value in members.items() if value}


def _shown_member(shown: ClientPresentation | None) -> JsonObject:
    return {"shown": shown_object(shown)} if shown is not None else {}


def _shown_of(message: JsonObject) -> ClientPresentation | None:
    fields = optional_object_in(message, "shown")
    if fields is None:
        return None
    content = objects_in(fields, "content")
    if is_too_deep(fields):
        raise MalformedMessage("shown is nested too deeply")
    if not all(map(is_block, content)):
        raise MalformedMessage("shown.content has a block that is not a content block of MCP")
    return ClientPresentation(content, optional_object_in(fields, "meta") or {})


def _trace_object(trace: Trace | None) -> JsonObject | None:
    if trace is None:
        return None
    state: JsonObject = {"tracestate": trace.tracestate} if trace.tracestate is not None else {}
    return {"traceparent": trace.traceparent, **state}


def _trace_of(fields: JsonObject) -> Trace | None:
    if "traceparent" not in fields:
        return None
    return Trace(text_in(fields, "traceparent"), optional_text_in(fields, "tracestate"))
