"""Runs `main` in a new process until its first answer, with a module and an event as arguments."""

import sys
from importlib import import_module

from bench.inside.invocation import Context, Handler, fresh_event, peak_mb, read_result, report


def main() -> None:
    module, event = sys.argv[1:]
    handler: Handler = import_module(module).handler
    if "tools" not in read_result(handler(fresh_event(event), Context())):
        sys.exit("unexpected answer: it lists no tools")
    report({"peak_mb": peak_mb()})
