"""The request pipeline: the steps before and after the protocol handles a request."""

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from signpost import __version__
from signpost.entrypoints.boundary import ReportFault, answer_safely
from signpost.entrypoints.http import metadata
from signpost.entrypoints.http.origins import OriginCheck, Origins
from signpost.entrypoints.http.request import HttpRequest, MalformedEvent, parse_event
from signpost.entrypoints.http.response import (
    HttpResponse,
    build_protective_headers,
    event_stream_response,
    json_response,
    refusal_response,
)
from signpost.errors import DeadlinePassed, Unavailable
from signpost.identity.authenticator import Authenticator
from signpost.identity.bearer import build_challenge
from signpost.identity.denial import Denial
from signpost.mcp.dispatch import Dispatcher, McpReply
from signpost.model import Call, Principal
from signpost.records import dataclass
from signpost.settings import ENDPOINTS, GatewaySettings, problem_with
from signpost.telemetry import Telemetry

if TYPE_CHECKING:
    from signpost.entrypoints.http.metrics import MetricsPage
    from signpost.ports import Alarm, Clock

LARGEST_BODY = 1024 * 1024
RETRY_HEADERS = {"retry-after": "5"}


@dataclass(frozen=True, slots=True)
class RequestChecks:
    """The checks that a request passes before it is served."""

    origins: Origins
    authenticator: Authenticator


class FrontDoor:
    """Answers the HTTP requests of a warm gateway.

    `dispatchers` returns the dispatcher of each path, `metrics` the answerer of /metrics, each built on first use, and
    `alarm` ends an answer at its deadline.
    """

    def __init__(
        self,
        *,
        settings: GatewaySettings,
        checks: RequestChecks,
        dispatchers: Mapping[str, Callable[[], Dispatcher]],
        metrics: "Callable[[], MetricsPage]",
        telemetry: Telemetry,
        clock: "Clock",
        alarm: "Alarm",
    ) -> None:
        self._settings = settings
        self._problem = problem_with(settings.identity)
        self._authenticator = checks.authenticator
        self._dispatchers = dispatchers
        self._metrics = metrics
        self._telemetry = telemetry
        self._clock = clock
        self._alarm = alarm
        self._origins = checks.origins
        self._protective_headers = build_protective_headers(settings.public_url)

    def handle(self, event: Mapping[str, Any], remaining_ms: int) -> dict[str, Any]:
        try:
            request = parse_event(event, now=self._clock.now(), remaining_ms=remaining_ms)
        except MalformedEvent:
            response = refusal_response(400, "malformed", "This event is not an HTTP request of API Gateway.")
            return response.with_default_headers(self._protective_headers).to_api_gateway()
        origin_check = self._origins.begin_check(request)
        with self._telemetry.record_request(request.request_id, request.method, request.path) as record:
            response = answer_safely(
                lambda: self._answer(request, origin_check, record.set_fault),
                alarm=self._alarm,
                seconds=request.deadline - self._clock.now(),
                refuse=lambda fault: _refuse(fault, request.request_id),
                report_fault=record.set_fault,
            )
            record.set_status(response.status)
        accepts_gzip = _accepts_gzip(request.headers.get("accept-encoding", ""))
        response = response.with_headers(origin_check.headers()).with_default_headers(self._protective_headers)
        return response.to_api_gateway(accepts_gzip=accepts_gzip)

    def _answer(self, request: HttpRequest, origin_check: OriginCheck, report_fault: ReportFault) -> HttpResponse:
        if request.path == "/health":
            return _health_response(configured=self._problem is None)
        if self._problem:
            return refusal_response(503, "not_configured", self._problem)
        origin_response = origin_check.answer()
        if origin_response:
            return origin_response
        if request.path.startswith(metadata.PREFIX):
            return metadata.well_known_response(request.path, self._settings)
        return (
            self._answer_metrics(request) if request.path == "/metrics" else self._answer_surface(request, report_fault)
        )

    def _answer_metrics(self, request: HttpRequest) -> HttpResponse:
        # /metrics accepts the tokens of the MCP endpoints; the metadata of the first one says where to get a token.
        principal = self._authenticate(request, ENDPOINTS[0])
        if isinstance(principal, HttpResponse):
            return principal
        if request.method not in ("GET", "HEAD"):
            return refusal_response(405, "method", "This endpoint accepts only GET.", {"allow": "GET, HEAD"})
        self._telemetry.add_dispatch("metrics")
        return self._metrics().answer(request, principal)

    def _answer_surface(self, request: HttpRequest, report_fault: ReportFault) -> HttpResponse:
        find_dispatcher = self._dispatchers.get(request.path)
        if find_dispatcher is None:
            endpoints = ", ".join(f"{self._settings.public_url}{path}" for path in self._dispatchers)
            return refusal_response(404, "not_found", f"There is no endpoint at this path. Use one of {endpoints}.")
        # Before anything else: to a client without a token, any other refusal hides the way to one.
        principal = self._authenticate(request, request.path)
        if isinstance(principal, HttpResponse):
            return principal
        if refusal := _refuse_unreadable(request):
            return refusal
        call = Call(
            principal=principal,
            request_id=request.request_id,
            deadline=request.deadline,
            portable_names=request.query.get("names", self._settings.tool_names) == "portable",
        )
        reply = find_dispatcher().answer(request.body, request.headers, call, report_fault)
        self._telemetry.add_dispatch(reply.operation, reply.trace, reply.client)
        return _response_to(reply, request.headers.get("accept", ""))

    def _authenticate(self, request: HttpRequest, endpoint: str) -> Principal | HttpResponse:
        """Returns the caller, or the response to a caller that is not authenticated."""
        principal = self._authenticator.authenticate(request.headers.get("authorization"), request.source_ip)
        if isinstance(principal, Denial):
            return self._refuse_unauthenticated(principal, endpoint)
        self._telemetry.add_principal(principal)
        return principal

    def _refuse_unauthenticated(self, denial: Denial, endpoint: str) -> HttpResponse:
        header = build_challenge(denial, metadata.metadata_url(self._settings, endpoint))
        return refusal_response(401, denial.reason, denial.message, {"www-authenticate": header})


