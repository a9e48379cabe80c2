"""Redirects: the URL of the next request, and the headers that go along."""

import re
import string
from collections.abc import Mapping
from urllib.parse import quote, urldefrag, urljoin

from signpost.policy.egress import Destination, parse_destination
from signpost.web import WebAnswer

MOST_REDIRECTS = 5
REDIRECTS = frozenset({301, 302, 303, 307, 308})
NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
VALUE = re.compile(r"[\t -~]*")
CONTROLLED_HEADERS = frozenset({
    "accept-encoding",
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
})  # fmt: skip
"""Headers that control how a request is sent. Callers cannot set them."""
CROSS_ORIGIN_HEADERS = frozenset({"accept", "accept-language", "cache-control", "user-agent"})
"""Headers that may go to another origin. Any other header may hold a key, whatever its name."""


def problem_with(headers: Mapping[str, str]) -> str | None:
    for name, value in headers.items():
        if not NAME.fullmatch(name) or name.lower() in CONTROLLED_HEADERS or name.lower().startswith("proxy-"):
            return f"The header {name[:60]!r} cannot be set here; leave it out."
        if not VALUE.fullmatch(value):
            return f"The value of the header {name[:60]!r} has characters that no header may have; use ASCII."
    return None


def without_fragment(url: str) -> str:
    """Remove the fragment of a URL, which is for the reader of a page and never sent."""
    return url.partition("#")[0]


def redirect_target(url: str, answer: WebAnswer) -> str | None:
    """Read the target of a redirect; None for other answers. The target is not checked against the egress rules
    here."""
    location = answer.headers.get("location")
    if answer.status not in REDIRECTS or not location:
        return None
    # The header arrives as bytes, which some servers write in UTF-8. All bytes beyond ASCII are percent-encoded.
    encoded = quote(location.strip().encode("latin-1", "replace"), safe=string.punctuation)
    try:
        return urldefrag(urljoin(url, encoded)).url
    except ValueError:
        return encoded


def headers_for_redirect(headers: Mapping[str, str], source: str, target: str) -> Mapping[str, str]:
    """Select the headers for a redirect: all of them to the same origin, else only those that cannot hold a key."""
    if _origin(source) == _origin(target):
        return headers
    return {name: value for name, value in headers.items() if name.lower() in CROSS_ORIGIN_HEADERS}


def _origin(url: str) -> tuple[str, str, int] | None:
    destination = parse_destination(url)
    return (destination.scheme, destination.host, destination.port) if isinstance(destination, Destination) else None
