"""What every answer must satisfy, whatever was sent."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

from prometheus_client.parser import text_string_to_metric_families

from signpost.errors import (
    CAPABILITY_MISSING,
    HEADER_MISMATCH,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    RESOURCE_NOT_FOUND_LEGACY,
    VERSION_UNSUPPORTED,
)
from signpost.mcp.dispatch import STATUS_LEGACY, STATUS_MODERN
from signpost.metrics.exposition import CONTENT_TYPE
from tests.fuzz.events import Event, body_of, headers_of
from tests.support.memory_gateway import GatewayAnswer
from tests.support.oracle import check_exchange, parse_messages

CODES = {
    PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, HEADER_MISMATCH, CAPABILITY_MISSING,
    VERSION_UNSUPPORTED, RESOURCE_NOT_FOUND_LEGACY,
}  # fmt: skip
FAILING = (b"test_crash", b"test_broken_promise")
"""Tools that fail on purpose. Without their names in it, nothing that is sent may be answered -32603."""
REFUSED = {400, 401, 403, 404, 405, 413, 415}
"""Before the protocol is reached, the code of an error is the status."""
DOCUMENTS = ("/health", "/.well-known/", "/metrics")
"""Where other JSON than messages is answered."""
WITHOUT_BODY = {202, 204}
TRACES = re.compile(r'Traceback|File .?"|site-packages|\.py[^\w-]|Error:|Exception|0x7[0-9a-f]{8}|<class')
"""What only an exception or the inside of the gateway would say, unless the request says it: an id is repeated, and
Hypothesis generates texts of this project's sources. No token contains it by chance."""


def faults(sent: Event, answer: GatewayAnswer) -> Iterator[str]:
    if answer.status >= 500:
        yield f"status {answer.status}"
    if any("\r" in value or "\n" in value for value in answer.headers.values()):
        yield "a line break in a header"
    repeated = body_of(sent).decode(errors="replace")
    yield from (f"says {trace!r}" for trace in TRACES.findall(answer.text) if trace not in repeated)
    if not answer.text:
        if answer.status not in WITHOUT_BODY:
            yield f"status {answer.status} without a body"
        return
    try:
        yield from _faults_of_text(sent, answer)
    except (AssertionError, KeyError, TypeError, ValueError) as fault:  # a ValidationError is a ValueError
        yield f"{type(fault).__name__}: {fault}"


def _faults_of_text(sent: Event, answer: GatewayAnswer) -> Iterator[str]:
    messages = parse_messages(answer.headers, answer.text)
    is_of_metrics = str(sent.get("rawPath")).removesuffix("/") == "/metrics"
    if is_of_metrics and answer.headers.get("content-type") == CONTENT_TYPE:
        list(text_string_to_metric_families(answer.text))
    elif not messages:
        yield f"content-type {answer.headers.get('content-type')}"
    check_exchange(body_of(sent), _texts(headers_of(sent)), answer.headers, answer.text)
    for message in messages:
        if "jsonrpc" not in message and not str(sent.get("rawPath")).startswith(DOCUMENTS):
            yield "an answer that is no JSON-RPC message"
        json.loads(json.dumps(message), parse_constant=_refuse)
        if "error" in message:
            yield from _faults_of_error(sent, answer.status, message, alone=not answer.text.startswith("["))


def _faults_of_error(sent: Event, status: int, message: Mapping[str, Any], *, alone: bool) -> Iterator[str]:
    code, message_id = message["error"]["code"], message["id"]
    if isinstance(message_id, bool) or not isinstance(message_id, str | int | None):
        yield f"the id {message_id!r}"
    if code in REFUSED:
        if code != status or message_id is not None:
            yield f"code {code} with status {status}"
    elif code == INTERNAL_ERROR and any(name in body_of(sent) for name in FAILING):
        return
    elif code not in CODES:
        yield f"code {code}"
    elif alone and status not in {STATUS_MODERN.get(code, 200), STATUS_LEGACY.get(code, 200)}:
        yield f"code {code} with status {status}"


def _texts(headers: Mapping[str, Any]) -> Mapping[str, str]:
    return {name: value for name, value in headers.items() if isinstance(value, str)}


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")
