"""Checks the Origin header of browser clients and answers their preflight requests."""

from collections.abc import Callable, Mapping

from signpost.entrypoints.http.request import HttpRequest
from signpost.entrypoints.http.response import HttpResponse, refusal_response

ALLOWED_HEADERS = "Authorization, *"
"""The allowed headers. The asterisk covers all others, such as `Mcp-Param-…` with names that a tool chooses, but not
Authorization."""
EXPOSED_HEADERS = "WWW-Authenticate"
VARY = "Origin, Accept-Encoding"
PREFLIGHT_MAX_AGE = "600"


type ReadOrigins = Callable[[], frozenset[str]]
"""Reads the origins that are not in the environment. May raise Unavailable."""


class Origins:
    """Knows the allowed origins. `more` is asked only about an origin that is not among those of the environment."""

    def __init__(self, allowed: frozenset[str], more: ReadOrigins = frozenset) -> None:
        self._allowed = allowed
        self._more = more

    def begin_check(self, request: HttpRequest) -> "OriginCheck":
        return OriginCheck(request, self._allowed, self._more)


class OriginCheck:
    """Checks the origin of one request, and remembers the result: the headers of the answer follow from it without
    another read."""

    def __init__(self, request: HttpRequest, allowed: frozenset[str], more: ReadOrigins) -> None:
        self._method = request.method
        self._origin = request.headers.get("origin")
        self._more = more
        self._is_granted = self._origin in allowed

    def answer(self) -> HttpResponse | None:
        """Return the response to a preflight or to a foreign origin; None for a request that may go on. May raise
        Unavailable."""
        if self._origin is not None and not self._is_granted:
            self._is_granted = self._origin in self._more()
            if not self._is_granted:
                return refusal_response(
                    403,
                    "origin",
                    "This Origin is not allowed. An administrator can add it to the parameter AllowedOrigins or "
                    "MoreOrigins of the stack.",
                )
        if self._method == "OPTIONS":
            return HttpResponse(204, headers={"allow": "POST, OPTIONS"})
        return None

    def headers(self) -> Mapping[str, str]:
        """Return the headers by which the page may read the answer. Nothing is read for them."""
        if self._origin is None or not self._is_granted:
            return {"vary": VARY}
        granted = {
            "vary": VARY,
            "access-control-allow-origin": self._origin,
            "access-control-expose-headers": EXPOSED_HEADERS,
        }
        return {**granted, **_PREFLIGHT_HEADERS} if self._method == "OPTIONS" else granted


_PREFLIGHT_HEADERS = {
    "access-control-allow-methods": "POST, GET, OPTIONS",
    "access-control-allow-headers": ALLOWED_HEADERS,
    "access-control-max-age": PREFLIGHT_MAX_AGE,
}
