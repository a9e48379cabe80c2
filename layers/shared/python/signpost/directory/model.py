"""Values of the directory of a tenant: its executors, one change of them, and the refusals of a change."""

from collections.abc import Sequence
from typing import Literal

from signpost.contract import Executor, ExecutorVersion, HostedFunction, PlacedExecutor
from signpost.errors import PlacementCode
from signpost.hazards.model import PublicationWarning
from signpost.records import dataclass

type LoadOperation = Literal["load", "unload", "reload"]


@dataclass(frozen=True, slots=True)
class PlacementRefusal:
    """The reason why an executor is not placed or not removed, as a code and a message for the caller."""

    code: PlacementCode
    message: str


@dataclass(frozen=True, slots=True)
class DirectorySnapshot:
    """The executors and hosted functions of a tenant's directory at one moment."""

    placed: Sequence[PlacedExecutor]
    """The executors of the tenant, and those of the deployment."""
    own: Sequence[HostedFunction]
    """The functions of the tenant's own executors."""
    shipped: Sequence[HostedFunction]
    """The functions that the deployment ships."""


@dataclass(frozen=True, slots=True)
class LoadNotice:
    """The notice to subscribers that a callable skill was loaded, reloaded or unloaded."""

    op: LoadOperation
    name: str
    """The skill name without the prefix `skill:`."""


@dataclass(frozen=True, slots=True)
class DirectoryChange:
    """All changes that loading, reloading or unloading one executor writes in one transaction."""

    executor: Executor
    hosted: Sequence[HostedFunction]
    """All functions of the executor after the change; an executor without functions is removed."""
    terms: ExecutorVersion | None
    removed: Sequence[str]
    """The ids of the functions that the executor had before and does not have any more."""
    notices: Sequence[LoadNotice]
    warnings: Sequence[PublicationWarning] = ()
    """The warnings about its functions, which the transaction does not write."""
