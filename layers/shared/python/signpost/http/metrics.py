"""The answer to /metrics: the gauges of the caller's tenant, in the form that the caller asks for."""

import re
from collections.abc import Iterator

from signpost.http.request import Request
from signpost.http.response import Response, json_response, refusal
from signpost.metrics.exposition import CONTENT_TYPE, as_json, as_text
from signpost.metrics.meter import Meter
from signpost.model import Call, Principal

FORMATS = ("prometheus", "json")
QUALITY = re.compile(r"0(\.\d{0,3})?|1(\.0{0,3})?")
PRIVATE = {"cache-control": "no-store"}
"""What one tenant sees, and for a moment only."""


class MetricsPage:
    def __init__(self, meter: Meter) -> None:
        self._meter = meter

    def answer(self, request: Request, principal: Principal) -> Response:
        wanted = request.query.get("format") or _accepted(request.headers.get("accept", ""))
        if wanted not in FORMATS:
            return refusal(400, "format", f"There is no such format. `format` is one of {', '.join(FORMATS)}.")
        measured = self._meter.read(Call(principal, request.request_id, request.deadline))
        if wanted == "json":
            return json_response(200, as_json(measured), PRIVATE)
        return Response(200, as_text(measured), {"content-type": CONTENT_TYPE, **PRIVATE})


def _accepted(accept: str) -> str:
    """JSON for whoever likes it better than text; text for who likes neither, which is most scrapers' habit."""
    qualities = dict(_qualities(accept))
    return "json" if _quality(qualities, "application/json") > _quality(qualities, "text/plain") else "prometheus"


def _quality(qualities: dict[str, float], media_type: str) -> float:
    """The nearest range decides (RFC 9110, section 12.5.1)."""
    ranges = (media_type, f"{media_type.partition('/')[0]}/*", "*/*")
    return next((qualities[name] for name in ranges if name in qualities), 0.0)


def _qualities(accept: str) -> Iterator[tuple[str, float]]:
    """By media range. One whose quality cannot be read is not accepted."""
    for listed in accept.lower().split(","):
        name, *parameters = (part.strip() for part in listed.split(";"))
        said = next((one[2:] for one in parameters if one.startswith("q=")), "1")
        yield name, float(said) if QUALITY.fullmatch(said) else 0.0
