"""What the emulator decided about requests of roles, and which denials a run expected."""

import json
from collections.abc import Collection, Sequence
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


@dataclass(frozen=True, slots=True)
class ExpectedDenial:
    """A request that a test provokes although the caller may not make it."""

    session: str
    action: str
    resource: str


def read_decisions(record: Path) -> Sequence[Decision]:
    """Read what `local.emulator` recorded; nothing if no role has asked for anything."""
    if not record.exists():
        return []
    return [_decision(json.loads(line)) for line in record.read_text().splitlines()]


def unexpected_denials(decisions: Sequence[Decision], expected: Collection[ExpectedDenial]) -> Sequence[Decision]:
    """The requests of roles that were denied, and that no test expected to be."""

    def is_expected(one: Decision) -> bool:
        return ExpectedDenial(one.session, one.request.action, one.request.resource) in expected

    return [one for one in decisions if one.decision != "Allow" and one.role and not is_expected(one)]


def _decision(line: Any) -> Decision:
    return Decision(line["caller"], Request(line["action"], line["resource"], line["context"]), line["decision"])
