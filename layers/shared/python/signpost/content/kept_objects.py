"""The objects that the registry stores beside its rows, and the record of how long no row has named them."""

from collections.abc import Mapping

from signpost.records import dataclass


@dataclass(frozen=True, slots=True)
class ObjectVersion:
    """One version of an object. Writing the object again makes another version, which outlives this one."""

    key: str
    id: str
    modified: float
    is_latest: bool = True


@dataclass(frozen=True, slots=True)
class NamedObjects:
    """The keys of the objects that the rows of a tenant name as of one change, and of those that any change since an
    earlier one has named."""

    keys: frozenset[str]
    version: int
    """The sequence number of the change as of which the rows were read."""


@dataclass(frozen=True, slots=True)
class RetentionScan:
    """The recorded result of the last scan of a tenant's objects."""

    at: float
    history: str
    """The history that `version` belongs to: a restored table continues with sequence numbers of its own."""
    version: int
    scopes: frozenset[str]
    """All names that the partition of skill documents has ever had."""
    since: Mapping[str, float]
    """The keys of the unnamed objects, each with the time since which no row has named it at any moment."""
