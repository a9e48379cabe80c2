"""Answers /metrics with the gauges of the caller's tenant, in the requested format."""

import re
from collections.abc import Iterator

from signpost.entrypoints.http.request import HttpRequest
from signpost.entrypoints.http.response import HttpResponse, json_response, refusal_response
from signpost.metrics.exposition import CONTENT_TYPE, as_json, as_text
from signpost.metrics.meter import Meter
from signpost.model import Call, Principal

FORMATS = ("prometheus", "json")
QUALITY = re.compile(r"0(\.\d{0,3})?|1(\.0{0,3})?")


class MetricsPage:
    def __init__(self, meter: Meter) -> None:
        self._meter = meter

    def answer(self, request: HttpRequest, principal: Principal) -> HttpResponse:
        format_name = request.query.get("format") or _preferred_format(request.headers.get("accept", ""))
        if format_name not in FORMATS:
            return refusal_response(400, "format", f"Unknown format. Set `format` to one of {', '.join(FORMATS)}.")
        readings = self._meter.read(Call(principal, request.request_id, request.deadline))
        if format_name == "json":
            return json_response(200, as_json(readings))
        return HttpResponse(200, as_text(readings), {"content-type": CONTENT_TYPE})


def _preferred_format(accept: str) -> str:
    """Chooses JSON if the client prefers it to text, otherwise text, also for clients that accept neither, as most
    scrapers."""
    qualities = dict(_parse_qualities(accept))
    return "json" if _quality_of(qualities, "application/json") > _quality_of(qualities, "text/plain") else "prometheus"


def _quality_of(qualities: dict[str, float], media_type: str) -> float:
    """The quality of a media type. The most specific range decides (RFC 9110, section 12.5.1)."""
    ranges = (media_type, f"{media_type.partition('/')[0]}/*", "*/*")
    return next((qualities[name] for name in ranges if name in qualities), 0.0)


def _parse_qualities(accept: str) -> Iterator[tuple[str, float]]:
    """Yields each media range with its quality, which is 0 if it cannot be parsed."""
    for media_range in accept.lower().split(","):
        name, *parameters = (part.strip() for part in media_range.split(";"))
        quality = next((parameter[2:] for parameter in parameters if parameter.startswith("q=")), "1")
        yield name, float(quality) if QUALITY.fullmatch(quality) else 0.0
