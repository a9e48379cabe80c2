"""The way out of the core functions: which places they may reach, and what they say when they do not."""

import ssl
from collections.abc import Mapping

from signpost.adapters.egress import Dial, GuardedWeb, Resolve, own_places
from signpost.contract import FailureClass
from signpost.policy.egress import egress_rules
from signpost.toolkit import ToolError
from signpost.web import NotReached, NotReachedCode

PORTS = frozenset({80, 443})
"""Where pages are. At any other port of a public address something else may answer to what looks like a request."""
RESERVE = 0.5
"""Seconds of a call that are left to say what came of it."""
KINDS: Mapping[NotReachedCode, FailureClass] = {
    "timed_out": "timeout",
    "unreachable": "connection_error",
    "broken_off": "connection_error",
}
"""Whatever is not here will be the same the next time."""
ADVICE: Mapping[NotReachedCode, str] = {
    "forbidden": "Only public hosts are reached, and those that the parameter AllowedPrivateHosts names.",
    "unresolvable": "Check how it is spelled.",
    "unreachable": "Try again later.",
    "timed_out": "Try again later.",
    "broken_off": "Try again, or ask for less by max_bytes.",
}


def outside(environment: Mapping[str, str], *, resolve: Resolve, dial: Dial) -> GuardedWeb:
    named = (host.strip() for host in environment.get("ALLOWED_PRIVATE_HOSTS", "").split(","))
    rules = egress_rules(filter(None, named), own_places=own_places(environment), needs_tls=False, ports=PORTS)
    return GuardedWeb(rules, resolve=resolve, dial=dial, tls=ssl.create_default_context)


def not_reached(found: NotReached, before: str = "", *, counts: bool) -> ToolError:
    """Nothing was done: what is asked for outside changes nothing there. It counts where no caller could have named
    another place."""
    sentences = (before, found.message, ADVICE.get(found.code, ""))
    return ToolError(" ".join(filter(None, sentences)), KINDS.get(found.code, "permanent_error"), counts=counts)
