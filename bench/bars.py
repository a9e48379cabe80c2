"""The bars of the project, and whether a run meets them."""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from bench.flat import LIST, SKILLS
from bench.harness import IMPORT, NOOP
from bench.laps import FIRST, INIT, LISTS, Lap


@dataclass(frozen=True, slots=True)
class Row:
    """A contender and what it showed in each round."""

    name: str
    laps: Mapping[str, Sequence[float]]
    rival: bool = False

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
        return slowdown([self.reference_loop_ms])

    def to_floor(self, row: Row, measure: str) -> float | None:
        return None if measure not in row.laps else ratio(row.laps[measure], self.floor.laps[INIT])


REFERENCE_LOOP_MS = 40.0
"""What the loop takes on the two-core test machine when it does nothing else: bars in milliseconds are for that."""


def slowdown(loops_ms: Sequence[float]) -> float:
    """By how much this machine was slower than that one, going by what the loop took here. A faster one is 1."""
    return max(1.0, statistics.median(loops_ms) / REFERENCE_LOOP_MS)


def ratio(these: Sequence[float], those: Sequence[float]) -> float:
    """The median of the ratios within a round: whatever slows a machine down for seconds slows both sides of it."""
    return statistics.median(this / that for this, that in zip(these, those, strict=True))


@dataclass(frozen=True, slots=True)
class Verdict:
    what: str
    found: float
    bar: float
    against: str
    at_least: bool = False

    @property
    def met(self) -> bool:
        return self.found >= self.bar if self.at_least else self.found <= self.bar


WORDS: Mapping[str, str] = {
    INIT: "cold init",
    FIRST: "first tools/list",
    **{measure: f"warm tools/list, {count} tools" for count, measure in LISTS.items()},
}
TO_FLOOR: Mapping[str, float] = {INIT: 1.6, FIRST: 1.9}
MILLISECONDS: Mapping[str, float] = {LISTS[200]: 0.5, LISTS[500]: 1.0}
"""On the two-core test machine."""
ALONE: Mapping[str, tuple[str, float]] = {
    LIST: (f"warm list of {SKILLS} skills", 1.0),
    NOOP: ("harness, a call of nothing", 0.3),
    IMPORT: ("harness, import", 30.0),
}
"""What has no rival, in milliseconds; of an executor, beside the function, and beyond Python with pydantic."""
AHEAD = 1.0


def verdicts(results: Results) -> Iterator[Verdict]:
    ours = results.ours
    for measure, bar in TO_FLOOR.items():
        yield Verdict(WORDS[measure], ratio(ours.laps[measure], results.floor.laps[INIT]), bar, "x floor")
    for measure, bar in MILLISECONDS.items():
        yield Verdict(WORDS[measure], ours.medians[measure] / results.slowdown, bar, "ms")
    for measure, (words, bar) in ALONE.items():
        yield Verdict(words, ours.medians[measure] / results.slowdown, bar, "ms")
    rivals = [peer for peer in results.peers if peer.rival]
    for measure, words in WORDS.items():
        fastest = min(rivals, key=lambda rival, measure=measure: rival.medians[measure])
        found = ratio(ours.laps[measure], fastest.laps[measure])
        yield Verdict(words, found, AHEAD, f"x {fastest.name}, the fastest rival")
