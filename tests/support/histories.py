"""Records the requests and answers of clients of workflows, and checks that some order of the requests explains the
answers.

Each version of a workflow was made by one submit, which leaves its mark in the context; so the versions are the order,
and it suffices to check that every answer fits this order and the times of requests and answers.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from threading import Lock
from typing import Any, Literal

STALE_VERSION_CODE = "STALE_WORKFLOW_VERSION"

type OperationKind = Literal["start", "get", "submit"]
type Violation = Literal[
    "two states of one version",
    "two accepted submits of one version",
    "an accepted submit that led elsewhere",
    "older than a state known before",
    "newer than any request can have made it",
    "refused but carried out",
    "carried out at another version than expected",
    "refused without a competing request",
    "two workflows of one token",
]


@dataclass(frozen=True, slots=True)
class ObservedState:
    """A workflow's state as an answer shows it."""

    version: int
    content: str
    """Its state and its context, as text for comparison."""
    mark: str | None = None
    """The mark of the submit that led to it."""
    error: str | None = None
    is_pending: bool = False
    """Whether a step has begun and is not finished."""


@dataclass(frozen=True, slots=True)
class Operation:
    kind: OperationKind
    started_at: float
    ended_at: float
    """Infinite if unknown: the answer was lost, or said that the step is under way."""
    workflow_id: str = ""
    observed: ObservedState | None = None
    """None if the answer was lost."""
    expected_version: int = 0
    version_count: int = 1
    """The number of versions by which the submit advances the workflow."""
    mark: str = ""
    """The mark of a submit; the client token of a start."""

    @property
    def is_open(self) -> bool:
        return self.ended_at == inf

    @property
    def is_accepted(self) -> bool:
        return self.kind == "submit" and not self.is_open and self.observed is not None and self.observed.error is None

    @property
    def is_refused(self) -> bool:
        return (
            self.kind == "submit" and not self.is_open and self.observed is not None and self.observed.error is not None
        )


@dataclass(frozen=True, slots=True)
class FoundViolation:
    violation: Violation
    operation: Operation


def find_violations(history: Sequence[Operation]) -> Sequence[FoundViolation]:
    """Return the violations in a history; none if an order explains it."""
    by_workflow: dict[str, list[Operation]] = defaultdict(list)
    for operation in history:
        if operation.workflow_id:
            by_workflow[operation.workflow_id].append(operation)
    found = [violation for each in by_workflow.values() for violation in _Workflow(each).violations()]
    return [*found, *_of_tokens(history)]


def _of_tokens(history: Sequence[Operation]) -> Iterator[FoundViolation]:
    first: dict[str, str] = {}
    for operation in history:
        is_known = operation.kind == "start" and operation.workflow_id != ""
        if is_known and first.setdefault(operation.mark, operation.workflow_id) != operation.workflow_id:
            yield FoundViolation("two workflows of one token", operation)


