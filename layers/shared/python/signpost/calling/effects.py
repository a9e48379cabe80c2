"""Decides by the record of an effect whether a function may carry it out, so that it happens at most once.

A function runs once for each round of a request and for each attempt of a workflow step. An effect is claimed by a
conditional write before it happens, and its outcome is written after it. docs/architecture.md describes the states.
"""

from typing import Literal

from signpost.calling.text_digests import digest_of_texts
from signpost.records import dataclass

CLAIM, RECORD, RELEASE, DOUBT = "once.claim", "once.record", "once.release", "once.doubt"
"""The context operations of an effect."""
LONGEST_OUTCOME = 100_000
"""Characters of the JSON text of the value that an effect may return."""
LONGEST_NAME = 200
"""Characters of the name of an effect, which its author gives."""
CLAIM_MARGIN = 5.0
"""Seconds after the deadline of a call before its claim is in doubt: the clocks of two machines may differ."""
KEPT_SECONDS = 30 * 86_400
"""Seconds for which an effect is kept that belongs to no workflow step. All rounds of a request, and all attempts of a
delivery, end before."""

type EffectState = Literal["claimed", "done", "running", "in_doubt"]


@dataclass(frozen=True, slots=True)
class EffectKey:
    """The place of an effect: its thread, and a digest of function, scope and name within it."""

    tenant: str
    thread: str
    digest: str


@dataclass(frozen=True, slots=True)
class EffectOutcome:
    """The outcome of an effect that has happened."""

    text: str = ""
    """The value that the effect returned, as JSON text; empty if it could not be kept."""
    is_awaited: bool = False
    """Whether the effect is an async function, whose value its caller awaits."""
    loss: str = ""
    """Why the value could not be kept; empty if it was kept."""


@dataclass(frozen=True, slots=True)
class EffectRecord:
    """The record of an effect."""

    claim: str
    """The text by which the caller that claimed the effect recognises its claim."""
    claimed_until: float
    """Seconds since the epoch after which an effect without an outcome is in doubt."""
    outcome: EffectOutcome | None = None
    kept_until: float | None = None
    """Seconds since the epoch after which the record is forgotten; None for a record that stays."""


def build_effect_key(tenant: str, thread: str, function: str, scope: str, name: str) -> EffectKey:
    return EffectKey(tenant, digest_of_texts(thread), digest_of_texts(function, scope, name))


def judge_effect(record: EffectRecord, claim: str, now: float) -> EffectState:
    """Decide what a caller with this claim may do: carry out the effect, take its outcome, wait, or nothing, because it
    is unknown whether the effect has happened."""
    if record.outcome is not None:
        return "done"
    if record.claim == claim:
        return "claimed"
    return "running" if now < record.claimed_until else "in_doubt"
