"""The performance bars of the project, and the verdicts whether a run meets them."""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from bench.flat import FLAT_LIST, SKILLS
from bench.harness import IMPORT, NOOP
from bench.laps import FIRST, INIT, LISTS, Lap


@dataclass(frozen=True, slots=True)
class Row:
    """The measured values of a contender."""

    name: str
    laps: Mapping[str, Sequence[float]]
    """By measure, with one value a round."""
    is_rival: bool = False

    @property
    def medians(self) -> Lap:
        return {measure: statistics.median(values) for measure, values in self.laps.items()}


@dataclass(frozen=True, slots=True)
class Results:
    floor: Row
    ours: Row
    peers: tuple[Row, ...]
    reference_loop_ms: float

    @property
    def rows(self) -> tuple[Row, ...]:
        return (self.floor, self.ours, *self.peers)

    @property
    def slowdown(self) -> float:
        return compute_slowdown([self.reference_loop_ms])

    def to_floor(self, row: Row, measure: str) -> float | None:
        """Return the measure relative to the cold init of the floor, or None if the row does not have it."""
        return None if measure not in row.laps else median_ratio(row.laps[measure], self.floor.laps[INIT])


REFERENCE_LOOP_MS = 40.0
"""The time of the reference loop on the idle two-core test machine, for which the bars in milliseconds are set."""


def compute_slowdown(loops_ms: Sequence[float]) -> float:
    """Return the factor by which this machine was slower than the test machine, from times of the reference loop; 1 for
    a faster machine."""
    return max(1.0, statistics.median(loops_ms) / REFERENCE_LOOP_MS)


def median_ratio(values: Sequence[float], references: Sequence[float]) -> float:
    """Return the median of the ratios within a round. A disturbance of seconds slows down both sides of a ratio."""
    return statistics.median(value / reference for value, reference in zip(values, references, strict=True))


@dataclass(frozen=True, slots=True)
class Verdict:
    """A measured value compared with its bar."""

    subject: str
    value: float
    bar: float
    unit: str
    """The unit of the value and the bar, with the reference of a ratio."""
    at_least: bool = False
    """Whether the bar is the least allowed value and not the greatest."""

    @property
    def is_met(self) -> bool:
        return self.value >= self.bar if self.at_least else self.value <= self.bar


LABELS: Mapping[str, str] = {
    INIT: "cold init",
    FIRST: "first tools/list",
    **{measure: f"warm tools/list, {count} tools" for count, measure in LISTS.items()},
}
TO_FLOOR_BARS: Mapping[str, float] = {INIT: 1.45, FIRST: 1.5}
MILLISECOND_BARS: Mapping[str, float] = {LISTS[200]: 0.5, LISTS[500]: 1.0}
"""For the two-core test machine."""
BARS_WITHOUT_RIVAL: Mapping[str, tuple[str, float]] = {
    FLAT_LIST: (f"warm list of {SKILLS} skills", 1.0),
    NOOP: ("harness, empty function", 0.3),
    IMPORT: ("harness, import", 30.0),
}
"""Labels and bars in milliseconds of measures that the peers do not have. The harness is measured without the function
that it calls, and its import without Python and pydantic."""
MAX_TO_RIVAL = 1.0
"""The bar of a measure relative to the fastest rival."""


def verdicts(results: Results) -> Iterator[Verdict]:
    ours = results.ours
    for measure, bar in TO_FLOOR_BARS.items():
        yield Verdict(LABELS[measure], median_ratio(ours.laps[measure], results.floor.laps[INIT]), bar, "x floor")
    for measure, bar in MILLISECOND_BARS.items():
        yield Verdict(LABELS[measure], ours.medians[measure] / results.slowdown, bar, "ms")
    for measure, (label, bar) in BARS_WITHOUT_RIVAL.items():
        yield Verdict(label, ours.medians[measure] / results.slowdown, bar, "ms")
    rivals = [peer for peer in results.peers if peer.is_rival]
    for measure, label in LABELS.items():
        fastest = min(rivals, key=lambda rival, measure=measure: rival.medians[measure])
        value = median_ratio(ours.laps[measure], fastest.laps[measure])
        yield Verdict(label, value, MAX_TO_RIVAL, f"x {fastest.name}, the fastest rival")
