"""An HTTP API of API Gateway with Lambda integrations (payload format 2.0): its routes, its events and its answers."""

import base64
import json
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import cast
from urllib.parse import parse_qsl, unquote

from local.wire import Answer, Fields, Head, end_to_end, message_answer

type Document = Mapping[str, object]

BROKEN = message_answer(500, "Internal Server Error")

DEFAULT_ROUTE = "$default"
REMAPPED = frozenset({"connection", "content-length", "date", "server", "www-authenticate"})
"""Headers of a function's answer that reach the client under another name."""
REMAPPED_PREFIX = "x-amzn-remapped-"

_DEFAULT_TYPE = "text/plain;charset=utf-8"
_TEXT_TYPES = frozenset({"application/json", "application/javascript", "application/xml"})
_FORWARDED = frozenset({"x-forwarded-for", "x-forwarded-port", "x-forwarded-proto"})
_OWN_FIELDS = _FORWARDED | {"content-length", "cookie", "via"}
_ESCAPED_PERCENT = re.compile("(%25)")
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[^\x00-\x08\x0a-\x1f\x7f]*")


@dataclass(frozen=True, slots=True)
class Route:
    """A route key, such as `GET /items/{id}` or `$default`, and the ARN of its function."""

    key: str
    function: str

    @property
    def rank(self) -> tuple[bool, bool, int, bool]:
        """The order among routes that match the same request: the greatest takes it."""
        literal = sum(not segment.startswith("{") for segment in self._segments)
        return self.key != DEFAULT_ROUTE, not self.key.endswith("+}"), literal, not self.key.startswith("ANY ")

    def match(self, method: str, path: str) -> Mapping[str, str] | None:
        """Return the variables of the path, or None for a request that this route does not take."""
        if self.key == DEFAULT_ROUTE:
            return {}
        return self._variables(path) if self.key.partition(" ")[0] in ("ANY", method) else None

    @property
    def _segments(self) -> Sequence[str]:
        return self.key.partition(" ")[2].split("/")

    def _variables(self, path: str) -> Mapping[str, str] | None:
        names, values = self._segments, path.split("/")
        if names[-1].endswith("+}"):
            values = [*values[: len(names) - 1], "/".join(values[len(names) - 1 :])]
        pairs = list(zip(names, values, strict=False))
        if len(names) != len(values) or not all(_takes(name, value) for name, value in pairs):
            return None
        return {name.strip("{+}"): value for name, value in pairs if name.startswith("{")}


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """A request of a client to an API, with the id that API Gateway gives it."""

    head: Head
    body: bytes
    peer: str
    api_id: str
    request_id: str

    @property
    def path(self) -> str:
        """The path, with all escapes decoded but those of the percent sign."""
        parts = _ESCAPED_PERCENT.split(self.head.path.partition("?")[0])
        return "".join(part if part == "%25" else unquote(part, errors="replace") for part in parts)

    @property
    def query(self) -> str:
        """The query string as the client sent it."""
        return self.head.path.partition("?")[2]


def find_route(routes: Iterable[Route], method: str, path: str) -> Route | None:
    """Return the most specific route that takes a request. Slashes at the beginning of a path count as one."""
    routed = f"/{path.lstrip('/')}"
    taking = [route for route in routes if route.match(method, routed) is not None]
    return max(taking, key=lambda route: route.rank, default=None)


def build_event(route: Route, request: ApiRequest, now: float) -> Document:
    """Return the event of a request in payload format 2.0."""
    head, path = request.head, request.path
    headers = _combine_fields(head.fields, request)
    body, is_base64 = _encode_body(request.body, headers.get("content-type", ""))
    parameters = route.match(head.method, f"/{path.lstrip('/')}")
    optional = {
        "cookies": [pair.strip() for value in _raw_values(head.fields, "cookie") for pair in value.split(";")],
        "queryStringParameters": _combine(parse_qsl(request.query, keep_blank_values=True)),
        "pathParameters": parameters,
        "body": body,
    }
    return {
        "version": "2.0",
        "routeKey": route.key,
        "rawPath": path,
        "rawQueryString": request.query,
        "headers": headers,
        "requestContext": _describe_context(route, request, headers, now),
        "isBase64Encoded": is_base64,
        **{name: value for name, value in optional.items() if value},
    }


