"""Requests to external URLs that users name, and their outcomes."""

from collections.abc import Mapping
from dataclasses import field
from typing import Literal

from signpost.records import dataclass

type WebFailureCode = Literal[
    "malformed",  # the URL is
    "forbidden",  # by the rules of `policy/egress.py`
    "unresolvable",
    "unreachable",
    "untrusted",  # the server's certificate is
    "timed_out",
    "broken_off",  # the answer was
    "no_http",  # the answer is
]


@dataclass(frozen=True, slots=True)
class WebRequest:
    method: str
    url: str
    seconds: float
    """The time limit of the whole request, which a slow server cannot extend."""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: bytes | None = None
    most_bytes: int = 65_536
    """The most bytes of the answer's body; a longer body is cut off."""


@dataclass(frozen=True, slots=True)
class WebAnswer:
    """The answer of the server. Redirects are returned as answers, not followed."""

    status: int
    headers: Mapping[str, str]
    """The headers by name in lowercase."""
    body: bytes
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class WebFailure:
    code: WebFailureCode
    message: str
    """A sentence that names the host but reveals nothing about the network."""
