"""Where a case happens: what the player of cases asks of it."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from tests.acceptance.cases import Case, Step
from tests.acceptance.expectations import Seen


class GivenFailed(Exception):  # noqa: N818 - it names what happened
    """What a case takes for granted could not be had; the message says what came instead."""


class World(Protocol):
    """A tenant of a case's own, in which nothing has happened yet."""

    def prepare(self, case: Case) -> None:
        """Makes true what is given. Raises GivenFailed."""
        ...

    def play(self, step: Step) -> Seen:
        """Without calls and events."""
        ...

    def calls(self) -> Sequence[Any]:
        """The functions that were called since the last time."""
        ...

    def mark(self) -> None:
        """What happens from here on belongs to the next step."""
        ...

    def events(self) -> Sequence[Sequence[Any]]:
        """What was told of changes between one mark and the next."""
        ...


def seen_of(answer: Any) -> Seen:
    """An answer of the registry function."""
    match answer:
        case {"error": {"code": str(), "message": str(message)}}:
            return Seen(error=message)
        case _:
            return Seen(answer)


def check_given(entry: Mapping[str, Any], answered: Seen) -> None:
    if answered.error is not None:
        raise GivenFailed(f"given {entry['call']}: {answered.error}")
