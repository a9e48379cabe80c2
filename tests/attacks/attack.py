"""An attack: the requests of an attacker, the defences that they meet, and the way to see which of both has won."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.attacks.defence import Defence

if TYPE_CHECKING:
    from tests.attacks.target import Target


class UnplayedError(Exception):
    """An attack could not be played: an answer is neither the success of the attacker nor the refusal."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an attack has achieved, with the observation that shows it."""

    has_succeeded: bool
    observation: str


def succeeded(observation: str) -> Outcome:
    """Return the outcome of an attack that has reached its aim."""
    return Outcome(has_succeeded=True, observation=observation)


def held(observation: str) -> Outcome:
    """Return the outcome of an attack that a defence has stopped."""
    return Outcome(has_succeeded=False, observation=observation)


type Play = Callable[["Target"], Outcome]
"""Attacks a tenant of its own. Raises UnplayedError, or an error of a failed check, if it shows nothing."""


@dataclass(frozen=True, slots=True)
class Attack:
    """An attack with its negative control.

    The control plays the same attack against a stack without `defences`, or plays `twin` against the same stack: a
    request like the attack that must succeed, which shows that the attack fails by its hostile part only.
    """

    id: str
    title: str
    """The action of the attacker, as docs/security.md lists it."""
    play: Play
    defences: tuple[Defence, ...] = ()
    """The defences without any of which the attack succeeds. They belong to one group."""
    twin: Play | None = None

    def __post_init__(self) -> None:
        if bool(self.defences) == (self.twin is not None):
            raise ValueError(f"{self.id} needs either defences that can be removed, or a benign twin.")
        if len({defence.group for defence in self.defences}) > 1:
            raise ValueError(f"The defences of {self.id} belong to several groups, which no stack lacks at once.")

    @property
    def group(self) -> str | None:
        """The group of its defences; None if its control is a benign twin."""
        return self.defences[0].group if self.defences else None

    @property
    def control_name(self) -> str:
        """The control in words, for reports."""
        return f"without {' and '.join(defence.title for defence in self.defences)}" if self.defences else "benign twin"
