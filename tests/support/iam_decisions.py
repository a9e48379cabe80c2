"""The emulator's decisions about requests of roles, and the denials that a run expected."""

import json
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.policy_judge import Request


@dataclass(frozen=True, slots=True)
class Decision:
    """One request of a role, and the emulator's decision."""

    caller: str
    """The ARN of the session that made the request."""
    request: Request
    decision: str

    @property
    def role(self) -> str:
        """The name of the role; empty if the caller is no session of a role."""
        return self.caller.partition(":assumed-role/")[2].split("/")[0]

    @property
    def session(self) -> str:
        """The name of the session. A function that runs in a role has a session of the function's name."""
        return self.caller.rpartition("/")[2]

    def __str__(self) -> str:
        keys = f" {dict(self.request.context)}" if self.request.context else ""
        return f"{self.decision}: {self.session} {self.request.action} {self.request.resource}{keys}"


class UnexpectedDenialsError(AssertionError):
    """Functions made requests that their roles do not allow, and no test had declared that they would."""


class DenialCheck:
    """Compares the denials of a run with the denials that its tests expected."""

    def __init__(self, record: Path) -> None:
        self.record = record
        self._expected: set[tuple[str, str, str]] = set()
        self._changes: list[tuple[str, int, int]] = []
        """The prefix of a stack's sessions, and the number of recorded decisions before and after a change of it."""

    def read_decisions(self) -> Sequence[Decision]:
        """Return the decisions that `local.emulator` has recorded so far; none if no role has made a request."""
        if not self.record.exists():
            return []
        return [_decision(json.loads(line)) for line in self.record.read_text().splitlines()]

    def expect_denial(self, session: str, action: str, *resources: str) -> None:
        """Declare that a test makes a session of a role send requests that are denied."""
        self._expected.update((session, action, resource) for resource in resources)

    @contextmanager
    def expect_denials_during(self, prefix: str) -> Generator[None]:
        """Declare that a stack is made or deleted in the block: its functions may run before they get their
        permissions, and end after they lost them."""
        before = len(self.read_decisions())
        yield
        self._changes.append((prefix, before, len(self.read_decisions())))

    def ensure_expected(self) -> None:
        """Raise an error that lists the denials that no test expected."""
        denied = (
            (number, decision)
            for number, decision in enumerate(self.read_decisions())
            if decision.decision != "Allow" and decision.role
        )
        unexpected = [str(decision) for number, decision in denied if not self._is_expected(number, decision)]
        if unexpected:
            raise UnexpectedDenialsError("\n".join(["Denied, and expected by no test:", *unexpected]))

    def _is_expected(self, number: int, decision: Decision) -> bool:
        if (decision.session, decision.request.action, decision.request.resource) in self._expected:
            return True
        return any(
            decision.session.startswith(prefix) and before <= number < after for prefix, before, after in self._changes
        )


def _decision(line: Any) -> Decision:
    return Decision(line["caller"], Request(line["action"], line["resource"], line["context"]), line["decision"])
