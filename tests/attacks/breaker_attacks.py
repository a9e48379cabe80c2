"""Attacks on breakers: functions that fail, and those that depend on them."""

import time
from collections.abc import Callable, Sequence

from signpost.adapters.dynamodb import DynamoBreakers
from signpost.contract import BreakerState, HostedFunction
from signpost.list_revisions import REVALIDATION_INTERVAL
from signpost.model import JsonObject
from tests.attacks.access_attacks import host_trials
from tests.attacks.attack import Attack, Outcome, Play, UnplayedError, held, succeeded
from tests.attacks.defence import APART, Defence, Removal
from tests.attacks.target import Target, read_result

_BREAKER = "layers/shared/python/signpost/calling/breaker.py"

BREAKER = Defence(
    name="breaker",
    title="the breaker",
    removals=(
        Removal(
            _BREAKER,
            "        if placement is None or not effective_setting(",
            "        if placement or not effective_setting(",
        ),
    ),
)
PROBE = Defence(
    name="probe",
    title="the probe after the pause of a breaker",
    removals=(
        Removal(
            _BREAKER,
            "    if opened.opened_until > now:\n        return opened.opened_until - now\n",
            "    if opened.opened_until:\n        return 300.0\n",
        ),
    ),
    group=APART,
)

FUNCTION, TOOL = "shaky::thing", "skill:thing"
FAILURES, PAUSE_MS = 3, 1_000
FAILS: JsonObject = {"error": "transient_error"}
OPEN = "Try again in"
LARGEST_COUNT = 2**64 - 1


def fail_repeatedly(target: Target, *next_entries: JsonObject, pause_ms: int = 60_000) -> None:
    """Host a function, and call it until its breaker opens."""
    target.set_settings(breaker_failures=FAILURES, breaker_pause_ms=pause_ms)
    target.host(HostedFunction(FUNCTION), shaky__thing=[*[FAILS] * FAILURES, *(next_entries or (FAILS,))])
    for _ in range(FAILURES):
        _call(target)


def _call(target: Target) -> str:
    return read_result(target.call_tool(TOOL))["content"][0]["text"]


def count_calls_after(target: Target, call: Callable[[], str]) -> Outcome:
    """Return the outcome of a call of a function whose breaker must be open."""
    before = len(target.list_calls(FUNCTION))
    text = call()
    if len(target.list_calls(FUNCTION)) > before:
        return succeeded(f"the function was called once more: {text}")
    if before != FAILURES:
        raise UnplayedError(f"the function was called {before} times before")
    return held(text)


def call_after_failures(target: Target) -> Outcome:
    fail_repeatedly(target)
    return count_calls_after(target, lambda: _call(target))


def call_through_dependent(target: Target) -> Outcome:
    """Call a function whose breaker is open through another one, which works."""
    host_trials(target)
    fail_repeatedly(target)
    call: JsonObject = {"function": FUNCTION}
    return count_calls_after(target, lambda: read_result(target.call_tool("skill:call", call))["content"][0]["text"])


def keep_breaker_open(target: Target) -> Outcome:
    """Let a function fail until its breaker opens, so that it stays refused although it works again."""
    fail_repeatedly(target, {"returns": "works again"}, pause_ms=PAUSE_MS)
    if OPEN not in (text := _call(target)):
        raise UnplayedError(f"the breaker is not open: {text}")
    time.sleep(PAUSE_MS / 1000)
    text = _call(target)
    if text == "works again":
        return held("after the pause the function was called, and answered")
    if OPEN not in text:
        raise UnplayedError(text)
    return succeeded(f"after the pause the function is still refused: {text}")


def fail_with_count(count: int, *, is_attack: bool) -> Play:
    """Return an attack by a breaker that has counted so many failures, and fails again."""

    def play(target: Target) -> Outcome:
        fail_repeatedly(target)
        breakers = DynamoBreakers(target.on.dynamodb, target.stack.deployed.outputs["RegistryTableName"])
        (caller,) = breakers.of_tenant(target.tenant)[FUNCTION].by_principal
        breakers.open(target.tenant, FUNCTION, BreakerState(time.time() - 1, count, "exception"), caller)
        time.sleep(REVALIDATION_INTERVAL)
        texts = [_call(target), _call(target)]
        stored = breakers.of_tenant(target.tenant)[FUNCTION].by_principal[caller]
        refused_again = len(target.list_calls(FUNCTION)) == FAILURES + 1 and stored.failures == count + 1
        if not refused_again:
            return succeeded(f"the breaker is {stored}: {texts}") if is_attack else held(f"{stored}: {texts}")
        observation = f"after {stored.failures} failures the breaker refuses: {texts[1]}"
        return held(observation) if is_attack else succeeded(observation)

    return play


BREAKER_ATTACKS: Sequence[Attack] = (
    Attack("A16.1", "Keep calling a function that fails", call_after_failures, (BREAKER,)),
    Attack("A16.2", "Keep a function switched off after it has recovered", keep_breaker_open, (PROBE,)),
    Attack("A16.3", "Reach a failing function through one that depends on it", call_through_dependent, (BREAKER,)),
    Attack(
        "A16.4",
        "Overflow the counter of failures",
        fail_with_count(LARGEST_COUNT, is_attack=True),
        twin=fail_with_count(FAILURES, is_attack=False),
    ),
)
