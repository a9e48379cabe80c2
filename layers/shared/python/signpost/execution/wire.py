"""The contract on the wire, version 1: one JSON object there, one back. `docs/executors.md` describes it."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast, get_args

from signpost.contract import (
    Failure,
    FailureClass,
    FunctionCall,
    Hosted,
    KeptResult,
    Outcome,
    Reply,
    Result,
)
from signpost.model import InputRequired, Json, JsonObject, Principal, Trace, as_object

VERSION = 1
LARGEST_PAYLOAD = 6_000_000
"""Bytes of a call or a reply. Lambda takes 6 MB, and says so only after everything was sent."""
LARGEST_REPLY = 5_000_000
"""Bytes of a reply that an executor sends; a longer result goes to the content bucket."""
LARGEST_KEPT_RESULT = 64_000_000

CLASSES: Sequence[str] = get_args(FailureClass.__value__)
OUTCOMES: Sequence[str] = get_args(Outcome.__value__)


class NotOurs(Exception):  # noqa: N818 - it names what arrived
    """What arrived is not of this contract; the message says where it departs from it."""


def call_message(call: FunctionCall, token: str) -> JsonObject:
    optional: Mapping[str, Json] = {
        "idempotencyKey": call.idempotency_key,
        "step": call.step,
        "trace": _trace_object(call.trace),
        "answers": call.answers or None,
        "state": call.state,
        "keepAt": call.keep_at,
    }
    return {
        "signpost": VERSION,
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
    """What a function asks of the gateway: another function, in the name of the call that it is running."""

    token: str
    call_id: str
    """Of the call that it is running, for the logs."""
    function: str
    arguments: JsonObject
    idempotency_key: str | None = None
    trace: Trace | None = None


def nested_message(nested: NestedCall) -> JsonObject:
    optional: JsonObject = {"idempotencyKey": nested.idempotency_key, "trace": _trace_object(nested.trace)}
    call: JsonObject = {"id": nested.call_id, "function": nested.function, "arguments": nested.arguments}
    present = {name: value for name, value in optional.items() if value is not None}
    return {"signpost": VERSION, "operation": "nested", "token": nested.token, "call": {**call, **present}}


def nested_of(message: JsonObject) -> NestedCall:
    """Raises NotOurs."""
    if operation_of(message) != "nested":
        raise NotOurs("operation is not nested")
    fields = _object(message, "call")
    return NestedCall(
        token=_text(message, "token"),
        call_id=_text(fields, "id"),
        function=_text(fields, "function"),
        arguments=_object(fields, "arguments"),
        idempotency_key=_optional_text(fields, "idempotencyKey"),
        trace=_trace_of(as_object(fields.get("trace"))),
    )


def operation_of(message: Json) -> str:
    """Raises NotOurs."""
    fields = as_object(message)
    if fields.get("signpost") != VERSION:
        raise NotOurs(f"signpost is not {VERSION}")
    return _text(fields, "operation")


def call_of(message: JsonObject) -> tuple[FunctionCall, str]:
    """The call and its token. Raises NotOurs."""
    fields = _object(message, "call")
    call = FunctionCall(
        call_id=_text(fields, "id"),
        function=_text(fields, "function"),
        arguments=_object(fields, "arguments"),
        principal=principal_of(_object(fields, "principal")),
        deadline=_number(fields, "deadline"),
        permissions=frozenset(_texts(fields, "permissions")),
        depth=int(_number(fields, "depth")),
        idempotency_key=_optional_text(fields, "idempotencyKey"),
        step=_optional_text(fields, "step"),
        trace=_trace_of(as_object(fields.get("trace"))),
        answers=as_object(fields.get("answers")),
        state=fields.get("state"),
        keep_at=_optional_text(fields, "keepAt"),
    )
    return call, _text(message, "token")


def principal_object(principal: Principal) -> JsonObject:
    return {
        "subject": principal.subject,
        "tenant": principal.tenant,
        "issuer": principal.issuer,
        "roles": sorted(principal.roles),
        "permissions": sorted(principal.permissions),
        "human": principal.human,
    }


def principal_of(fields: JsonObject) -> Principal:
    """Raises NotOurs."""
    return Principal(
        subject=_text(fields, "subject"),
        tenant=_text(fields, "tenant"),
        issuer=_text(fields, "issuer"),
        roles=frozenset(_texts(fields, "roles")),
        permissions=frozenset(_texts(fields, "permissions")),
        human=fields.get("human") is True,
    )


def reply_message(reply: Reply) -> JsonObject:
    match reply:
        case Result(value, evidence):
            return {"signpost": VERSION, "result": value, **_evidence_member(evidence)}
        case KeptResult(key, size, sha256, evidence):
            return {
                "signpost": VERSION,
                "kept": {"key": key, "size": size, "sha256": sha256},
                **_evidence_member(evidence),
            }
        case InputRequired(requests, state):
            return {"signpost": VERSION, "inputRequired": {"requests": requests, "state": state}}
        case Failure():
            return {"signpost": VERSION, "failure": _failure_object(reply)}


def reply_of(text: bytes) -> Reply:
    """Raises NotOurs."""
    try:
        message = as_object(json.loads(text))
    except (ValueError, RecursionError) as fault:
        raise NotOurs("it is no JSON") from fault
    if message.get("signpost") != VERSION:
        raise NotOurs(f"signpost is not {VERSION}")
    if "result" in message:
        return Result(message["result"], _evidence_of(message))
    if "kept" in message:
        kept = _object(message, "kept")
        size = int(_number(kept, "size"))
        return KeptResult(_text(kept, "key"), size, _text(kept, "sha256"), _evidence_of(message))
    if "inputRequired" in message:
        asked = _object(message, "inputRequired")
        requests = {key: as_object(request) for key, request in _object(asked, "requests").items()}
        return InputRequired(requests, asked.get("state"))
    return _failure_of(_object(message, "failure"))


def manifest_message(functions: Sequence[Hosted]) -> JsonObject:
    return {"signpost": VERSION, "manifest": {"functions": [_hosted_object(hosted) for hosted in functions]}}


def manifest_of(text: bytes) -> Sequence[Hosted]:
    """Raises NotOurs."""
    try:
        message = as_object(json.loads(text))
    except ValueError as fault:
        raise NotOurs("it is no JSON") from fault
    functions = _object(message, "manifest").get("functions")
    if not isinstance(functions, list):
        raise NotOurs("manifest.functions is no list")
    return [hosted_of(as_object(fields)) for fields in functions]


def hosted_of(fields: JsonObject) -> Hosted:
    """Raises NotOurs."""
    timeout = fields.get("timeoutMs")
    return Hosted(
        function=_text(fields, "id"),
        timeout_ms=int(_number(fields, "timeoutMs")) if timeout is not None else None,
        permissions=frozenset(_texts(fields, "permissions")),
        readable=fields.get("readable") is not False,
    )


def _hosted_object(hosted: Hosted) -> JsonObject:
    timeout: JsonObject = {"timeoutMs": hosted.timeout_ms} if hosted.timeout_ms is not None else {}
    return {
        "id": hosted.function,
        **timeout,
        "permissions": sorted(hosted.permissions),
        "readable": hosted.readable,
    }


def _failure_object(failed: Failure) -> JsonObject:
    retry: JsonObject = {"retryAfterMs": failed.retry_after_ms} if failed.retry_after_ms is not None else {}
    described: JsonObject = {"class": failed.kind, "outcome": failed.outcome, "message": failed.message}
    return {"code": failed.code, **described, **retry}


def _failure_of(fields: JsonObject) -> Failure:
    kind, outcome = _text(fields, "class"), _text(fields, "outcome")
    if kind not in CLASSES or outcome not in OUTCOMES:
        raise NotOurs("its failure has an unknown class or outcome")
    retry = fields.get("retryAfterMs")
    return Failure(
        code=_text(fields, "code"),
        kind=cast("FailureClass", kind),
        outcome=cast("Outcome", outcome),
        message=_text(fields, "message"),
        retry_after_ms=int(_number(fields, "retryAfterMs")) if retry is not None else None,
    )


def _evidence_member(evidence: Sequence[JsonObject]) -> JsonObject:
    return {"evidence": list(evidence)} if evidence else {}


def _evidence_of(message: JsonObject) -> Sequence[JsonObject]:
    evidence = message.get("evidence", [])
    if not isinstance(evidence, list) or not all(isinstance(piece, Mapping) for piece in evidence):
        raise NotOurs("evidence is no list of objects")
    return [as_object(piece) for piece in evidence]


def _trace_object(trace: Trace | None) -> JsonObject | None:
    if trace is None:
        return None
    state: JsonObject = {"tracestate": trace.tracestate} if trace.tracestate is not None else {}
    return {"traceparent": trace.traceparent, **state}


def _trace_of(fields: JsonObject) -> Trace | None:
    if "traceparent" not in fields:
        return None
    return Trace(_text(fields, "traceparent"), _optional_text(fields, "tracestate"))


def _object(fields: JsonObject, name: str) -> JsonObject:
    value = fields.get(name)
    if not isinstance(value, Mapping):
        raise NotOurs(f"{name} is no object")
    return value


def _text(fields: JsonObject, name: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str):
        raise NotOurs(f"{name} is no text")
    return value


def _optional_text(fields: JsonObject, name: str) -> str | None:
    return _text(fields, name) if fields.get(name) is not None else None


def _texts(fields: JsonObject, name: str) -> Sequence[str]:
    value = fields.get(name, [])
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
        raise NotOurs(f"{name} is no list of texts")
    return [str(word) for word in value]


def _number(fields: JsonObject, name: str) -> float:
    value = fields.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise NotOurs(f"{name} is no number")
    return value
