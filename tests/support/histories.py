"""What clients asked of workflows and were answered, and whether some order of it all explains the answers.

Each version of a workflow was made by one submit, which leaves its mark in the context; so the versions are the order,
and it is enough to look whether every answer fits it and the times at which things were asked and answered.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from threading import Lock
from typing import Any, Literal

STALE = "STALE_WORKFLOW_VERSION"

type Kind = Literal["start", "get", "submit"]
type Violation = Literal[
    "two stands of one version",
    "two accepted submits of one version",
    "an accepted submit that led elsewhere",
    "older than what was known before",
    "newer than anybody can have made it",
    "refused and done",
    "done elsewhere than where it was asked",
    "refused for nothing",
    "two workflows of one token",
]


@dataclass(frozen=True, slots=True)
class Seen:
    """Where a workflow stands, as an answer shows it."""

    version: int
    stand: str
    """Its state and its context, to be compared."""
    mark: str | None = None
    """Of the submit that led to it."""
    error: str | None = None
    is_under_way: bool = False
    """Whether something has begun and is not over."""


@dataclass(frozen=True, slots=True)
class Operation:
    kind: Kind
    began: float
    ended: float
    """Infinite where nobody can say: the answer was lost, or said that it goes on."""
    workflow_id: str = ""
    seen: Seen | None = None
    """None if the answer was lost."""
    expected: int = 0
    leads: int = 1
    """By how many versions the submit leads on."""
    mark: str = ""
    """Of a submit its own; of a start its token."""

    @property
    def is_open(self) -> bool:
        return self.ended == inf

    @property
    def is_accepted(self) -> bool:
        return self.kind == "submit" and not self.is_open and self.seen is not None and self.seen.error is None

    @property
    def is_refused(self) -> bool:
        return self.kind == "submit" and not self.is_open and self.seen is not None and self.seen.error is not None


@dataclass(frozen=True, slots=True)
class Found:
    violation: Violation
    operation: Operation


def violations(history: Sequence[Operation]) -> Sequence[Found]:
    """None of them where the history can be explained."""
    by_workflow: dict[str, list[Operation]] = defaultdict(list)
    for operation in history:
        if operation.workflow_id:
            by_workflow[operation.workflow_id].append(operation)
    found = [one for some in by_workflow.values() for one in _Workflow(some).violations()]
    return [*found, *_of_tokens(history)]


def _of_tokens(history: Sequence[Operation]) -> Iterator[Found]:
    first: dict[str, str] = {}
    for operation in history:
        is_heard_of = operation.kind == "start" and operation.workflow_id != ""
        if is_heard_of and first.setdefault(operation.mark, operation.workflow_id) != operation.workflow_id:
            yield Found("two workflows of one token", operation)


class _Workflow:
    """All that was asked of one."""

    def __init__(self, operations: Sequence[Operation]) -> None:
        self._operations = sorted(operations, key=lambda one: one.began)
        self._seen = [(one, one.seen) for one in self._operations if one.seen is not None]
        self._submits = [one for one in self._operations if one.kind == "submit"]
        self._by_mark = {one.mark: one for one in self._submits}

    def violations(self) -> Iterator[Found]:
        yield from self._of_stands()
        yield from self._of_submits()
        yield from self._of_times()
        yield from self._of_marks()
        yield from self._of_refusals()

    def _of_stands(self) -> Iterator[Found]:
        stands: dict[int, str] = {}
        for operation, seen in self._seen:
            if stands.setdefault(seen.version, seen.stand) != seen.stand:
                yield Found("two stands of one version", operation)

    def _of_submits(self) -> Iterator[Found]:
        taken: set[int] = set()
        for operation in self._submits:
            if not operation.is_accepted or operation.seen is None:
                continue
            if operation.expected in taken:
                yield Found("two accepted submits of one version", operation)
            taken.add(operation.expected)
            led_to = operation.expected + operation.leads
            if (operation.seen.version, operation.seen.mark) != (led_to, operation.mark):
                yield Found("an accepted submit that led elsewhere", operation)

    def _of_times(self) -> Iterator[Found]:
        """Nothing is forgotten that was known before it was asked, and nothing is known that nobody has asked for."""
        known = sorted((one.ended, seen.version) for one, seen in self._seen if one.ended < inf)
        place, newest = 0, 0
        for operation, seen in self._seen:
            while place < len(known) and known[place][0] < operation.began:
                newest = max(newest, known[place][1])
                place += 1
            if seen.version < newest:
                yield Found("older than what was known before", operation)
            if seen.version > self._newest_by(operation.ended):
                yield Found("newer than anybody can have made it", operation)

    def _newest_by(self, moment: float) -> int:
        """The latest version that submits which had been sent by then can have led to, each of them once."""
        newest = 1
        for operation in sorted(self._submits, key=lambda one: one.expected):
            if operation.began < moment and not operation.is_refused and operation.expected <= newest:
                newest = max(newest, operation.expected + operation.leads)
        return newest

    def _of_marks(self) -> Iterator[Found]:
        for operation, seen in self._seen:
            maker = self._by_mark.get(seen.mark or "")
            if maker is None:
                continue
            if maker.is_refused:
                yield Found("refused and done", operation)
            if not maker.expected < seen.version <= maker.expected + maker.leads:
                yield Found("done elsewhere than where it was asked", operation)

    def _of_refusals(self) -> Iterator[Found]:
        for operation, seen in self._seen:
            if not operation.is_refused or seen.error != STALE or seen.version != operation.expected:
                continue
            if not seen.is_under_way or not self._somebody_else_at(operation):
                yield Found("refused for nothing", operation)

    def _somebody_else_at(self, refused: Operation) -> bool:
        return any(
            other is not refused
            and not other.is_refused
            and other.began < refused.ended
            and other.ended > refused.began
            and other.expected <= refused.expected < other.expected + other.leads
            for other in self._submits
        )


@dataclass(slots=True)
class History:
    """Of several clients at once."""

    operations: list[Operation] = field(default_factory=list[Operation])
    _lock: Lock = field(default_factory=Lock)

    def record(self, asked: Operation, ask: Callable[[], Mapping[str, Any] | None]) -> Operation:
        """Asks, and remembers what came of it: None is an answer that was lost. When it began is overwritten."""
        began = time.monotonic()
        answer = ask()
        done = _answered(replace(asked, began=began), answer, time.monotonic())
        with self._lock:
            self.operations.append(done)
        return done


def _answered(asked: Operation, answer: Mapping[str, Any] | None, now: float) -> Operation:
    if answer is None or "version" not in answer:
        return replace(asked, ended=inf)
    error = answer.get("error", {}).get("code")
    is_under_way = "pending" in answer or "inDoubt" in answer
    context = answer["context"]
    stand = repr((answer["state"], sorted(context.items())))
    seen = Seen(answer["version"], stand, context.get("by"), error, is_under_way)
    # The submit was taken, and what was to follow it is done later or not at all; or nobody can say whether it was.
    was_taken = error == "CHAIN_FAILED" or (is_under_way and error in (None, "EXECUTOR_FAILED"))
    is_unheard = answer.get("error", {}).get("outcome") == "unknown"
    ended = inf if (was_taken or is_unheard) and asked.kind == "submit" else now
    return replace(asked, workflow_id=answer["workflowId"], seen=seen, ended=ended)
