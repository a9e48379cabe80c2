"""What workflows need of the world."""

from collections.abc import Callable, Sequence
from typing import Protocol

from signpost.model import JsonObject, Principal
from signpost.records import dataclass
from signpost.workflow.definition import Definition, Executor
from signpost.workflow.instance import AuditEvent, Awaited, Claim, Entry, Instance, Stand, Waiting
from signpost.workflow.steps import Doing, Failed, Outcome


class Instances(Protocol):
    def load(self, tenant: str, workflow_id: str) -> Instance | None:
        """Raises Unavailable where that cannot be said now, as all of these do."""
        ...

    def save(self, tenant: str, entry: Entry, *, replacing: Stand | None) -> bool:
        """All of the entry or nothing: False unless the instance still stands so; None for one that is not there yet.
        Whoever saved the same before, and has not heard of it, is told that it is saved."""
        ...

    def hold(
        self, tenant: str, workflow_id: str, claim: Claim, *, replacing: Stand, due_at: float | None
    ) -> Claim | None:
        """The claim that the instance has after this: the one given, if it stood so; else somebody else's, or None if
        it stands at another version."""
        ...

    def note(self, tenant: str, workflow_id: str, events: Sequence[AuditEvent]) -> None:
        """What happened without changing anything."""
        ...

    def waiting(self, tenant: str) -> Sequence[Waiting]:
        """The requests that are open, oldest first."""
        ...


@dataclass(frozen=True, slots=True)
class Published:
    """A definition, and the digest that it is known by."""

    definition: Definition
    digest: str


class Definitions(Protocol):
    def current(self, tenant: str, definition_id: str) -> Published | None:
        """The one that is started now; None if there is none that may be."""
        ...

    def pinned(self, tenant: str, definition_id: str, digest: str) -> Definition: ...

    def ids(self, tenant: str) -> Sequence[str]:
        """Of those that may be started."""
        ...

    def offered(self, principal: Principal, definition_id: str) -> Published | None:
        """The same as `current` of what policy leaves to the principal."""
        ...

    def offered_ids(self, principal: Principal) -> Sequence[str]: ...

    def seen(self, principal: Principal, published: Published, kept: str | None) -> Definition:
        """Without the capabilities that policy denies, but for the one that something is under way of, which is
        marked."""
        ...


class Executors(Protocol):
    """What does nothing outside of the instance."""

    def perform(self, doing: Doing, principal: Principal) -> Outcome | Failed: ...


@dataclass(frozen=True, slots=True)
class Errand:
    """One try of one executor."""

    executor: Executor
    arguments: JsonObject
    instance: Instance
    """As it stands without what comes of this."""
    principal: Principal
    claim: Claim
    ends_at: float
    """When whoever waits for it goes on without it."""
    idempotency_key: str | None = None
    step: str = ""
    """Which step of which workflow it is, the same for all tries."""
    say: Callable[[str, JsonObject], None] = lambda _kind, _payload: None
    """For the audit."""


@dataclass(frozen=True, slots=True)
class Later:
    """It is not over yet, and nobody has to wait for it."""

    until: float
    awaits: Awaited
    child: str | None = None
    gives_up_at: float | None = None


type Pause = Callable[[float], None]
"""For so many seconds."""
type Came = Outcome | Failed | Later


class Machine(Protocol):
    """What executors of one kind run on."""

    def seconds(self, executor: Executor, principal: Principal) -> float | None:
        """How long a try may take, where somebody said so."""
        ...

    def lingers(self, executor: Executor, principal: Principal) -> float:
        """Seconds for which a try that nobody waits for any more may go on at most."""
        ...

    def guarded(self, errand: Errand, tries: Callable[[], Came]) -> Came:
        """All tries of one executor in one step; or a failure without any, if it should be left alone."""
        ...

    def perform(self, errand: Errand) -> Came: ...
