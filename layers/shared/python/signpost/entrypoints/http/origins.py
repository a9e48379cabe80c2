"""Checks the Origin header of browser clients and answers their preflight requests."""

from collections.abc import Mapping

from signpost.entrypoints.http.request import HttpRequest
from signpost.entrypoints.http.response import HttpResponse, refusal_response

ALLOWED_HEADERS = "Authorization, *"
"""The allowed headers. The asterisk covers all others, such as `Mcp-Param-…` with names that a tool chooses, but not
Authorization."""
EXPOSED_HEADERS = "WWW-Authenticate"
VARY = "Origin, Accept-Encoding"
PREFLIGHT_MAX_AGE = "600"


class Origins:
    def __init__(self, allowed: frozenset[str]) -> None:
        self._allowed = allowed

    def check(self, request: HttpRequest) -> HttpResponse | None:
        """Returns the response to a preflight or to a foreign origin; None for a request that may go on."""
        origin = request.headers.get("origin")
        if origin is not None and origin not in self._allowed:
            return refusal_response(
                403,
                "origin",
                "This Origin is not allowed. The parameter AllowedOrigins of the stack lists those that are.",
            )
        if request.method == "OPTIONS":
            return HttpResponse(204, headers={"allow": "POST, OPTIONS"})
        return None

    def headers(self, request: HttpRequest) -> Mapping[str, str]:
        origin = request.headers.get("origin")
        if origin not in self._allowed:
            return {"vary": VARY}
        granted = {
            "vary": VARY,
            "access-control-allow-origin": origin,
            "access-control-expose-headers": EXPOSED_HEADERS,
        }
        return {**granted, **_PREFLIGHT_HEADERS} if request.method == "OPTIONS" else granted


_PREFLIGHT_HEADERS = {
    "access-control-allow-methods": "POST, GET, OPTIONS",
    "access-control-allow-headers": ALLOWED_HEADERS,
    "access-control-max-age": PREFLIGHT_MAX_AGE,
}