def _refuse(fault: BaseException, request_id: str) -> HttpResponse:
    if isinstance(fault, Unavailable):
        return refusal_response(503, "unavailable", f"{fault} Try again shortly.", RETRY_HEADERS)
    if isinstance(fault, DeadlinePassed):
        return refusal_response(503, "deadline", "The answer took too long. Try again shortly.", RETRY_HEADERS)
    message = f"An internal error occurred. Its log entries have the request id {request_id}."
    return refusal_response(500, "fault", message)


def _refuse_unreadable(request: HttpRequest) -> HttpResponse | None:
    """Refuse a request whose body cannot be a message of MCP."""
    if request.method != "POST":
        return refusal_response(405, "method", "This endpoint accepts only POST.", {"allow": "POST, OPTIONS"})
    if not _is_json(request.headers.get("content-type", "")):
        return refusal_response(415, "media_type", "The body must be application/json.")
    if len(request.body) > LARGEST_BODY:
        return refusal_response(413, "too_large", f"The body has more than {LARGEST_BODY} bytes. Send less.")
    return None


def _accepts_gzip(header: str) -> bool:
    codings = {coding.partition(";")[0].strip(): coding for coding in header.lower().split(",")}
    return "gzip" in codings and not re.search(r";\s*q=0(\.0*)?\s*$", codings["gzip"])


def _is_json(content_type: str) -> bool:
    """Whether the content type is JSON or missing, since some clients send none."""
    return content_type.partition(";")[0].strip().lower() in ("application/json", "")


def _response_to(reply: McpReply, accept: str) -> HttpResponse:
    if not reply.text:
        return HttpResponse(202)
    if reply.notifications and "text/event-stream" in accept and reply.status == 200:
        return event_stream_response([*reply.notifications, reply.text])
    return HttpResponse(reply.status, reply.text, {"content-type": "application/json"})


def _health_response(*, configured: bool) -> HttpResponse:
    return json_response(200, {"status": "ok", "version": __version__, "configured": configured})
