"""Browser clients: which pages may talk to us, and what their preflight is told."""

from collections.abc import Mapping

from signpost.http.request import Request
from signpost.http.response import Response, refusal

ALLOWED_HEADERS = "Authorization, *"
"""The asterisk covers all others, `Mcp-Param-…` with names of a tool's choice included; not this one."""
EXPOSED_HEADERS = "WWW-Authenticate"
VARY = "Origin, Accept-Encoding"
PREFLIGHT_LASTS = "600"


class Origins:
    def __init__(self, allowed: frozenset[str]) -> None:
        self._allowed = allowed

    def check(self, request: Request) -> Response | None:
        """The answer to a preflight or to a stranger; None for a request that may go on."""
        origin = request.headers.get("origin")
        if origin is not None and origin not in self._allowed:
            return refusal(403, "origin", "This Origin is not allowed here. AllowedOrigins lists those that are.")
        if request.method == "OPTIONS":
            return Response(204, headers={"allow": "POST, OPTIONS"})
        return None

    def headers(self, request: Request) -> Mapping[str, str]:
        origin = request.headers.get("origin")
        if origin not in self._allowed:
            return {"vary": VARY}
        granted = {
            "vary": VARY,
            "access-control-allow-origin": origin,
            "access-control-expose-headers": EXPOSED_HEADERS,
        }
        return {**granted, **_PREFLIGHT} if request.method == "OPTIONS" else granted


_PREFLIGHT = {
    "access-control-allow-methods": "POST, GET, OPTIONS",
    "access-control-allow-headers": ALLOWED_HEADERS,
    "access-control-max-age": PREFLIGHT_LASTS,
}
