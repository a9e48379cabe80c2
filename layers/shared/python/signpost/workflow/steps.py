"""What can happen to an instance, and what comes of that: the words of the engine."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from signpost.model import Json, JsonObject, Principal
from signpost.records import dataclass
from signpost.workflow.definition import Executor
from signpost.workflow.instance import EvidenceItem, Hop, Instance, Job, Record, Request

type Code = Literal[
    "STALE_WORKFLOW_VERSION",
    "INVALID_TRANSITION",
    "ACTOR_MISMATCH",
    "INPUT_SCHEMA_VIOLATION",
    "GUARD_REJECTED",
    "EXECUTOR_FAILED",
    "CHAIN_FAILED",
    "IN_DOUBT",
]

NOTHING_TO_RUN = "noop"
PEOPLE = "human"
"""The kind of the executor that asks them."""
CHILD = "workflow"
"""The kind of the executor that starts another workflow and waits for its end."""
HARMLESS = frozenset({NOTHING_TO_RUN, PEOPLE})
"""Kinds that do nothing outside of the instance: what they come to is saved with the step, or never was."""
ON_ENTER = "on_enter"
"""What entering a state is called where a transition would be named."""
TIMED_OUT = "workflow.timed_out"
BY_DEADLINE = "timeout"
"""What the move to a timeout's target is called in the trace."""


@dataclass(frozen=True, slots=True)
class Refusal:
    code: Code
    message: str
    transition: str | None = None
    error_class: str | None = None
    retry_after_ms: int | None = None
    in_doubt: bool = False
    """Whether nobody knows what came of what was executed."""
    is_unheard: bool = False
    """Whether nobody knows what became of what was to be written: it may still be done."""


@dataclass(frozen=True, slots=True)
class Submitted:
    expected_version: int
    transition: str
    arguments: JsonObject
    principal: Principal


@dataclass(frozen=True, slots=True)
class Looked:
    """Somebody wants to see how it stands. Only a deadline changes anything by that."""

    principal: Principal


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an executor answered."""

    output: Json = None
    evidence: Sequence[EvidenceItem] = ()
    request: Request | None = None
    """That people were asked to approve something."""


@dataclass(frozen=True, slots=True)
class Failed:
    """An executor did not do what it was to do."""

    error_class: str
    message: str
    outcome: Literal["none", "unknown"] = "none"
    """Whether it certainly did nothing."""
    retry_after_ms: int | None = None
    code: str = ""
    """A row of `execution/failures.py`, where it has one."""
    has_ended: bool = True
    """Whether nothing of it goes on any more."""
    counts: bool = True
    """False where it tells nothing of whether the executor works."""


@dataclass(frozen=True, slots=True)
class Woken:
    """Nobody is looking, but it is time that somebody did."""

    principal: Principal


@dataclass(frozen=True, slots=True)
class Cancel:
    """Somebody who may ends it."""

    principal: Principal


@dataclass(frozen=True, slots=True)
class Resumed:
    """A move that was decided before goes on: nothing of it is decided again."""

    job: Job
    is_taken_over: bool = False
    """From somebody who was executing it and was not heard of again."""


@dataclass(frozen=True, slots=True)
class Performed:
    doing: "Doing"
    outcome: Outcome | Failed


type Event = Submitted | Looked | Woken | Cancel | Resumed | Performed


@dataclass(frozen=True, slots=True)
class Move:
    """On the way from one state to the next."""

    transition: str
    arguments: JsonObject
    is_hop: bool = False
    """Whether it follows by itself."""
    entering: str | None = None
    """The state that it leads to, once that is known: what is left is what the state does on being entered."""
    carrying: Instance | None = None
    """What the instance will be like then. Until the state is entered it is as it was."""
    gathered: Sequence[EvidenceItem] = ()
    """What executors gave on the way."""
    is_owed: bool = False
    """Whether the state stands already, and only what it does on being entered is left."""
    acted: bool = False
    """Whether something was executed already that cannot be taken back."""


@dataclass(frozen=True, slots=True)
class Doing:
    """What has to be run before the step can go on."""

    executor: Executor
    reliability: JsonObject
    arguments: JsonObject
    move: Move
    step: "Step"

    @property
    def called(self) -> str:
        """What the audit calls it."""
        return ON_ENTER if self.move.carrying is not None else self.move.transition


@dataclass(frozen=True, slots=True)
class Step:
    instance: Instance
    principal: Principal
    at: float
    """The time by which all of it was decided."""
    hops: Sequence[Hop] = ()
    """All that were taken, in their order; those that followed by themselves are the chain."""
    chained: int = 0
    evidence: Sequence[EvidenceItem] = ()
    records: Sequence[Record] = ()
    doing: Doing | None = None
    refusal: Refusal | None = None
    since: int = 0
    """The version that it began with; 0 for an instance that was not there."""

    @property
    def chain(self) -> Sequence[Hop]:
        """As far as this step has taken it."""
        return self.hops[max(0, len(self.hops) - self.chained) :]

    @property
    def moved(self) -> bool:
        return self.instance.version != self.since

    @property
    def timed_out(self) -> bool:
        """Whether a deadline was noticed. What was submitted then came too late."""
        return any(record.type == TIMED_OUT for record in self.records)


def with_record(step: Step, record: Record) -> Step:
    return replace(step, records=(*step.records, record))
