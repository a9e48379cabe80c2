"""A network for tests: host names resolve as a test says, and every connection ends at the test's own server."""

import socket
import ssl
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from signpost.adapters.egress import GuardedWeb
from signpost.policy.egress import build_egress_rules

PUBLIC_ADDRESS = "93.184.216.34"


@dataclass
class Network:
    """A network in which the test resolves names, one answer after the other, and every connection ends at its own
    server."""

    port: int
    lookup: Callable[[str], Sequence[str]] = lambda _: ["127.0.0.1"]
    resolved_names: list[str] = field(default_factory=list[str])
    dialled_addresses: list[str] = field(default_factory=list[str])
    refusing_addresses: frozenset[str] = frozenset()

    def resolve(self, host: str, _port: int) -> Sequence[str]:
        self.resolved_names.append(host)
        return self.lookup(host)

    def dial(self, address: str, _port: int, seconds: float) -> socket.socket:
        self.dialled_addresses.append(address)
        if address in self.refusing_addresses:
            raise ConnectionRefusedError
        return socket.create_connection(("127.0.0.1", self.port), seconds)

    def build_web(self, *allowed: str, tls: Callable[[], ssl.SSLContext] = ssl.create_default_context) -> GuardedWeb:
        return GuardedWeb(build_egress_rules(allowed), resolve=self.resolve, dial=self.dial, tls=tls)
