"""The request pipeline: what happens to a request before and after the protocol sees it."""

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from signpost import __version__
from signpost.errors import DeadlinePassed, Unavailable
from signpost.http import metadata
from signpost.http.origins import Origins
from signpost.http.request import MalformedEvent, Request, from_event
from signpost.http.response import Response, event_stream, json_response, refusal
from signpost.identity.authenticator import Authenticator
from signpost.identity.bearer import challenge
from signpost.identity.denial import Denial
from signpost.model import Call, Principal
from signpost.ports import Alarm, Clock
from signpost.protocol.dispatch import Dispatcher, Reply
from signpost.settings import ENDPOINTS, GatewaySettings, problem_with
from signpost.telemetry import Telemetry

if TYPE_CHECKING:
    from signpost.http.metrics import MetricsPage

LARGEST_BODY = 1024 * 1024
RETRY = {"retry-after": "5"}


class FrontDoor:
    """One for a warm function. `surfaces` says which dispatcher answers at which path, `metrics` makes
    what answers at /metrics when somebody asks, `alarm` ends what takes longer than it may."""

    def __init__(
        self,
        *,
        settings: GatewaySettings,
        authenticator: Authenticator,
        surfaces: Mapping[str, Dispatcher],
        metrics: "Callable[[], MetricsPage]",
        telemetry: Telemetry,
        clock: Clock,
        alarm: Alarm,
    ) -> None:
        self._settings = settings
        self._problem = problem_with(settings.identity)
        self._authenticator = authenticator
        self._surfaces = surfaces
        self._metrics = metrics
        self._telemetry = telemetry
        self._clock = clock
        self._alarm = alarm
        self._origins = Origins(settings.allowed_origins)

    def handle(self, event: Mapping[str, Any], remaining_ms: int) -> dict[str, Any]:
        try:
            request = from_event(event, now=self._clock.now(), remaining_ms=remaining_ms)
        except MalformedEvent:
            return refusal(400, "malformed", "This is not a request as API Gateway hands it over.").for_api_gateway()
        with self._telemetry.request(request.request_id, request.method, request.path) as record:
            response = self._guarded(request, record.failed)
            record.answered(response.status)
        accepts_gzip = _accepts_gzip(request.headers.get("accept-encoding", ""))
        return response.for_api_gateway(accepts_gzip=accepts_gzip)

    def _guarded(self, request: Request, failed: Callable[[BaseException], None]) -> Response:
        """The boundary around everything else: an exception becomes a generic sentence and an id to look up."""
        try:
            with self._alarm(request.deadline - self._clock.now()):
                response = self._answer(request, failed)
        except Unavailable as fault:
            failed(fault)
            response = refusal(503, "unavailable", f"{fault} Try again shortly.", RETRY)
        except DeadlinePassed as fault:
            failed(fault)
            response = refusal(503, "deadline", "The answer took too long. Try again shortly.", RETRY)
        except Exception as fault:  # noqa: BLE001 - the boundary
            failed(fault)
            message = f"Something went wrong on our side. The log knows it as {request.request_id}."
            response = refusal(500, "fault", message)
        return response.with_headers(self._origins.headers(request))

    def _answer(self, request: Request, failed: Callable[[BaseException], None]) -> Response:
        if request.path == "/health":
            return _health(configured=self._problem is None)
        if self._problem:
            return refusal(503, "not_configured", self._problem)
        turned_away = self._origins.check(request)
        if turned_away:
            return turned_away
        if request.path.startswith(metadata.PREFIX):
            return metadata.well_known(request.path, self._settings)
        return self._at_metrics(request) if request.path == "/metrics" else self._at_surface(request, failed)

    def _at_metrics(self, request: Request) -> Response:
        if request.method not in ("GET", "HEAD"):
            return refusal(405, "method", "This endpoint takes GET.", {"allow": "GET, HEAD"})
        # It takes the tokens of the MCP endpoints, and the document of the first says where to get one.
        principal = self._admitted(request, ENDPOINTS[0])
        if isinstance(principal, Response):
            return principal
        self._telemetry.dispatched("metrics", None)
        return self._metrics().answer(request, principal)

    def _at_surface(self, request: Request, failed: Callable[[BaseException], None]) -> Response:
        dispatcher = self._surfaces.get(request.path)
        if dispatcher is None:
            return refusal(404, "not_found", "There is no endpoint at this path.")
        if request.method != "POST":
            return refusal(405, "method", "This endpoint takes POST.", {"allow": "POST, OPTIONS"})
        if not _is_json(request.headers.get("content-type", "")):
            return refusal(415, "media_type", "The body must be application/json.")
        if len(request.body) > LARGEST_BODY:
            return refusal(413, "too_large", f"The body has more than {LARGEST_BODY} bytes.")
        principal = self._admitted(request, request.path)
        if isinstance(principal, Response):
            return principal
        call = Call(
            principal=principal,
            request_id=request.request_id,
            deadline=request.deadline,
            portable_names=request.query.get("names", self._settings.tool_names) == "portable",
        )
        reply = dispatcher.answer(request.body, request.headers, call, failed)
        self._telemetry.dispatched(reply.operation, reply.trace)
        return _response(reply, request.headers.get("accept", ""))

    def _admitted(self, request: Request, endpoint: str) -> Principal | Response:
        """Who calls, or the answer to whoever may not."""
        principal = self._authenticator.authenticate(request.headers.get("authorization"), request.source_ip)
        if isinstance(principal, Denial):
            return self._unauthenticated(principal, endpoint)
        self._telemetry.identified(principal)
        return principal

    def _unauthenticated(self, denial: Denial, endpoint: str) -> Response:
        header = challenge(denial, metadata.metadata_url(self._settings, endpoint))
        return refusal(401, denial.reason, denial.message, {"www-authenticate": header})


def _accepts_gzip(header: str) -> bool:
    codings = {coding.partition(";")[0].strip(): coding for coding in header.lower().split(",")}
    return "gzip" in codings and not re.search(r";\s*q=0(\.0*)?\s*$", codings["gzip"])


def _is_json(content_type: str) -> bool:
    """What says nothing is taken at its word: some clients send no type."""
    return content_type.partition(";")[0].strip().lower() in ("application/json", "")


def _response(reply: Reply, accept: str) -> Response:
    if not reply.text:
        return Response(202)
    if reply.notices and "text/event-stream" in accept and reply.status == 200:
        return event_stream([*reply.notices, reply.text])
    return Response(reply.status, reply.text, {"content-type": "application/json"})


def _health(*, configured: bool) -> Response:
    return json_response(200, {"status": "ok", "version": __version__, "configured": configured})
