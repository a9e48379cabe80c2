"""`signpost breakers`: lists the functions that are not called after failures, and lets them be called again."""

import argparse
import json
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from signpost.cli import stack
from signpost.cli.settings import parse_function_id

if TYPE_CHECKING:
    from signpost.cli import Commands
    from signpost.contract import BreakerState


def register(commands: "Commands") -> None:
    parser = commands.add_parser("breakers", help="list and reset the circuit breakers of functions")
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    listing = actions.add_parser("list", help="list the breakers of a tenant that are not closed")
    listing.set_defaults(handler=_list)
    resetting = actions.add_parser(
        "reset", help="let a function be called again by all callers (everywhere within two seconds)"
    )
    resetting.add_argument("function", type=parse_function_id, help="from `signpost breakers list`")
    resetting.set_defaults(handler=_reset)
    for action in actions.choices.values():
        stack.add_tenant_option(action)
        stack.add_option(action)


def _list(arguments: argparse.Namespace) -> int:
    now = time.time()
    with stack.open_adapters(arguments.stack) as adapters:
        by_function = adapters.breakers.of_tenant(arguments.tenant)
    for name, opened in sorted(by_function.items()):
        principals = sorted(opened.by_principal.values(), key=lambda breaker: breaker.subject or "")
        for breaker in [*filter(None, [opened.for_all]), *principals]:
            print(json.dumps(_row(name, breaker, now)))
    return 0


def _reset(arguments: argparse.Namespace) -> int:
    with stack.open_adapters(arguments.stack) as adapters:
        was_open = adapters.breakers.close(arguments.tenant, arguments.function)
    print(json.dumps({"function": arguments.function, "state": "closed", "was_open": was_open}))
    return 0


def _row(name: str, breaker: "BreakerState", now: float) -> dict[str, object]:
    probing = breaker.probing_until is not None and breaker.probing_until > now
    return {
        "function": name,
        "principal": breaker.subject,
        "state": "probing" if probing else "open",
        "failures": breaker.failures,
        "last_failure": breaker.last_failure,
        "until": datetime.fromtimestamp(breaker.opened_until, UTC).isoformat(timespec="seconds"),
    }
