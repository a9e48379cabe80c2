"""What the emulator decided about requests of roles, and which denials a run expected."""

import json
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.policy_judge import Request


@dataclass(frozen=True, slots=True)
class Decision:
    """One request of a role, and how the emulator decided it."""

    caller: str
    """The ARN of the session."""
    request: Request
    decision: str

    @property
    def role(self) -> str:
        """Empty if the caller is no session of a role."""
        return self.caller.partition(":assumed-role/")[2].split("/")[0]

    @property
    def session(self) -> str:
        """A function that runs in a role has a session of the function's name."""
        return self.caller.rpartition("/")[2]

    def __str__(self) -> str:
        keys = f" {dict(self.request.context)}" if self.request.context else ""
        return f"{self.decision}: {self.session} {self.request.action} {self.request.resource}{keys}"


class UnexpectedDenialsError(AssertionError):
    """Functions asked for what their roles do not allow, and no test had declared that they would."""


class DenialWatch:
    """Compares what a run was denied with what its tests expected."""

    def __init__(self, record: Path) -> None:
        self.record = record
        self._expected: set[tuple[str, str, str]] = set()
        self._deletions: list[tuple[str, int, int]] = []
        """The prefix of a stack's sessions, and how much was recorded when its deletion began and when it had ended."""

    def decisions(self) -> Sequence[Decision]:
        """What `local.emulator` recorded so far; nothing if no role has asked for anything."""
        if not self.record.exists():
            return []
        return [_decision(json.loads(line)) for line in self.record.read_text().splitlines()]

    def expect(self, session: str, action: str, *resources: str) -> None:
        """Declare that a test has a session of a role ask for what it is denied."""
        self._expected.update((session, action, resource) for resource in resources)

    @contextmanager
    def expect_during(self, prefix: str) -> Generator[None]:
        """Declare that a stack is deleted in the block: its functions may lose their permissions before they end."""
        before = len(self.decisions())
        yield
        self._deletions.append((prefix, before, len(self.decisions())))

    def ensure_expected(self) -> None:
        """Raise an error that lists what roles were denied, and no test expected."""
        denied = ((number, one) for number, one in enumerate(self.decisions()) if one.decision != "Allow" and one.role)
        unexpected = [str(one) for number, one in denied if not self._is_expected(number, one)]
        if unexpected:
            raise UnexpectedDenialsError("\n".join(["Denied, and expected by no test:", *unexpected]))

    def _is_expected(self, number: int, one: Decision) -> bool:
        if (one.session, one.request.action, one.request.resource) in self._expected:
            return True
        return any(
            one.session.startswith(prefix) and before <= number < after for prefix, before, after in self._deletions
        )


def _decision(line: Any) -> Decision:
    return Decision(line["caller"], Request(line["action"], line["resource"], line["context"]), line["decision"])
