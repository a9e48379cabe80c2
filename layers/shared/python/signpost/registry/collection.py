"""Which objects may go: those that no row has named for so long that neither a writer nor a restored table can bring
their names back.

A writer puts a body before it writes the row that names it, and leaves the put out only if a row named the body when
it looked. Nobody has looked for longer than a registry function may run. So once nothing has named a body for days,
whoever names it again has put it again, which makes a version of its own; older versions may go. That it was not named
*meanwhile* either is what the outbox says, which names everything that was registered between two looks. A table can
be restored to any moment of 35 days, and then names what it named at that moment.
"""

from collections.abc import Mapping, Sequence

from signpost.kept import Look, Named, Version
from signpost.records import dataclass
from signpost.registry.parts import PART

DAY = 24 * 3600.0


@dataclass(frozen=True, slots=True)
class Ages:
    """Seconds."""

    unnamed: float = 36 * DAY
    """A day more than a table can be restored."""
    parts: float = 7 * DAY
    """A part must be gone long before the bodies that it vouches for."""
    between_looks: float = DAY
    longest_gap: float = 6 * DAY
    """The outbox keeps its rows for seven days."""


def continued(last: Look | None, history: str, now: float, ages: Ages) -> Look | None:
    """The last look, if it is known what happened since."""
    if last is None or last.history != history or now - last.at > ages.longest_gap:
        return None
    return last


def looked(last: Look | None, named: Named, versions: Sequence[Version], now: float) -> dict[str, float]:
    """Since when nothing has named each of the objects that nothing names."""
    since: Mapping[str, float] = last.since if last is not None else {}
    unnamed = {version.key for version in versions} - named.keys
    return {key: since.get(key, now) for key in unnamed if not is_part(key)}


def collectable(look: Look, versions: Sequence[Version], ages: Ages) -> Sequence[Version]:
    """Parts first: were they left when the time is up, nothing else may have gone."""
    parts = [version for version in versions if is_part(version.key) and version.modified <= look.at - ages.parts]
    oldest = look.at - ages.unnamed
    others = [version for version in versions if look.since.get(version.key, look.at) <= oldest >= version.modified]
    return [*parts, *others]


def is_part(key: str) -> bool:
    return key.rpartition("/")[2].startswith(PART)
