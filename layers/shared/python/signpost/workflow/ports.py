"""What workflows need of the world."""

from collections.abc import Sequence
from typing import Protocol

from signpost.model import Principal
from signpost.records import dataclass
from signpost.workflow.definition import Definition
from signpost.workflow.instance import AuditEvent, Entry, Instance, Waiting
from signpost.workflow.steps import Doing, Failed, Outcome


class Instances(Protocol):
    def load(self, tenant: str, workflow_id: str) -> Instance | None: ...

    def save(self, tenant: str, entry: Entry, *, replacing: int | None) -> bool:
        """All of the entry or nothing: False unless the instance still stands at the version `replacing`; None for one
        that is not there yet."""
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


class Executors(Protocol):
    def perform(self, doing: Doing, principal: Principal) -> Outcome | Failed: ...