class _Workflow:
    """All operations on one workflow."""

    def __init__(self, operations: Sequence[Operation]) -> None:
        self._operations = sorted(operations, key=lambda operation: operation.started_at)
        self._seen = [
            (operation, operation.observed) for operation in self._operations if operation.observed is not None
        ]
        self._submits = [operation for operation in self._operations if operation.kind == "submit"]
        self._by_mark = {operation.mark: operation for operation in self._submits}

    def violations(self) -> Iterator[FoundViolation]:
        yield from self._of_stands()
        yield from self._of_submits()
        yield from self._of_times()
        yield from self._of_marks()
        yield from self._of_refusals()

    def _of_stands(self) -> Iterator[FoundViolation]:
        stands: dict[int, str] = {}
        for operation, seen in self._seen:
            if stands.setdefault(seen.version, seen.content) != seen.content:
                yield FoundViolation("two states of one version", operation)

    def _of_submits(self) -> Iterator[FoundViolation]:
        taken: set[int] = set()
        for operation in self._submits:
            if not operation.is_accepted or operation.observed is None:
                continue
            if operation.expected_version in taken:
                yield FoundViolation("two accepted submits of one version", operation)
            taken.add(operation.expected_version)
            led_to = operation.expected_version + operation.version_count
            if (operation.observed.version, operation.observed.mark) != (led_to, operation.mark):
                yield FoundViolation("an accepted submit that led elsewhere", operation)

    def _of_times(self) -> Iterator[FoundViolation]:
        """Yield answers older than a version known before they were asked for, or newer than any request can have
        made."""
        known = sorted((operation.ended_at, seen.version) for operation, seen in self._seen if operation.ended_at < inf)
        index, newest = 0, 0
        for operation, seen in self._seen:
            while index < len(known) and known[index][0] < operation.started_at:
                newest = max(newest, known[index][1])
                index += 1
            if seen.version < newest:
                yield FoundViolation("older than a state known before", operation)
            if seen.version > self._newest_by(operation.ended_at):
                yield FoundViolation("newer than any request can have made it", operation)

    def _newest_by(self, moment: float) -> int:
        """Return the latest version to which the submits sent by this moment, each at most once, can have led."""
        newest = 1
        for operation in sorted(self._submits, key=lambda submit: submit.expected_version):
            if operation.started_at < moment and not operation.is_refused and operation.expected_version <= newest:
                newest = max(newest, operation.expected_version + operation.version_count)
        return newest

    def _of_marks(self) -> Iterator[FoundViolation]:
        for operation, seen in self._seen:
            maker = self._by_mark.get(seen.mark or "")
            if maker is None:
                continue
            if maker.is_refused:
                yield FoundViolation("refused but carried out", operation)
            if not maker.expected_version < seen.version <= maker.expected_version + maker.version_count:
                yield FoundViolation("carried out at another version than expected", operation)

    def _of_refusals(self) -> Iterator[FoundViolation]:
        for operation, seen in self._seen:
            if (
                not operation.is_refused
                or seen.error != STALE_VERSION_CODE
                or seen.version != operation.expected_version
            ):
                continue
            if not seen.is_pending or not self._is_contended(operation):
                yield FoundViolation("refused without a competing request", operation)

    def _is_contended(self, refused: Operation) -> bool:
        return any(
            other is not refused
            and not other.is_refused
            and other.started_at < refused.ended_at
            and other.ended_at > refused.started_at
            and other.expected_version <= refused.expected_version < other.expected_version + other.version_count
            for other in self._submits
        )


@dataclass(slots=True)
class History:
    """The operations of several clients at once."""

    operations: list[Operation] = field(default_factory=list[Operation])
    _lock: Lock = field(default_factory=Lock)

    def record(self, request: Operation, send: Callable[[], Mapping[str, Any] | None]) -> Operation:
        """Send a request and record its answer; None is a lost answer. `request.started_at` is overwritten."""
        started_at = time.monotonic()
        answer = send()
        done = _add_answer(replace(request, started_at=started_at), answer, time.monotonic())
        with self._lock:
            self.operations.append(done)
        return done


def _add_answer(request: Operation, answer: Mapping[str, Any] | None, now: float) -> Operation:
    if answer is None or "version" not in answer:
        return replace(request, ended_at=inf)
    error = answer.get("error", {}).get("code")
    is_pending = "pending" in answer or "inDoubt" in answer
    context = answer["context"]
    content = repr((answer["state"], sorted(context.items())))
    observed = ObservedState(answer["version"], content, context.get("by"), error, is_pending)
    # The submit was accepted and its following steps run later or never; or it is unknown whether it was accepted.
    was_taken = error == "CHAIN_FAILED" or (is_pending and error in (None, "EXECUTOR_FAILED"))
    is_unknown = answer.get("error", {}).get("outcome") == "unknown"
    ended_at = inf if (was_taken or is_unknown) and request.kind == "submit" else now
    return replace(request, workflow_id=answer["workflowId"], observed=observed, ended_at=ended_at)
