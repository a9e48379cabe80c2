"""The context operations of `ctx.once`: claim an effect, record its outcome, release its claim, or leave it in doubt.

Each of them can be sent again after a lost answer. Its claim is a text that the executor has made for one run of one
effect, so a repetition finds what the first attempt has written.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from signpost.calling.context_operations import ContextAction
from signpost.calling.effects import (
    CLAIM,
    CLAIM_MARGIN,
    DOUBT,
    KEPT_SECONDS,
    LONGEST_NAME,
    LONGEST_OUTCOME,
    RECORD,
    RELEASE,
    EffectKey,
    EffectOutcome,
    EffectRecord,
    build_effect_key,
    judge_effect,
)
from signpost.calling.failures import failure
from signpost.calling.wire_fields import MalformedMessage, text_in
from signpost.contract import CallReply, Result
from signpost.model import Json, JsonObject
from signpost.signing.capability_tokens import CapabilityGrant
from signpost.strict_json import is_encodable, is_json

if TYPE_CHECKING:
    from signpost.calling.ports import EffectRecords
    from signpost.ports import Clock

LONGEST_CLAIM = 64
MOST_TAKEOVERS = 3
"""Attempts to take over a claim that others take over at the same time."""


class EffectActions:
    """Performs the context operations of `ctx.once`."""

    def __init__(self, records: "EffectRecords", clock: "Clock") -> None:
        self._records = records
        self._clock = clock

    @property
    def actions(self) -> Mapping[str, ContextAction]:
        return {CLAIM: self._claim, RECORD: self._record, RELEASE: self._release, DOUBT: self._doubt}

    def _claim(self, grant: CapabilityGrant, fields: JsonObject) -> CallReply:
        try:
            key, claim = _key_in(grant, fields), _claim_in(grant, fields)
        except MalformedMessage as fault:
            return _refuse(fault)
        record = self._build_record(grant, claim)
        standing = self._records.add(key, record)
        for _ in range(MOST_TAKEOVERS):
            state = judge_effect(standing, claim, self._clock.now())
            if state != "in_doubt" or fields.get("repeat") is not True:
                return Result(self._describe(standing, state))
            # Without a record, the former claim was released: nothing happened, and the next attempt claims it anew.
            standing = self._records.replace(key, standing.claim, record) or self._records.add(key, record)
        return Result(self._describe(standing, judge_effect(standing, claim, self._clock.now())))

    def _record(self, grant: CapabilityGrant, fields: JsonObject) -> CallReply:
        try:
            key, claim, outcome = _key_in(grant, fields), _claim_in(grant, fields), _outcome_in(fields)
        except MalformedMessage as fault:
            return _refuse(fault)
        record = self._build_record(grant, claim, outcome)
        standing = self._records.replace(key, claim, record)
        is_recorded = standing is not None and standing.claim == claim and standing.outcome is not None
        return Result({"recorded": is_recorded})

    def _release(self, grant: CapabilityGrant, fields: JsonObject) -> CallReply:
        try:
            self._records.remove(_key_in(grant, fields), _claim_in(grant, fields))
        except MalformedMessage as fault:
            return _refuse(fault)
        return Result(None)

    def _doubt(self, grant: CapabilityGrant, fields: JsonObject) -> CallReply:
        """End a claim before its deadline: its caller has stopped, and whether the effect has happened is unknown."""
        try:
            key, claim = _key_in(grant, fields), _claim_in(grant, fields)
        except MalformedMessage as fault:
            return _refuse(fault)
        ended = EffectRecord(claim, self._clock.now(), kept_until=self._kept_until(grant))
        self._records.replace(key, claim, ended)
        return Result(None)

    def _build_record(self, grant: CapabilityGrant, claim: str, outcome: EffectOutcome | None = None) -> EffectRecord:
        return EffectRecord(claim, grant.deadline + CLAIM_MARGIN, outcome, self._kept_until(grant))

    def _kept_until(self, grant: CapabilityGrant) -> float | None:
        """A step may be attempted again after any time, and its run stays. So does the record."""
        return None if grant.step is not None else grant.deadline + KEPT_SECONDS

    def _describe(self, record: EffectRecord, state: str) -> JsonObject:
        described: dict[str, Json] = {"state": state}
        if state == "running":
            described["retryAfterMs"] = max(int((record.claimed_until - self._clock.now()) * 1000), 1)
        if record.outcome is not None:
            described |= {"text": record.outcome.text, "awaited": record.outcome.is_awaited}
            described["loss"] = record.outcome.loss
        return described


def _key_in(grant: CapabilityGrant, fields: JsonObject) -> EffectKey:
    """Return the key of the effect that the fields name, in the thread and the function of the grant. A call without a
    thread is one of its own. Raises MalformedMessage."""
    name = _bounded_text_in(fields, "name", LONGEST_NAME)
    scope = _bounded_text_in(fields, "scope", LONGEST_NAME)
    thread = f"thread:{grant.thread}" if grant.thread else f"call:{grant.call}"
    return build_effect_key(grant.tenant, thread, grant.function, scope, name)


def _claim_in(grant: CapabilityGrant, fields: JsonObject) -> str:
    return f"{grant.call}/{_bounded_text_in(fields, 'claim', LONGEST_CLAIM)}"


def _outcome_in(fields: JsonObject) -> EffectOutcome:
    text, loss = text_in(fields, "text"), text_in(fields, "loss")
    if len(text) > LONGEST_OUTCOME or len(loss) > LONGEST_OUTCOME:
        raise MalformedMessage(f"text or loss has more than {LONGEST_OUTCOME} characters")
    if not is_encodable(text + loss):
        raise MalformedMessage("text or loss has half a surrogate pair")
    if not loss and not is_json(text):
        raise MalformedMessage("text is no JSON")
    return EffectOutcome(text, fields.get("awaited") is True, loss)


def _bounded_text_in(fields: JsonObject, name: str, longest: int) -> str:
    text = text_in(fields, name)
    if not 0 < len(text) <= longest or not is_encodable(text):
        raise MalformedMessage(f"{name} must be a text of 1 to {longest} characters")
    return text


def _refuse(fault: MalformedMessage) -> CallReply:
    return failure("not_understood", "the gateway", message=f"This operation of ctx.once was refused: {fault}.")
