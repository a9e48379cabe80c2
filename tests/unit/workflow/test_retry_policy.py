"""How often a step is tried and when, as its author's `reliability` says it."""

from collections.abc import Sequence
from typing import Any

import pytest

from signpost.workflow.definition import ExecutorSpec
from signpost.workflow.engine.steps import ExecutorFailure
from signpost.workflow.retry_policy import (
    LONGEST_PAUSE_MS,
    MOST_ATTEMPTS,
    RETRIED_CLASSES,
    AttemptPosition,
    NextAttempt,
    RetryPolicy,
    retry_policy_of,
)

PAY = ExecutorSpec("function", {"kind": "function", "function": "bank::pay"})
TRANSIENT = ExecutorFailure("transient_error", "Not now.")


def policy(executor: ExecutorSpec = PAY, **reliability: Any) -> RetryPolicy:
    return retry_policy_of(executor, reliability)


def policy_with_retry(**retry: Any) -> RetryPolicy:
    return policy(retry=retry)


def pauses(one: RetryPolicy, failed: ExecutorFailure = TRANSIENT) -> Sequence[float]:
    """Between all the tries of the first candidate."""
    found: list[float] = []
    tries = AttemptPosition()
    while (again := one.find_next_attempt(tries, failed)) is not None and again.position.candidate == 0:
        found.append(again.pause)
        tries = again.position
    return found


def test_a_step_without_a_policy_has_one_attempt() -> None:
    one = policy()
    assert one.candidates == (PAY,)
    assert (one.timeout, one.attempts) == (None, 1)
    assert one.find_next_attempt(AttemptPosition(), TRANSIENT) is None


def test_a_step_has_the_configured_number_of_attempts() -> None:
    assert len(pauses(policy_with_retry(maxAttempts=4))) == 3
    assert len(pauses(policy_with_retry(maxAttempts=1))) == 0
    assert len(pauses(policy_with_retry())) == 0
    assert len(pauses(policy_with_retry(maxAttempts=10**9))) == MOST_ATTEMPTS - 1


@pytest.mark.parametrize(
    ("retry", "expected"),
    [
        ({"backoff": "none", "initialDelayMs": 500}, [0, 0, 0]),
        ({"initialDelayMs": 500}, [0, 0, 0]),
        ({"backoff": "fixed", "initialDelayMs": 500}, [0.5, 0.5, 0.5]),
        ({"backoff": "exponential", "initialDelayMs": 500}, [0.5, 1, 2]),
        ({"backoff": "exponential", "initialDelayMs": 500, "maxDelayMs": 1_200}, [0.5, 1, 1.2]),
        ({"backoff": "fixed", "initialDelayMs": 500, "maxDelayMs": 100}, [0.1, 0.1, 0.1]),
        ({"backoff": "exponential", "initialDelayMs": 500, "maxDelayMs": 0}, [0, 0, 0]),
        ({"backoff": "exponential"}, [0, 0, 0]),
        ({"backoff": "sometimes", "initialDelayMs": 500}, [0, 0, 0]),
    ],
)
def test_attempts_are_separated_by_the_configured_backoff(retry: Any, expected: Sequence[float]) -> None:
    assert pauses(policy_with_retry(maxAttempts=4, **retry)) == expected


def test_a_pause_that_doubles_a_hundred_times_is_bounded() -> None:
    found = pauses(policy_with_retry(maxAttempts=100, backoff="exponential", initialDelayMs=LONGEST_PAUSE_MS))
    assert found[-1] < 10**13
    assert found == sorted(found)


def test_a_failure_can_lengthen_the_next_pause_but_not_shorten_it() -> None:
    one = policy_with_retry(maxAttempts=2, backoff="fixed", initialDelayMs=2_000, maxDelayMs=2_000)
    for asked, expected in ((None, 2.0), (500, 2.0), (7_000, 7.0)):
        again = one.find_next_attempt(
            AttemptPosition(), ExecutorFailure("rate_limited", "Later.", retry_after_ms=asked)
        )
        assert again == NextAttempt(AttemptPosition(0, 2), expected)


def test_only_the_retried_failure_classes_have_a_next_attempt() -> None:
    one = policy_with_retry(maxAttempts=2)
    assert {
        kind
        for kind in [*RETRIED_CLASSES, "permanent_error", "odd"]
        if one.find_next_attempt(AttemptPosition(), ExecutorFailure(kind, "no"))
    } == RETRIED_CLASSES


def test_an_author_can_choose_the_retried_classes_except_permanent_errors() -> None:
    one = policy_with_retry(maxAttempts=2, retryOn=["odd", "permanent_error"])
    assert one.find_next_attempt(AttemptPosition(), ExecutorFailure("odd", "no")) == NextAttempt(AttemptPosition(0, 2))
    assert one.find_next_attempt(AttemptPosition(), ExecutorFailure("permanent_error", "no")) is None
    assert one.find_next_attempt(AttemptPosition(), TRANSIENT) is None
    assert policy_with_retry(maxAttempts=2, retryOn=[]).find_next_attempt(AttemptPosition(), TRANSIENT) is None


FALLBACK = {"executors": [{"kind": "function", "function": "post::pay"}, {"kind": "noop"}]}


