"""Times calls of a function that does nothing. `main` runs in a new process; only the function is not the product's
code."""

import statistics
import sys
import time

from bench.inside.invocation import report
from signpost.adapters.alarm import alarm
from signpost.adapters.clock import SystemClock
from signpost.calling.wire import call_message
from signpost.contract import FunctionCall
from signpost.errors import PermanentlyUnavailable
from signpost.model import MasterKeys, Principal
from signpost.schema.validation import Validators
from signpost.signing.capability_tokens import TokenMint, TokenVerifier, derive_executor_key, grant_of
from signpost.signing.key_ring import KeyRing
from signpost.toolkit import Function
from signpost.toolkit.context import ContextServices
from signpost.toolkit.function import ExecutorFunctions
from signpost.toolkit.harness import Harness
from signpost.toolkit.log import Log
from signpost.toolkit.secrets import Secrets

MASTER, ARN = "0" * 64, "arn:aws:lambda:us-east-1:000000000000:function:bench"
WARM_UP = 50
CALLS = 2000
REMAINING_MS = 29_000


class _NoSecrets:
    def read(self, secret: str) -> str:
        raise PermanentlyUnavailable(secret)


class _FixedMasterKeys:
    def __init__(self, keys: MasterKeys) -> None:
        self._keys = keys

    def read(self) -> MasterKeys:
        return self._keys

    def write(self, keys: MasterKeys) -> None:
        self._keys = keys


def main() -> None:
    clock = SystemClock()
    keys = KeyRing(store=_FixedMasterKeys(MasterKeys(derive_executor_key(MASTER, ARN))), clock=clock)
    harness = Harness(
        ExecutorFunctions({"bench": Function("bench", lambda: None)}),
        tokens=TokenVerifier(keys, clock=clock),
        clock=clock,
        validators=Validators(alarm),
        services=ContextServices(None, Secrets({}, _NoSecrets(), clock), Log("bench")),
    )
    now = clock.now()
    call = FunctionCall("c1", "bench", {"query": "bench"}, Principal("agent", "acme", "bench"), now + 3600)
    mint = TokenMint(KeyRing(store=_FixedMasterKeys(MasterKeys(MASTER)), clock=clock))
    event = call_message(call, mint.mint(grant_of(call, ARN, now + 3600)))
    times: list[float] = []
    for _ in range(WARM_UP + CALLS):
        started = time.process_time()
        answer = harness.handle(event, REMAINING_MS)
        times.append((time.process_time() - started) * 1000)
        if "result" not in answer:
            sys.exit(f"unexpected answer: {answer}")
    report({"noop_call_ms": statistics.median(times[WARM_UP:])})
