"""The caller of the registry, and the choice between the tenant's own entry and the shipped one."""

from collections.abc import Mapping
from dataclasses import field, replace

from signpost.calling.runtime_settings import tenant_setting
from signpost.content.model import Layers
from signpost.contract import CallClient, NoticeReceiver
from signpost.model import Json, Principal, SectionAllowance, Trace
from signpost.records import dataclass


@dataclass(frozen=True, slots=True)
class NestedRights:
    """The rights of a function that calls the registry. Functions behind sections and prompts, which the registry runs
    for it, are nested calls of this function and have no other rights."""

    callees: frozenset[str]
    """The functions that it declares to call."""
    permissions: frozenset[str]
    """The permissions that its own call was granted."""
    depth: int
    """The depth of the nested calls that the registry makes for it."""
    expires_at: float
    step: str | None = None


@dataclass(frozen=True, slots=True)
class Caller:
    """The principal that asks the registry, with the tenant of the content and the deadline."""

    tenant: str | None
    """The tenant that owns the content; None for shipped content."""
    principal: Principal
    """The principal as which functions behind sections and prompts are called. They are looked up in its tenant."""
    ends_at: float
    """The deadline of the answer, in seconds since the epoch."""
    trace: Trace | None = None
    fresh: bool = False
    """Whether lists must include the latest change, which costs one read per list. Otherwise they may lag by two
    seconds."""
    sections: SectionAllowance = field(default_factory=SectionAllowance)
    nested: NestedRights | None = None
    """The limits of a function that calls the registry; None for any other caller."""
    client: CallClient | None = None
    """The client for which functions behind sections and prompts run; None for a caller that is no client."""
    answers: Mapping[str, Json] = field(default_factory=dict[str, Json])
    """The client's answers to the questions of such a function."""
    state: Json = None
    """The state of these questions."""
    thread: str = ""
    """The thread of a function that calls the registry; empty for any other caller."""
    notify: NoticeReceiver | None = field(default=None, compare=False)
    """Receives the notices of these functions."""

    @property
    def reading_tenant(self) -> str:
        """The tenant to read as: shipped content is read as the principal's tenant."""
        return self.principal.tenant if self.tenant is None else self.tenant


def publisher_of(caller: Caller) -> Principal:
    """Return the principal with the rights that its publication may give away, such as to a schedule. A function that
    publishes gives away what its own call was granted, and no role: those of its principal end with the call."""
    if caller.nested is None:
        return caller.principal
    granted = caller.principal.permissions & caller.nested.permissions
    return replace(caller.principal, roles=frozenset(), permissions=granted)


def visible_entry[Entry](layers: Layers[Entry], caller: Caller) -> tuple[str | None, Entry] | None:
    """Return the entry that the caller sees, with the tenant that owns it (None for a shipped entry). The tenant's own
    entry takes precedence over the shipped one."""
    if caller.tenant is not None:
        if layers.own is not None:
            return caller.tenant, layers.own
        if not tenant_setting(layers.tenant_settings, "shipped_content"):
            return None
    return None if layers.shipped is None else (None, layers.shipped)