def test_each_fallback_has_the_same_number_of_attempts() -> None:
    one = policy(retry={"maxAttempts": 2, "backoff": "fixed", "initialDelayMs": 100}, fallback=FALLBACK)
    assert [candidate.kind for candidate in one.candidates] == ["function", "function", "noop"]
    assert one.find_next_attempt(AttemptPosition(0, 1), TRANSIENT) == NextAttempt(AttemptPosition(0, 2), 0.1)
    assert one.find_next_attempt(AttemptPosition(0, 2), TRANSIENT) == NextAttempt(AttemptPosition(1, 1))
    assert one.find_next_attempt(AttemptPosition(1, 1), TRANSIENT) == NextAttempt(AttemptPosition(1, 2), 0.1)
    assert one.find_next_attempt(AttemptPosition(1, 2), TRANSIENT) == NextAttempt(AttemptPosition(2, 1))
    assert one.find_next_attempt(AttemptPosition(2, 2), TRANSIENT) is None


def test_a_permanent_error_leads_to_the_next_fallback_at_once() -> None:
    one = policy(retry={"maxAttempts": 5}, fallback=FALLBACK)
    assert one.find_next_attempt(AttemptPosition(), ExecutorFailure("permanent_error", "no")) == NextAttempt(
        AttemptPosition(1)
    )


def test_without_consent_an_unknown_outcome_has_no_next_attempt() -> None:
    unknown = ExecutorFailure("timeout", "Nobody knows.", "unknown")
    assert policy(fallback=FALLBACK).find_next_attempt(AttemptPosition(), unknown) is None
    assert policy(fallback=FALLBACK).find_next_attempt(
        AttemptPosition(), ExecutorFailure("timeout", "It did not.")
    ) == NextAttempt(AttemptPosition(1))


def test_a_retry_is_consent_only_for_the_classes_that_it_names() -> None:
    def unknown(kind: str) -> ExecutorFailure:
        return ExecutorFailure(kind, "Nobody knows.", "unknown")

    default, named = policy_with_retry(maxAttempts=2), policy_with_retry(maxAttempts=2, retryOn=["transient_error"])
    assert [default.may_repeat(0, kind) for kind in ("timeout", "transient_error", "permanent_error")] == [
        True,
        True,
        False,
    ]
    assert [named.may_repeat(0, kind) for kind in ("timeout", "transient_error")] == [False, True]
    assert default.find_next_attempt(AttemptPosition(), unknown("timeout")) == NextAttempt(AttemptPosition(0, 2))
    assert named.find_next_attempt(AttemptPosition(), unknown("timeout")) is None
    assert named.find_next_attempt(AttemptPosition(), unknown("transient_error")) == NextAttempt(AttemptPosition(0, 2))


def test_a_retry_of_one_attempt_is_consent_as_well() -> None:
    assert policy_with_retry(maxAttempts=1).may_repeat(0)
    assert policy_with_retry().may_repeat(0)
    assert not policy().may_repeat(0)
    assert not policy(timeoutMs=100, fallback=FALLBACK).may_repeat(0)


def test_an_idempotent_executor_may_be_repeated_after_every_outcome() -> None:
    safe = ExecutorSpec("function", {**PAY.settings, "idempotent": True})
    one = policy(safe, fallback=FALLBACK)
    assert one.may_repeat(0, "permanent_error")
    assert not one.may_repeat(1)  # each speaks for itself
    assert one.find_next_attempt(
        AttemptPosition(), ExecutorFailure("timeout", "Nobody knows.", "unknown")
    ) == NextAttempt(AttemptPosition(1))
    assert one.find_next_attempt(AttemptPosition(1), ExecutorFailure("timeout", "Nobody knows.", "unknown")) is None
    for odd in ("true", 1, None, [True]):
        assert not policy(ExecutorSpec("function", {"idempotent": odd})).may_repeat(0)


@pytest.mark.parametrize("timeout", ["100", None, True, -5, 0, [], {}])
def test_an_invalid_timeout_is_ignored(timeout: Any) -> None:
    assert policy(timeoutMs=timeout).timeout is None


def test_a_timeout_is_given_in_milliseconds() -> None:
    assert policy(timeoutMs=1_500).timeout == 1.5
    assert policy(timeoutMs=0.5).timeout == 0.0005


@pytest.mark.parametrize("retry", [None, 3, "twice", [], [{"maxAttempts": 3}], True])
def test_an_invalid_retry_is_no_consent(retry: Any) -> None:
    one = policy(retry=retry)
    assert (one.attempts, one.has_retry) == (1, False)


@pytest.mark.parametrize("attempts", ["3", 2.5, True, 0, -1, None])
def test_an_invalid_number_of_attempts_is_one(attempts: Any) -> None:
    assert policy_with_retry(maxAttempts=attempts).attempts == 1


@pytest.mark.parametrize("fallback", [None, [], "x", {"executors": None}, {"executors": "x"}, {"executors": {"a": 1}}])
def test_invalid_fallbacks_are_ignored(fallback: Any) -> None:
    assert policy(fallback=fallback).candidates == (PAY,)


def test_invalid_parts_of_a_policy_are_ignored() -> None:
    executors: list[Any] = [7, {"kind": 3}, {}, {"kind": "noop", "x": 1}]
    assert policy(fallback={"executors": executors}).candidates == (PAY, ExecutorSpec("noop", executors[3]))
    assert policy_with_retry(retryOn="timeout").retried_classes == RETRIED_CLASSES
    assert policy_with_retry(retryOn=[7, None, "odd"]).retried_classes == {"odd"}
    assert pauses(policy_with_retry(maxAttempts=2, backoff="fixed", initialDelayMs="9")) == [0]
    assert pauses(policy_with_retry(maxAttempts=2, backoff="fixed", initialDelayMs=10**15)) == [LONGEST_PAUSE_MS / 1000]
