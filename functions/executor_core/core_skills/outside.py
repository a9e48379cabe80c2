"""Web access of the core functions: the places that they may reach, and their errors."""

import ssl
from collections.abc import Mapping

from signpost.adapters.egress import Dial, GuardedWeb, Resolve, own_addresses
from signpost.contract import FailureClass
from signpost.policy.egress import build_egress_rules
from signpost.toolkit import ToolError
from signpost.web import WebFailure, WebFailureCode

PORTS = frozenset({80, 443})
"""Ports of web pages. At any other port of a public address, another protocol might take an HTTP request for its
own."""
FAILURE_KINDS: Mapping[WebFailureCode, FailureClass] = {
    "timed_out": "timeout",
    "unreachable": "connection_error",
    "broken_off": "connection_error",
}
"""The classes of failures that a retry may cure. All others are permanent errors."""
ADVICE: Mapping[WebFailureCode, str] = {
    "forbidden": "Only public hosts can be reached, and those that the parameter AllowedPrivateHosts names.",
    "unresolvable": "Check the spelling of the host.",
    "unreachable": "Try again later.",
    "timed_out": "Try again later.",
    "broken_off": "Try again, or ask for less by max_bytes.",
}


def build_guarded_web(environment: Mapping[str, str], *, resolve: Resolve, dial: Dial) -> GuardedWeb:
    hosts = (host.strip() for host in environment.get("ALLOWED_PRIVATE_HOSTS", "").split(","))
    own = own_addresses(environment)
    rules = build_egress_rules(filter(None, hosts), own_addresses=own, needs_tls=False, ports=PORTS)
    return GuardedWeb(rules, resolve=resolve, dial=dial, tls=ssl.create_default_context)


def unreached_error(failure: WebFailure, introduction: str = "") -> ToolError:
    """Build the error of a place that was not reached. It reports that nothing was done, because these requests change
    nothing there."""
    sentences = (introduction, failure.message, ADVICE.get(failure.code, ""))
    return ToolError(" ".join(filter(None, sentences)), FAILURE_KINDS.get(failure.code, "permanent_error"))
