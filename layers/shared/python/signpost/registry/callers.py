"""Who asks the registry for something, and whose content is meant."""

from signpost.content import Layers
from signpost.execution.tuning import of_tenant
from signpost.model import Principal, Trace
from signpost.records import dataclass


@dataclass(frozen=True, slots=True)
class Caller:
    tenant: str | None
    """Whose content it is about; None for what the deployment ships."""
    principal: Principal
    """For whom functions behind sections and prompts are called. Its tenant says whose functions those are."""
    ends_at: float
    """Seconds since the epoch by which the answer has to be there."""
    trace: Trace | None = None
    fresh: bool = False
    """Whether lists have to show the latest change, which costs a read each; else they may lag by two seconds."""


def uppermost[Entry](layers: Layers[Entry], caller: Caller) -> tuple[str | None, Entry] | None:
    """The entry that the caller sees, with whose it is: the tenant's own goes before what is shipped."""
    if caller.tenant is not None:
        if layers.own is not None:
            return caller.tenant, layers.own
        if not of_tenant(layers.tenant_settings, "shipped_content"):
            return None
    return None if layers.shipped is None else (None, layers.shipped)
