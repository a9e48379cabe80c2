"""Plays attacks: on the deployed stack the defence must hold, and in the control the same attack must succeed."""

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Literal

from local.progress import Progress
from local.stack import Build, build
from tests.attacks.attack import Attack, Outcome, Play
from tests.attacks.defence import Defence
from tests.attacks.open_build import make_open_build
from tests.attacks.target import TargetStack, deploy_target_stack
from tests.support.laptop import Laptop

type Verdict = Literal["held", "SUCCEEDED", "VACUOUS", "UNDECIDED"]
"""The result of an attack with its control. It is vacuous if the attack fails in the control too, and undecided if it
could not be played."""

DEFENDED_STACK = "attacked"
LONGEST_REASON = 2_000


@dataclass(frozen=True, slots=True)
class Finding:
    attack: Attack
    verdict: Verdict
    observation: str
    """The observation that shows how the defence held, or why the verdict is another one."""
    control: str = ""
    """The observation that shows that the control succeeded."""
    seconds: float = 0.0

    @property
    def has_passed(self) -> bool:
        return self.verdict == "held"

    def __str__(self) -> str:
        if self.has_passed:
            return f"{self.attack.id} held, control: succeeded ({self.attack.control_name})"
        return f"{self.attack.id} {self.verdict}: {self.observation}"


@dataclass
class Arena:
    """The stacks that attacks are played against. Each is deployed at its first use."""

    laptop: Laptop
    defences: Sequence[Defence]
    """The defences of all attacks: a build without a group of them lacks all of the group."""
    _builds: dict[str, Build] = field(default_factory=dict[str, Build])
    _stacks: dict[str, TargetStack] = field(default_factory=dict[str, TargetStack])

    def defended(self) -> TargetStack:
        """Return the stack with all defences."""
        return self._stack(DEFENDED_STACK, self._build)

    def without(self, group: str) -> TargetStack:
        """Return the stack without the defences of a group."""
        return self._stack(_name_of(group), lambda: self._open_build(group))

    def release(self, group: str) -> None:
        """Delete the stack without the defences of a group, which polls its queues and streams as long as it lives."""
        stack = self._stacks.pop(_name_of(group), None)
        for name in stack.names if stack else ():
            self.laptop.delete(name)

    def play(self, attack: Attack) -> Finding:
        """Play the attack, then its control. Raises nothing that an attack raises."""
        started = monotonic()
        verdict, observation = _judge(self.defended, attack.play, has_to_succeed=False)
        if verdict != "held":
            return Finding(attack, verdict, observation, seconds=monotonic() - started)
        group, play = attack.group, attack.twin or attack.play
        verdict, control = _judge(lambda: self.without(group) if group else self.defended(), play, has_to_succeed=True)
        if verdict != "SUCCEEDED":
            return Finding(attack, verdict, f"in the control: {control}", seconds=monotonic() - started)
        return Finding(attack, "held", observation, control, monotonic() - started)

    def _stack(self, name: str, make_build: Callable[[], Build]) -> TargetStack:
        if name not in self._stacks:
            self._stacks[name] = deploy_target_stack(self.laptop, name, make_build())
        return self._stacks[name]

    def _build(self) -> Build:
        if "" not in self._builds:
            log = self.laptop.home / "attacks-build.log"
            self._builds[""] = build("test", log=log, progress=Progress(io.StringIO()))
        return self._builds[""]

    def _open_build(self, group: str) -> Build:
        folder: Path = self.laptop.home / f"build-{group}"
        return make_open_build(self._build(), folder, [it for it in self.defences if it.group == group])


def _name_of(group: str) -> str:
    return f"{DEFENDED_STACK}-{group}"


def list_defences(attacks: Sequence[Attack]) -> Sequence[Defence]:
    """Return the defences of these attacks, each once."""
    by_name: Mapping[str, Defence] = {defence.name: defence for attack in attacks for defence in attack.defences}
    return list(by_name.values())


def _judge(stack: Callable[[], TargetStack], play: Play, *, has_to_succeed: bool) -> tuple[Verdict, str]:
    try:
        outcome = play(stack().new_target())
    except Exception as fault:  # noqa: BLE001 - any error means that the attack showed nothing; the report names it
        return "UNDECIDED", f"{type(fault).__name__}: {fault}"[:LONGEST_REASON]
    return _verdict_of(outcome, has_to_succeed=has_to_succeed), outcome.observation


def _verdict_of(outcome: Outcome, *, has_to_succeed: bool) -> Verdict:
    if outcome.has_succeeded:
        return "SUCCEEDED"
    return "VACUOUS" if has_to_succeed else "held"
