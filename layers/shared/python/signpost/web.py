"""Requests to places outside, whose address somebody else has named, and what comes of them."""

from collections.abc import Mapping
from dataclasses import field
from typing import Literal

from signpost.records import dataclass

type NotReachedCode = Literal[
    "malformed",  # the URL
    "forbidden",  # by the rules of `policy/egress.py`
    "unresolvable",
    "unreachable",
    "untrusted",  # its certificate
    "timed_out",
    "broken_off",  # what it answered
    "no_http",  # likewise
]


@dataclass(frozen=True, slots=True)
class WebRequest:
    method: str
    url: str
    seconds: float
    """How long it may take, whatever the other side does."""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: bytes | None = None
    most_bytes: int = 65_536
    """Of the answer's body; what is longer is cut off."""


@dataclass(frozen=True, slots=True)
class WebAnswer:
    """Also one that leads elsewhere: nobody follows it unasked."""

    status: int
    headers: Mapping[str, str]
    """By their names in lowercase."""
    body: bytes
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class NotReached:
    code: NotReachedCode
    message: str
    """A sentence that names the host, and nothing that was found out about the network."""
