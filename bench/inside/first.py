"""The first answer of a process: `main` of this in a new one, with a module and an event as arguments."""

import sys
from importlib import import_module

from bench.inside.invocation import Context, Handler, fresh, peak_mb, report, result


def main() -> None:
    module, event = sys.argv[1:]
    handler: Handler = import_module(module).handler
    if "tools" not in result(handler(fresh(event), Context())):
        sys.exit("the answer lists no tools")
    report({"peak_mb": peak_mb()})
