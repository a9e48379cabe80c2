"""The ports of the registry: the stores of documents, prompts and subscriptions, the event bus and the delivery
queue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from signpost.content.kept_objects import NamedObjects, ObjectVersion, RetentionScan
    from signpost.content.model import Announcement, BusEvent, Change, Layers, Skill, StoredPrompt, Subscription
    from signpost.hazards.model import PublicationWarning


class AnswerStore(Protocol):
    """The store of answers that are too long to be sent."""

    def keep(self, tenant: str, text: str) -> str:
        """Store an answer and return a URL that can be read for a limited time."""
        ...

    def address(self, key: str) -> str:
        """Return such a URL for an answer that an executor has stored under this key."""
        ...


class EntryReferences(Protocol):
    """Finds the references of a document or a prompt that lead nowhere for a tenant."""

    def find_document_warnings(
        self, skill_id: str, body: str, documents: Callable[[], Collection[str]], tenant: str
    ) -> Sequence[PublicationWarning]:
        """`documents` returns the ids of the other documents. It is called only if the document has links."""
        ...

    def find_prompt_warnings(self, prompt: StoredPrompt, tenant: str, *, strict: bool) -> Sequence[PublicationWarning]:
        """Unless `strict`, an unhosted function is named only if a hosted one has a similar name: a prompt may be
        registered before its function."""
        ...


class ContentStore(Protocol):
    """The store of skill documents, prompts, subscriptions and the digest of the current catalogue, by tenant. The
    tenant None stands for shipped content."""

    def catalogue(self, tenant: str) -> str | None:
        """Return the digest of the current snapshot; None if the tenant has never published one."""
        ...

    def skill(self, tenant: str, skill_id: str) -> Layers[Skill]: ...

    def prompt(self, tenant: str, name: str) -> Layers[StoredPrompt]: ...

    def skills(self, tenant: str | None) -> Sequence[Skill]:
        """List the skills, sorted by the bytes of the id."""
        ...

    def prompts(self, tenant: str | None) -> Sequence[StoredPrompt]:
        """List the prompts, sorted by the bytes of the name."""
        ...

    def subscriptions(self, tenant: str | None) -> Sequence[Subscription]:
        """List the subscriptions, sorted by the bytes of the name."""
        ...

    def apply(self, tenant: str | None, changes: Sequence[Change]) -> Sequence[int | None]:
        """Apply all changes atomically: a reader sees all of them or none, however many they are. Each change is stored
        with its event, if its kind has one. Returns the sequence numbers of the changes; None for an unregistration
        that found no entry, which is no change. Raises Overtaken if a change of the catalogue was built from a snapshot
        that is not the current one."""
        ...

    def announce(self, tenant: str, announcement: Announcement) -> int:
        """Store the event of a change that a function announces, and return its sequence number, which is the new
        version of the tenant's content."""
        ...


class Bodies(Protocol):
    """The store of bodies, by their digest. The tenant None stands for shipped content."""

    def keep(self, tenant: str | None, digest: str, body: bytes) -> None: ...

    def read(self, tenant: str | None, digest: str) -> bytes: ...


class ContentReferences(Protocol):
    """Finds the objects that the rows of skill documents and prompts name. The tenant None stands for shipped
    content."""

    @property
    def history(self) -> str:
        """The id of the history that the sequence numbers belong to. A restored table has another one."""
        ...

    @property
    def scopes(self) -> frozenset[str]:
        """The current names of the partition of skill documents."""
        ...

    def list_unfinished_tenants(self) -> Sequence[str | None]:
        """List the tenants with a publication that is not yet written to its rows."""
        ...

    def complete(self, tenant: str | None) -> None:
        """Write the rows of an unfinished publication. This is safe while another process does the same."""
        ...

    def find_named_objects(self, tenant: str | None, scopes: frozenset[str], *, after: int | None) -> NamedObjects:
        """Find the objects that the rows name now, and those that any change after the sequence number `after` has
        named, even if only for a moment."""
        ...


class KeptObjects(Protocol):
    """The stored objects in all their versions, and the record of the last retention scan."""

    def scopes(self) -> Mapping[str | None, float]:
        """Return the tenants that have objects, each with the time of its last scan; 0 for never."""
        ...

    def read_last_scan(self, tenant: str | None) -> RetentionScan:
        """Read the last scan of the tenant. Raises LookupError if there was none."""
        ...

    def write_scan(self, tenant: str | None, look: RetentionScan) -> None: ...

    def versions(self, tenant: str | None) -> Sequence[ObjectVersion]: ...

    def remove(self, versions: Sequence[ObjectVersion]) -> None: ...


class EventBus(Protocol):
    def put(self, events: Sequence[BusEvent]) -> Sequence[bool]:
        """Put at most ten events on the bus. Returns for each of them whether the bus accepted it."""
        ...


class DeliveryQueue(Protocol):
    def put(self, text: str) -> None: ...

    def put_off(self, receipt: str, seconds: int) -> None:
        """Make a received message visible again after so many seconds."""
        ...