def read_result(payload: bytes) -> Answer:
    """Return the answer that a function gave, as API Gateway passes it on."""
    try:
        result = cast("object", json.loads(payload))
    except ValueError:
        return BROKEN
    if isinstance(result, dict) and "statusCode" in result:
        return _read_answer(cast("Document", result))
    body = result.encode() if isinstance(result, str) else payload
    return Answer(200, "OK", (("Content-Type", "application/json"),), body)


def _takes(name: str, value: str) -> bool:
    return bool(value) if name.startswith("{") else name == value


def _raw_values(fields: Fields, name: str) -> Sequence[str]:
    return [value for key, value in fields if key.lower() == name]


def _combine(pairs: Iterable[tuple[str, str]]) -> Mapping[str, str]:
    """Join the values of each name by commas."""
    combined: dict[str, str] = {}
    for name, value in pairs:
        combined[name] = f"{combined[name]},{value}" if name in combined else value
    return combined


def _combine_fields(fields: Fields, request: ApiRequest) -> Mapping[str, str]:
    sent = [(key.lower(), value) for key, value in end_to_end(fields) if key.lower() not in _OWN_FIELDS]
    own = (("content-length", str(len(request.body))), ("x-forwarded-for", request.peer), ("x-forwarded-proto", "http"))
    return _combine((*sent, *own))


def _encode_body(body: bytes, content_type: str) -> tuple[str, bool]:
    """Return a body as text if its type and its bytes are text, else in base64; and whether it is in base64."""
    kind = content_type.partition(";")[0].strip().lower()
    if kind.startswith("text/") or kind in _TEXT_TYPES or not body:
        try:
            return body.decode(), False
        except UnicodeDecodeError:
            pass  # the bytes must reach the function as they came
    return base64.b64encode(body).decode(), True


def _describe_context(route: Route, request: ApiRequest, headers: Mapping[str, str], now: float) -> Document:
    host = headers.get("host", "")
    return {
        "accountId": route.function.split(":")[4],
        "apiId": request.api_id,
        "domainName": host,
        "domainPrefix": host.partition(".")[0],
        "http": {
            "method": request.head.method,
            "path": request.path,
            "protocol": f"HTTP/1.{request.head.minor_version}",
            "sourceIp": request.peer,
            "userAgent": headers.get("user-agent", ""),
        },
        "requestId": request.request_id,
        "routeKey": route.key,
        "stage": "$default",
        "time": time.strftime("%d/%b/%Y:%H:%M:%S +0000", time.gmtime(now)),
        "timeEpoch": int(now * 1000),
    }


def _read_answer(result: Document) -> Answer:
    try:
        status, fields, body = _read_status(result), _read_fields(result), _read_body(result)
    except (TypeError, ValueError):
        return BROKEN
    return Answer(status, _phrase(status), fields, body)


def _read_status(result: Document) -> int:
    status = result["statusCode"]
    if type(status) is not int or not 100 <= status <= 599:
        raise ValueError(status)
    return status


def _read_fields(result: Document) -> Fields:
    headers, cookies = result.get("headers"), result.get("cookies")
    if not isinstance(headers, dict | None) or not isinstance(cookies, list | None):
        raise TypeError("headers or cookies")
    named = cast("Mapping[str, object]", headers or {})
    fields = [_remap(name, str(value)) for name, value in named.items()]
    if not any(name.lower() == "content-type" for name, _ in fields):
        fields.append(("content-type", _DEFAULT_TYPE))
    fields += [("set-cookie", str(cookie)) for cookie in cast("Sequence[object]", cookies or ())]
    if not all(_NAME.fullmatch(name) and _VALUE.fullmatch(value) for name, value in fields):
        raise ValueError(fields)
    return end_to_end((name, value.encode().decode("latin-1")) for name, value in fields)


def _remap(name: str, value: str) -> tuple[str, str]:
    lowered = name.lower()
    return (f"{REMAPPED_PREFIX}{lowered}", value) if lowered in REMAPPED else (lowered, value)


def _read_body(result: Document) -> bytes:
    body = result.get("body") or ""
    if not isinstance(body, str):
        raise TypeError(body)
    return base64.b64decode(body, validate=True) if result.get("isBase64Encoded") else body.encode()


def _phrase(status: int) -> str:
    return HTTPStatus(status).phrase if status in HTTPStatus else ""
