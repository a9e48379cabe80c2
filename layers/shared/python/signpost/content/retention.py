"""Decides which stored objects may be removed: those that no row has named for so long that neither a writer nor a
restored table can name them again.

A writer puts a body before it writes the row that names the body, and skips the put only if a row named the body when
the writer read it. That read is never older than the time that a registry function may run. So once no row has named
a body for days, a writer that names it again has also put it again, which creates a version of its own; older versions
may be removed. The outbox proves that the body was not named *between* two scans either: it lists everything that was
registered in that time. A table can be restored to any moment of the last 35 days, and then names the objects that it
named at that moment.
"""

from collections.abc import Mapping, Sequence

from signpost.content.kept_objects import NamedObjects, ObjectVersion, RetentionScan
from signpost.records import dataclass

DAY = 24 * 3600.0


@dataclass(frozen=True, slots=True)
class RetentionAges:
    """The ages, in seconds, from which objects are removed, and the intervals between scans."""

    unnamed: float = 36 * DAY
    """One day longer than the period to which a table can be restored."""
    parts: float = 7 * DAY
    """A part must be removed long before the bodies that it lists."""
    between_looks: float = DAY
    """The shortest time between two scans of a tenant."""
    longest_gap: float = 6 * DAY
    """The longest time between two scans that the outbox still covers: it keeps its rows for seven days."""


def continuous_scan(last: RetentionScan | None, history: str, now: float, ages: RetentionAges) -> RetentionScan | None:
    """Return the last scan if all changes since then are known; None if the history or the outbox has a gap."""
    if last is None or last.history != history or now - last.at > ages.longest_gap:
        return None
    return last


def unnamed_since(
    last: RetentionScan | None, named: NamedObjects, versions: Sequence[ObjectVersion], now: float
) -> dict[str, float]:
    """Return the unnamed objects by key, each with the time since which no row has named it. Parts are left out."""
    since: Mapping[str, float] = last.since if last is not None else {}
    unnamed = {version.key for version in versions} - named.keys
    return {key: since.get(key, now) for key in unnamed if not is_part(key)}


def find_collectable(
    scan: RetentionScan, versions: Sequence[ObjectVersion], ages: RetentionAges
) -> Sequence[ObjectVersion]:
    """Find the versions to remove. Parts come first: if the run ends early, no body may be gone while a part that
    lists it remains."""
    parts = [version for version in versions if is_part(version.key) and version.modified <= scan.at - ages.parts]
    oldest = scan.at - ages.unnamed
    others = [version for version in versions if scan.since.get(version.key, scan.at) <= oldest >= version.modified]
    return [*parts, *others]


def is_part(key: str) -> bool:
    return key.rpartition("/")[2].startswith(PART)


PART = "part-"
"""The prefix of the name of a part. No body of a document is ever stored under such a name, so that no body can be
taken for a part. To the retention scan a part is a body that no row names."""
