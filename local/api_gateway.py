"""API Gateway in front of the functions of an emulator: answers the requests that clients send to an HTTP API."""

import base64
import json
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from email.utils import formatdate
from http.client import HTTPException
from typing import cast
from urllib.parse import quote

from local.emulator import REGION
from local.emulator_latency import SOURCE_HEADER
from local.http_api import BROKEN, ApiRequest, Route, build_event, find_route, read_result
from local.upstream import Upstream
from local.wire import Answer, Head, message_answer

INTEGRATION_TIMEOUT = 30.0
"""API Gateway's limit for the answer of a function, in seconds."""
LARGEST_EVENT = 6 * 1024 * 1024
LARGEST_RESULT = LARGEST_EVENT + 100
"""Lambda's limits for a call that waits for its result, in bytes."""

NO_ROUTE = message_answer(404, "Not Found")
TOO_LARGE = message_answer(413, "Request Entity Too Large")
UNAVAILABLE = message_answer(503, "Service Unavailable")
NO_EMULATOR = message_answer(503, "The emulator does not answer; it may be restarting. Try again in a moment.")

_SECONDS_TO_KEEP_ROUTES = 2.0


@dataclass(frozen=True, slots=True)
class ApiAddress:
    """An API, and the host and port of the emulator that has it."""

    emulator: str
    api_id: str


class ApiGateway:
    """Answers requests to the API that `find_api` returns, by invoking the function of their route."""

    def __init__(self, find_api: Callable[[], ApiAddress], timeout: float = INTEGRATION_TIMEOUT) -> None:
        self._find_api = find_api
        self._upstream = Upstream(timeout)
        self._routes: tuple[ApiAddress, float, Sequence[Route]] | None = None

    def answer(self, head: Head, body: bytes, peer: str) -> Answer:
        """Return the answer to a request of the client with this address."""
        request_id = base64.b64encode(secrets.token_bytes(11)).decode()
        try:
            answer = self._answer(head, body, peer, request_id)
        except TimeoutError:
            answer = UNAVAILABLE
        except (OSError, HTTPException):
            answer = NO_EMULATOR
        return _complete(answer, head.method, request_id)

    def close(self) -> None:
        """Close the idle connections to the emulator."""
        self._upstream.close()

    def _answer(self, head: Head, body: bytes, peer: str, request_id: str) -> Answer:
        api = self._find_api()
        request = ApiRequest(head, body, peer, api.api_id, request_id)
        route = find_route(self._read_routes(api), head.method, request.path)
        if route is None:
            return NO_ROUTE
        document = build_event(route, request, time.time())
        event = json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
        if len(event) > LARGEST_EVENT:
            return TOO_LARGE
        source = f"{api.api_id}/$default/{head.method}{quote(request.path)}"
        return self._invoke(api, route.function, event, source)

    def _invoke(self, api: ApiAddress, function: str, event: bytes, source: str) -> Answer:
        path = f"/2015-03-31/functions/{quote(function, safe='')}/invocations"
        answer = self._request(api, "lambda", "POST", path, event, (SOURCE_HEADER, source))
        if answer.status == 429:
            return UNAVAILABLE
        failed = any(name.lower() == "x-amz-function-error" for name, _ in answer.fields)
        if failed or answer.status != 200 or len(answer.body) > LARGEST_RESULT:
            return BROKEN
        return read_result(answer.body)

    def _read_routes(self, api: ApiAddress) -> Sequence[Route]:
        kept = self._routes
        if kept is not None and kept[0] == api and time.monotonic() < kept[1]:
            return kept[2]
        functions = {
            integration["integrationId"]: integration["integrationUri"]
            for integration in self._list(api, "integrations")
        }
        routes = [
            Route(route["routeKey"], functions[route["target"].rpartition("/")[2]])
            for route in self._list(api, "routes")
        ]
        self._routes = (api, time.monotonic() + _SECONDS_TO_KEEP_ROUTES, routes)
        return routes

    def _list(self, api: ApiAddress, kind: str) -> Sequence[Mapping[str, str]]:
        answer = self._request(api, "apigateway", "GET", f"/v2/apis/{api.api_id}/{kind}")
        if answer.status != 200:  # as long as the emulator loads its state
            raise HTTPException(f"The emulator lists no {kind} of the API {api.api_id}: {answer.status}")
        return cast("Mapping[str, Sequence[Mapping[str, str]]]", json.loads(answer.body))["items"]

    def _request(
        self, api: ApiAddress, service: str, method: str, path: str, body: bytes = b"", *more: tuple[str, str]
    ) -> Answer:
        # The emulator finds the account by the key, and does not check the signature.
        credential = f"Credential=test/20000101/{REGION}/{service}/aws4_request"
        fields = (
            ("Host", api.emulator),
            ("Authorization", f"AWS4-HMAC-SHA256 {credential}, SignedHeaders=host, Signature=0"),
            ("Content-Length", str(len(body))),
            *more,
        )
        return self._upstream.exchange(api.emulator, Head(method, path, 1, fields), body)


def _complete(answer: Answer, method: str, request_id: str) -> Answer:
    """Add the headers that API Gateway sets, and leave out the body where HTTP has none."""
    has_length = answer.status >= 200 and answer.status not in (204, 304)
    length = (("Content-Length", str(len(answer.body))),) if has_length else ()
    fields = (("Date", formatdate(usegmt=True)), *length, ("Apigw-Requestid", request_id), *answer.fields)
    return replace(answer, fields=fields, body=answer.body if has_length and method != "HEAD" else b"")
