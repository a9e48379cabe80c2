"""The summary of a run: all that lists of runs and of approval requests need, without any value of its context."""

import json
from collections.abc import Sequence
from hashlib import sha256
from typing import Literal

from signpost.model import Json
from signpost.records import dataclass

type WaitingFor = Literal["agent", "human", "executor", "retry", "workflow", "chain", "answers", "in_doubt"]
"""One of `model.WAITING_FOR`."""


@dataclass(frozen=True, slots=True)
class HumanDecision:
    """A transition by which a person answers the open approval request."""

    transition: str
    guards: Json = None
    """Those of its guards that ask about the principal only, as an author would write them."""


@dataclass(frozen=True, slots=True)
class RunSummary:
    workflow_id: str
    definition_id: str
    digest: str
    title: str
    """The title of the workflow, or of the capability that the run was started for."""
    state: str
    version: int
    started_at: float
    changed_at: float
    started_by: str
    starter_issuer: str = ""
    capability: str = ""
    """The capability or, for a long call, the function that the run was started for; empty for other workflows."""
    waiting: WaitingFor | None = None
    """None for a run that has ended."""
    fault: str = ""
    """The code of the fault that stopped its last move; empty if there is none."""
    cancelled: bool = False
    parent: str | None = None
    """The run that waits for this one."""
    readers: Json = None
    """The `readers` of the definition. Those on values are replaced by their results at this version. None if there are
    no readers."""
    decisions: Sequence[HumanDecision] = ()
    """The transitions that answer the open approval request."""


def starter_key(issuer: str, subject: str) -> str:
    """Return the key of the list of runs that a principal has started. Two issuers may give two people one subject."""
    return sha256(json.dumps([issuer, subject]).encode()).hexdigest()[:32]
