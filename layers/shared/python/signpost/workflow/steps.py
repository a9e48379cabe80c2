"""What can happen to an instance, and what comes of that: the words of the engine."""

from collections.abc import Sequence
from typing import Literal

from signpost.model import Json, JsonObject, Principal
from signpost.records import dataclass
from signpost.workflow.definition import Executor
from signpost.workflow.instance import EvidenceItem, Hop, Instance, Record, Request

type Code = Literal[
    "STALE_WORKFLOW_VERSION",
    "INVALID_TRANSITION",
    "ACTOR_MISMATCH",
    "INPUT_SCHEMA_VIOLATION",
    "GUARD_REJECTED",
    "EXECUTOR_FAILED",
    "CHAIN_FAILED",
]

NOTHING_TO_RUN = "noop"
PEOPLE = "human"
"""The kind of the executor that asks them."""
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


@dataclass(frozen=True, slots=True)
class Performed:
    doing: "Doing"
    outcome: Outcome | Failed


type Event = Submitted | Looked | Performed


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


@dataclass(frozen=True, slots=True)
class Doing:
    """What has to be run before the step can go on."""

    executor: Executor
    reliability: JsonObject
    arguments: JsonObject
    move: Move
    step: "Step"


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

    @property
    def chain(self) -> Sequence[Hop]:
        return self.hops[len(self.hops) - self.chained :]

    @property
    def moved(self) -> bool:
        return bool(self.hops)

    @property
    def timed_out(self) -> bool:
        """Whether a deadline was noticed. What was submitted then came too late."""
        return any(record.type == TIMED_OUT for record in self.records)
