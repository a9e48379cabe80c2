"""Every order of the steps of two calls that carry out one effect, with a crash at each point: the effect happens at
most once without consent, and what is not known is shown in doubt."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, Literal

import pytest

from signpost.adapters.memory import MemoryEffectRecords
from signpost.calling.effect_actions import EffectActions
from signpost.calling.effects import CLAIM, CLAIM_MARGIN, DOUBT, RECORD, RELEASE, EffectKey, EffectRecord, judge_effect
from signpost.contract import FunctionCall, Result
from signpost.model import Json, JsonObject, Principal
from signpost.signing.capability_tokens import CapabilityGrant, grant_of

NOW = 1_800_000_000.0
SECONDS = 10.0
type End = Literal["returns", "did nothing", "fails"]
ENDS: Sequence[End] = ("returns", "did nothing", "fails")
STEPS = 4
"""The steps of a call that claims: claim, begin of the effect, its end, and what is recorded of it."""


class World:
    """The gateway with one effect, its clock, and the counted effect itself."""

    def __init__(self) -> None:
        self.time = NOW
        self.happened = 0
        self.begun = 0
        self.records = MemoryEffectRecords()
        self._actions = EffectActions(self.records, self).actions
        self._deadlines: dict[str, float] = {}

    def now(self) -> float:
        return self.time

    def perform(self, call_id: str, action: str, **fields: Json) -> JsonObject:
        deadline = self._deadlines.setdefault(call_id, self.time + SECONDS)
        reply = self._actions[action](
            build_grant(call_id, deadline), {"name": "pay", "scope": "s", "claim": "c", **fields}
        )
        assert isinstance(reply, Result)
        assert isinstance(reply.value, dict | None)
        return reply.value or {}

    @property
    def record(self) -> EffectRecord | None:
        records: dict[EffectKey, EffectRecord] = self.records.records
        return next(iter(records.values()), None)


def build_grant(call_id: str, deadline: float) -> CapabilityGrant:
    call = FunctionCall(call_id, "desk::pay", {}, Principal("ann", "acme", "i"), deadline)
    return replace(grant_of(call, "arn:desk", deadline), thread="t1")


def run_call(world: World, call_id: str, end: End, *, repeats: bool) -> Iterator[str]:
    """Carry out the effect as `ctx.once` does. It stops before each step, where a test may leave it for ever."""
    yield "claims"
    found = world.perform(call_id, CLAIM, repeat=repeats)
    if found["state"] != "claimed":
        yield f"saw {found['state']}"
        return
    yield "begins"
    world.begun += 1
    yield "acts"
    if end != "did nothing":
        world.happened += 1
    yield "records"
    if end == "returns":
        world.perform(call_id, RECORD, text="1", loss="")
    else:
        world.perform(call_id, RELEASE if end == "did nothing" else DOUBT)
    yield "ended"


def advance(call: Iterator[str]) -> str:
    return next(call, "ended")


ORDERS = sorted(set(product("ab", repeat=2 * STEPS + 2)))


@pytest.mark.invariant(155)
@pytest.mark.parametrize("ends", list(product(ENDS, ENDS)), ids="-".join)
def test_two_calls_in_every_order_have_one_effect_at_most(ends: tuple[End, End]) -> None:
    """Each order may also leave a call where it stands for ever, as a crash does."""
    seen: set[str] = set()
    for order in ORDERS:
        world = World()
        calls = {name: run_call(world, name, end, repeats=False) for name, end in zip("ab", ends, strict=True)}
        seen |= {advance(calls[name]) for name in order}
        assert world.happened <= 1, order
        if world.happened:
            assert world.record is not None, order  # it is never forgotten
    assert seen >= {"claims", "begins", "acts", "records", "ended", "saw running"}


@pytest.mark.invariant(155)
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("crash", range(STEPS + 1))
def test_after_a_crash_at_each_point_the_next_call_acts_waits_or_is_in_doubt(crash: int, end: End) -> None:
    world = World()
    first = run_call(world, "a", end, repeats=False)
    for _ in range(crash):
        advance(first)
    for seconds in (0.0, SECONDS + CLAIM_MARGIN):
        world.time = NOW + seconds
        happened, second = world.happened, run_call(world, f"b{seconds}", "returns", repeats=False)
        steps = [advance(second) for _ in range(STEPS + 1)]
        assert world.happened <= 1
        if not steps[1].startswith("saw "):
            assert happened == 0
            return
        assert world.happened == happened
        states = {"saw running"} if seconds == 0 else {"saw in_doubt"}
        if crash > STEPS:  # the first call has come to its end
            states = {"saw done"} if end == "returns" else {"saw in_doubt"}
        assert steps[1] in states


@pytest.mark.invariant(155)
@pytest.mark.parametrize("crash", range(1, STEPS + 1))
def test_consent_repeats_an_effect_after_the_deadline_of_its_claim_only(crash: int) -> None:
    world = World()
    first = run_call(world, "a", "returns", repeats=True)
    for _ in range(crash + 1):
        advance(first)
    has_outcome = world.record is not None and world.record.outcome is not None
    before = world.begun
    list(run_call(world, "b", "returns", repeats=True))
    assert world.begun == before
    world.time = NOW + SECONDS + CLAIM_MARGIN
    list(run_call(world, "c", "returns", repeats=True))
    assert world.begun == before + (not has_outcome)
    list(run_call(world, "d", "returns", repeats=True))
    assert world.begun == before + (not has_outcome)


@pytest.mark.invariant(155)
def test_one_call_takes_over_what_is_in_doubt() -> None:
    world = World()
    world.perform("a", CLAIM, repeat=False)
    world.time = NOW + SECONDS + CLAIM_MARGIN
    states = [world.perform(name, CLAIM, repeat=True)["state"] for name in "bcd"]
    assert states == ["claimed", "running", "running"]


@pytest.mark.parametrize(
    ("record", "claim", "now", "state"),
    [
        (EffectRecord("a", 10), "a", 5, "claimed"),
        (EffectRecord("a", 10), "a", 15, "claimed"),
        (EffectRecord("a", 10), "b", 5, "running"),
        (EffectRecord("a", 10), "b", 9.999, "running"),
        (EffectRecord("a", 10), "b", 10, "in_doubt"),
    ],
)
def test_a_record_without_an_outcome_is_judged_by_claim_and_time(
    record: EffectRecord, claim: str, now: float, state: str
) -> None:
    assert judge_effect(record, claim, now) == state


def test_a_record_with_an_outcome_is_done_for_everybody() -> None:
    outcome: Any = object()
    record = EffectRecord("a", 10, outcome)
    assert {judge_effect(record, claim, now) for claim in "ab" for now in (5, 15)} == {"done"}
