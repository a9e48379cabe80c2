"""Calls of a function that does nothing: `main` of this in a new process. All but the function is the product's."""

import statistics
import sys
import time

from bench.inside.invocation import report
from signpost.adapters.clock import SystemClock
from signpost.adapters.memory import MemoryMasterKeys
from signpost.contract import FunctionCall
from signpost.errors import Withheld
from signpost.execution.wire import call_message
from signpost.model import MasterKeys, Principal
from signpost.policy.capabilities import TokenMint, TokenVerifier, capability_of, executor_key
from signpost.policy.key_ring import KeyRing
from signpost.schema.validation import Validators
from signpost.toolkit import Function
from signpost.toolkit.context import World
from signpost.toolkit.function import Hosting
from signpost.toolkit.harness import Harness
from signpost.toolkit.log import Log
from signpost.toolkit.secrets import Secrets

MASTER, ARN = "0" * 64, "arn:aws:lambda:us-east-1:000000000000:function:bench"
WARM_UP = 50
CALLS = 2000
REMAINING_MS = 29_000


class _NoSecrets:
    def read(self, secret: str) -> str:
        raise Withheld(secret)


def main() -> None:
    clock = SystemClock()
    keys = KeyRing(store=MemoryMasterKeys(MasterKeys(executor_key(MASTER, ARN))), clock=clock)
    harness = Harness(
        Hosting({"bench": Function("bench", lambda: None)}),
        tokens=TokenVerifier(keys, clock=clock),
        clock=clock,
        validators=Validators(),
        world=World(None, Secrets({}, _NoSecrets(), clock), Log("bench")),
    )
    now = clock.now()
    call = FunctionCall("c1", "bench", {"query": "bench"}, Principal("agent", "acme", "bench"), now + 3600)
    mint = TokenMint(KeyRing(store=MemoryMasterKeys(MasterKeys(MASTER)), clock=clock))
    event = call_message(call, mint.mint(capability_of(call, ARN, now + 3600)))
    found: list[float] = []
    for _ in range(WARM_UP + CALLS):
        started = time.process_time()
        answer = harness.handle(event, REMAINING_MS)
        found.append((time.process_time() - started) * 1000)
        if "result" not in answer:
            sys.exit(f"not an answer: {answer}")
    report({"noop_call_ms": statistics.median(found[WARM_UP:])})
