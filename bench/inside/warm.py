"""Times calls of a warm process. `main` runs in a new process, with a module, the number of its tools and events."""

import statistics
import sys
import time
from importlib import import_module

from bench.inside.invocation import Context, Handler, fresh_event, read_result, report
from bench.tools import ARGUMENTS

WARM_UP = 30
CALLS = 300
SECONDS = 0.5
"""The time after which no more calls start, so that slow contenders do not make the run long."""
MIN_CALLS = 30


def time_calls(handler: Handler, event: str) -> list[float]:
    """Return the milliseconds of each call of the whole handler. Reading the event is not counted, because Lambda
    does that."""
    times: list[float] = []
    until = time.perf_counter() + SECONDS
    while len(times) < MIN_CALLS or (len(times) < CALLS and time.perf_counter() < until):
        fresh, context = fresh_event(event), Context()
        started = time.process_time()
        answer = handler(fresh, context)
        times.append((time.process_time() - started) * 1000)
        if answer["statusCode"] != 200:
            sys.exit(f"unexpected answer: {answer}")
    return times


def check(handler: Handler, count: int, listing: str, calling: str) -> None:
    """End the process with an error if the handler does not list and call its tools correctly."""
    listed = len(read_result(handler(fresh_event(listing), Context()))["tools"])
    if listed != count:
        sys.exit(f"the server listed {listed} tools instead of {count}")
    text = read_result(handler(fresh_event(calling), Context()))["content"][0]["text"]
    if text != ARGUMENTS["query"]:
        sys.exit(f"the tool returned {text!r} instead of its query")


def main() -> None:
    module, count, listing, calling = sys.argv[1:]
    handler: Handler = import_module(module).handler
    check(handler, int(count), listing, calling)
    for _ in range(WARM_UP):
        handler(fresh_event(listing), Context())
        handler(fresh_event(calling), Context())
    list_ms, call_ms = (statistics.median(time_calls(handler, event)) for event in (listing, calling))
    report({"list_ms": list_ms, "call_ms": call_ms})
