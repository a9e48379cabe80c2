"""From the body of a POST to the message that answers it."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
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
from signpost.model import Call, Json, JsonObject, Notices, Trace, as_object
from signpost.protocol import headers as header_rules
from signpost.protocol import messages, methods, results
from signpost.protocol.eras import ASSUMED, LEGACY, MODERN, WITH_BATCHES, Era, era_of, unsupported
from signpost.protocol.exchange import Exchange, client_of
from signpost.protocol.messages import Message, MessageId, PostedResponse
from signpost.protocol.services import Services
from signpost.protocol.surface import Surface
from signpost.records import dataclass

type Failed = Callable[[Exception], None]

LARGEST_BATCH = 50
LONGEST_NOTICES = 256 * 1024
LONGEST_BATCH_ANSWER = 256 * 1024
"""Bytes after which no further message of a batch is carried out."""
LONGEST_ANSWER = 4 * 1024 * 1024
"""Bytes; Lambda itself would fail at six million."""
LEGACY_ERA = Era(ASSUMED, modern=False)
BEFORE_ANY_ERA = Era(MODERN[-1], modern=True)

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
"""HTTP status by error code; what is not listed is answered 200."""

_TRACEPARENT = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")


@dataclass(frozen=True, slots=True)
class Reply:
    """Without a text there is nothing to say: 202. Notices travel before it."""

    status: int = 202
    text: str = ""
    operation: str = "none"
    trace: Trace | None = None
    notices: Sequence[str] = ()


class Dispatcher:
    """Performs the messages of a body. `failed` is told of what nobody foresaw; the caller gets a sentence."""

    def __init__(self, surface: Surface, services: Services) -> None:
        self._surface = surface
        self._services = services

    def answer(self, body: bytes, headers: Mapping[str, str], call: Call, failed: Failed) -> Reply:
        document = messages.decode(body)
        if isinstance(document, Rejection):
            return _error(document, None, BEFORE_ANY_ERA)
        if isinstance(document, list):
            return self._batch(document, headers, call, failed)
        return self._single(document, headers, call, failed)

    def _single(self, document: Json, headers: Mapping[str, str], call: Call, failed: Failed) -> Reply:
        message = messages.read(document)
        if isinstance(message, Rejection):
            return _error(message, messages.message_id(document), BEFORE_ANY_ERA)
        if isinstance(message, PostedResponse):
            return _posted(document, headers)
        if message.id is None:
            return Reply(operation="notification")
        era = era_of(message, headers.get("mcp-protocol-version"))
        if isinstance(era, Rejection):
            return _error(era, message.id, BEFORE_ANY_ERA)
        fault = header_rules.mismatch(message, era, headers) or unsupported(era)
        return _error(fault, message.id, era) if fault else self._request(message, era, headers, call, failed)

    def _request(self, message: Message, era: Era, headers: Mapping[str, str], call: Call, failed: Failed) -> Reply:
        method = methods.find(message.method, era, self._surface)
        if method is None:
            return _error(Rejection(METHOD_NOT_FOUND, "There is no such method here."), message.id, era)
        client = client_of(message.params, era)
        if isinstance(client, Rejection):
            return _error(client, message.id, era)
        trace = trace_of(message.params)
        own = replace(call, trace=trace, client=client, notices=Notices())
        exchange = Exchange(message.method, message.params, era, own, self._surface, self._services, headers)
        reply = _performed(method, exchange, message.id, failed)
        return replace(reply, operation=message.method, trace=trace, notices=_sendable(own.notices.sent))

    def _batch(self, documents: Sequence[Json], headers: Mapping[str, str], call: Call, failed: Failed) -> Reply:
        if headers.get("mcp-protocol-version", ASSUMED) not in WITH_BATCHES:
            fault = Rejection(INVALID_REQUEST, "This version of the protocol has no batches.")
            return _error(fault, None, BEFORE_ANY_ERA)
        if not 0 < len(documents) <= LARGEST_BATCH:
            fault = Rejection(INVALID_REQUEST, f"A batch has 1 to {LARGEST_BATCH} messages.")
            return _error(fault, None, BEFORE_ANY_ERA)
        texts: list[str] = []
        for document in documents:
            reply = self._single(document, headers, call, failed) if _fits(texts) else _not_carried_out(document)
            texts += [reply.text] if reply.text else []
        return Reply(200, f"[{','.join(texts)}]", "batch") if texts else Reply(operation="batch")


def _performed(method: methods.Method, exchange: Exchange, message_id: MessageId | None, failed: Failed) -> Reply:
    """The boundary inside the protocol: each message of a batch is answered, whatever happens to its neighbours."""
    era = exchange.era
    try:
        result = method.answer(exchange)
        if isinstance(result, Rejection):
            return _error(result, message_id, era)
        text = results.to_text(result, era, method.freshness)
        return _kept(exchange, result, text, message_id) if _is_too_long(text) else _result(text, message_id)
    except Unavailable as fault:
        failed(fault)
        return replace(_error(Rejection(INTERNAL_ERROR, f"{fault} Try again shortly."), message_id, era), status=503)
    except Exception as fault:  # noqa: BLE001 - the boundary
        failed(fault)
        request_id = exchange.call.request_id
        sentence = f"Something went wrong on our side. The log knows it as {request_id}."
        return _error(Rejection(INTERNAL_ERROR, sentence, {"requestId": request_id}), message_id, era)


def _sendable(notices: Sequence[JsonObject]) -> Sequence[str]:
    """The first of them, as many as there is room for beside the answer."""
    texts = [messages.encode(notice) for notice in notices]
    lengths = accumulate(len(text.encode()) for text in texts)
    return [text for text, length in zip(texts, lengths, strict=True) if length <= LONGEST_NOTICES]


def _fits(texts: Sequence[str]) -> bool:
    """Whether one more answer of a batch, which a limit of its own holds, can be sent along."""
    return sum(len(text.encode()) for text in texts) <= LONGEST_BATCH_ANSWER


def _not_carried_out(document: Json) -> Reply:
    """Nothing was done, so that the client may ask again by itself."""
    fault = Rejection(INTERNAL_ERROR, "Not carried out: the answers before it were too long. Send it by itself.")
    message_id = messages.message_id(document)
    return Reply() if message_id is None else _error(fault, message_id, LEGACY_ERA)


def _is_too_long(text: str) -> bool:
    """No character has more than four bytes, so that hardly any text needs counting."""
    return len(text) > LONGEST_ANSWER // 4 and len(text.encode()) > LONGEST_ANSWER


def _kept(exchange: Exchange, result: JsonObject | results.Listing, text: str, message_id: MessageId | None) -> Reply:
    """A tool result that is too long to be sent becomes a link to where it is kept."""
    if exchange.method != "tools/call" or isinstance(result, results.Listing) or "content" not in result:
        return _error(
            Rejection(INTERNAL_ERROR, f"The answer has more than {LONGEST_ANSWER} bytes."), message_id, exchange.era
        )
    try:
        address = exchange.services.long_answers.keep(exchange.call.principal.tenant, text)
    except Unavailable:
        # Not a 503, which would invite to do again what has been done.
        linked = results.not_kept(exchange.era)
    else:
        linked = results.link_to(result, address, exchange.era)
    return _result(results.to_text(linked, exchange.era, None), message_id)


def _result(text: str, message_id: MessageId | None) -> Reply:
    return Reply(200, f'{{"jsonrpc":"2.0","id":{messages.encode(message_id)},"result":{text}}}')


def _error(fault: Rejection, message_id: MessageId | None, era: Era) -> Reply:
    statuses = STATUS_MODERN if era.modern else STATUS_LEGACY
    error: JsonObject = {"code": fault.code, "message": fault.message}
    if fault.data is not None:
        error = {**error, "data": fault.data}
    answer: JsonObject = {"jsonrpc": "2.0", "id": message_id, "error": error}
    return Reply(statuses.get(fault.code, 200), messages.encode(answer), "rejected")


def _posted(document: Json, headers: Mapping[str, str]) -> Reply:
    """Older clients may post responses; nobody waits for one."""
    if headers.get("mcp-protocol-version", ASSUMED) in LEGACY:
        return Reply(operation="notification")
    fault = Rejection(INVALID_REQUEST, "Clients post requests and notifications, not responses.")
    return _error(fault, messages.message_id(document), BEFORE_ANY_ERA)


def trace_of(params: JsonObject) -> Trace | None:
    meta = as_object(params.get("_meta"))
    traceparent, tracestate = meta.get("traceparent"), meta.get("tracestate")
    if not isinstance(traceparent, str) or not _TRACEPARENT.fullmatch(traceparent):
        return None
    return Trace(traceparent, tracestate if isinstance(tracestate, str) else None)
