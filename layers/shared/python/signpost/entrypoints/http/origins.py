"""Checks the Origin header of browser clients and answers their preflight requests."""

from collections.abc import Callable, Mapping

from signpost.entrypoints.http.request import HttpRequest
from signpost.entrypoints.http.response import HttpResponse, refusal_response
from signpost.errors import Unavailable

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

    def check(self, request: HttpRequest) -> HttpResponse | None:
        """Returns the response to a preflight or to a foreign origin; None for a request that may go on."""
        origin = request.headers.get("origin")
        if origin is not None and not self._allows(origin):
            return refusal_response(
                403,
                "origin",
                "This Origin is not allowed. The stack lists those that are in AllowedOrigins and MoreOrigins.",
            )
        if request.method == "OPTIONS":
            return HttpResponse(204, headers={"allow": "POST, OPTIONS"})
        return None

    def headers(self, request: HttpRequest) -> Mapping[str, str]:
        origin = request.headers.get("origin")
        if origin is None or not self._is_granted(origin):
            return {"vary": VARY}
        granted = {
            "vary": VARY,
            "access-control-allow-origin": origin,
            "access-control-expose-headers": EXPOSED_HEADERS,
        }
        return {**granted, **_PREFLIGHT_HEADERS} if request.method == "OPTIONS" else granted

    def _allows(self, origin: str) -> bool:
        return origin in self._allowed or origin in self._more()

    def _is_granted(self, origin: str) -> bool:
        """Whether the origin may read the answer, which is sent without this right if the list cannot be read."""
        try:
            return self._allows(origin)
        except Unavailable:
            return False


_PREFLIGHT_HEADERS = {
    "access-control-allow-methods": "POST, GET, OPTIONS",
    "access-control-allow-headers": ALLOWED_HEADERS,
    "access-control-max-age": PREFLIGHT_MAX_AGE,
}
