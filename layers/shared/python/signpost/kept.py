"""What the registry keeps as objects beside its rows, and what is known of how long no row has named them."""

from collections.abc import Mapping

from signpost.records import dataclass


@dataclass(frozen=True, slots=True)
class Version:
    """Of an object. Writing it again makes another one, which outlives this one."""

    key: str
    id: str
    modified: float
    is_latest: bool = True


@dataclass(frozen=True, slots=True)
class Named:
    """What the rows of a tenant name as of one change, and what any change since an earlier one has named."""

    keys: frozenset[str]
    version: int
    """The sequence number of that change."""


@dataclass(frozen=True, slots=True)
class Look:
    """What was found when the objects of a tenant were looked at last."""

    at: float
    history: str
    """Whose sequence numbers are meant: a restored table counts on by itself."""
    version: int
    scopes: frozenset[str]
    """All that the partition of skill documents was ever called."""
    since: Mapping[str, float]
    """The objects that no row named, nor did at any moment since then."""
