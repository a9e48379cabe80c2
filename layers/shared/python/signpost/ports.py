"""Ports of the core that all rooms share: clock, ids, alarm, text store and web.

Each store has an AWS adapter and an in-memory adapter; `tests/contract` checks both against the same promises.
"""

# Values are imported for type checks only: each would cost a cold start a third of a millisecond.
from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from signpost.deployment_lists import DeploymentLists
    from signpost.web import WebAnswer, WebFailure, WebRequest


class Clock(Protocol):
    def now(self) -> float:
        """The current time in seconds since the epoch."""
        ...


class Timestamps(Protocol):
    def now(self) -> str:
        """The current time in UTC by RFC 3339, with microseconds, so that events milliseconds apart differ."""
        ...


class TimeFormat(Protocol):
    def text_of(self, at: float) -> str:
        """Write a time in UTC by RFC 3339, to the second."""
        ...


class Ids(Protocol):
    def new(self) -> str:
        """A new random id of letters and digits."""
        ...


class Alarm(Protocol):
    def __call__(self, seconds: float) -> AbstractContextManager[None]:
        """Limits the time of the enclosed block. Raises DeadlinePassed inside it."""
        ...


class TextStore(Protocol):
    """A store of texts that never change, by their digest."""

    def keep(self, tenant: str, text: str) -> str:
        """Stores the text and returns the digest to read it by."""
        ...

    def read(self, tenant: str, digest: str) -> str:
        """Reads a text. Raises LookupError if it was never stored."""
        ...


class DeploymentListStore(Protocol):
    """The store of the lists of the deployment."""

    def read(self) -> DeploymentLists:
        """Reads the lists. They are empty until they are first written."""
        ...

    def write(self, lists: DeploymentLists) -> None:
        """Replaces all lists."""
        ...


class Web(Protocol):
    def send(self, request: WebRequest) -> WebAnswer | WebFailure:
        """Sends one request to a URL that a user named. Follows no redirect."""
        ...
