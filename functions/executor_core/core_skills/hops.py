"""From one request to the next, where an answer leads on: which URL it is, and which headers go along."""

import re
import string
from collections.abc import Mapping
from urllib.parse import quote, urldefrag, urljoin

from signpost.policy.egress import Destination, destination_of
from signpost.web import WebAnswer

MOST_REDIRECTS = 5
REDIRECTS = frozenset({301, 302, 303, 307, 308})
NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
VALUE = re.compile(r"[\t -~]*")
OURS = frozenset({
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
"""Headers that say how a request is sent, which is not for who asks for it to say."""
FOR_ANYBODY = frozenset({"accept", "accept-language", "cache-control", "user-agent"})
"""Headers that may be shown to another host. Any other may be a key, whatever it is called."""


def problem_with(headers: Mapping[str, str]) -> str | None:
    for name, value in headers.items():
        if not NAME.fullmatch(name) or name.lower() in OURS or name.lower().startswith("proxy-"):
            return f"The header {name[:60]!r} cannot be set here; leave it out."
        if not VALUE.fullmatch(value):
            return f"The value of the header {name[:60]!r} has characters that no header may have; use ASCII."
    return None


def without_fragment(url: str) -> str:
    """It is for who reads the page, and never sent."""
    return url.partition("#")[0]


def leads_to(url: str, answer: WebAnswer) -> str | None:
    """Where an answer leads on to, as it says: whether anybody may go there is another question."""
    location = answer.headers.get("location")
    if answer.status not in REDIRECTS or not location:
        return None
    # Sent as bytes, which some take for UTF-8; what is not ASCII is encoded, whatever it was meant to be.
    written = quote(location.strip().encode("latin-1", "replace"), safe=string.punctuation)
    try:
        return urldefrag(urljoin(url, written)).url
    except ValueError:
        return written


def headers_for(headers: Mapping[str, str], asked: str, leads: str) -> Mapping[str, str]:
    """What goes along from one URL to the next: everything to the same place, else what says nothing of whose it is."""
    if _origin(asked) == _origin(leads):
        return headers
    return {name: value for name, value in headers.items() if name.lower() in FOR_ANYBODY}


def _origin(url: str) -> tuple[str, str, int] | None:
    found = destination_of(url)
    return (found.scheme, found.host, found.port) if isinstance(found, Destination) else None
