"""Calls of a warm process: `main` of this in a new one, with a module, the number of tools it serves and two events."""

import statistics
import sys
import time
from importlib import import_module

from bench.inside.invocation import Context, Handler, fresh, report, result
from bench.tools import ARGUMENTS

WARM_UP = 30
CALLS = 300
SECONDS = 0.5
"""After which no more calls are begun, so that slow contenders do not make the run long."""
LEAST = 30


def laps(handler: Handler, event: str) -> list[float]:
    """Milliseconds of each call through the whole handler; reading the event is Lambda's, and not in them."""
    found: list[float] = []
    until = time.perf_counter() + SECONDS
    while len(found) < LEAST or (len(found) < CALLS and time.perf_counter() < until):
        given, context = fresh(event), Context()
        started = time.process_time()
        answer = handler(given, context)
        found.append((time.process_time() - started) * 1000)
        if answer["statusCode"] != 200:
            sys.exit(f"not an answer: {answer}")
    return found


def check(handler: Handler, count: int, listing: str, calling: str) -> None:
    listed = len(result(handler(fresh(listing), Context()))["tools"])
    if listed != count:
        sys.exit(f"lists {listed} tools, not {count}")
    said = result(handler(fresh(calling), Context()))["content"][0]["text"]
    if said != ARGUMENTS["query"]:
        sys.exit(f"the tool answers {said!r}")


def main() -> None:
    module, count, listing, calling = sys.argv[1:]
    handler: Handler = import_module(module).handler
    check(handler, int(count), listing, calling)
    for _ in range(WARM_UP):
        handler(fresh(listing), Context())
        handler(fresh(calling), Context())
    report({"list_ms": statistics.median(laps(handler, listing)), "call_ms": statistics.median(laps(handler, calling))})
