"""Where the stack lets itself be sent by somebody who names a URL: public addresses, over TLS.

Anything else would lend the caller our place in the network: instance metadata, neighbours, the machine itself. A
deployment names the hosts that are excepted. Addresses are judged after the name was resolved, since a name is what its
owner says it is at that moment; whoever connects has to connect to the addresses that were judged.
"""

import re
from collections.abc import Iterable, Sequence
from ipaddress import AddressValueError, IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

from signpost.records import dataclass

DEFAULT_PORTS = {"http": 80, "https": 443}
VISIBLE = re.compile(r"[!-\[\]-~]+")
"""ASCII without spaces, control characters and the backslash, about which readers of URLs disagree."""
URL = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<place>[^/?#]*)(?P<target>[^#]*)(?P<fragment>#.*)?")
LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
NUMERIC = re.compile(r"[0-9]+|0x[0-9a-f]*")
"""Programs take a name that ends so for a number, and not all for the same one."""
PORT = re.compile(r"[0-9]{1,5}")
LONGEST_HOST = 253

GLOBAL_V6 = IPv6Network("2000::/3")
"""All that is assigned to anybody. Outside lie loopback, link-local, unique local and multicast addresses, and what
carries an address of IPv4: mapped, compatible, NAT64."""
NOT_PUBLIC: Sequence[IPv4Network | IPv6Network] = (
    IPv4Network("100.64.0.0/10"),  # shared by the customers of a provider
    IPv4Network("192.0.0.0/24"),  # protocol assignments
    IPv4Network("192.88.99.0/24"),  # relays to 6to4
    IPv4Network("168.63.129.16/32"),  # the inside of another cloud
    IPv6Network("2001::/23"),  # protocol assignments; Teredo, which carries an address of IPv4
    IPv6Network("2002::/16"),  # 6to4, likewise
    IPv6Network("2001:db8::/32"),
    IPv6Network("3fff::/20"),
)


@dataclass(frozen=True, slots=True)
class Destination:
    scheme: str
    host: str
    """A name in lowercase without its last dot, or an address in its one spelling."""
    port: int
    target: str
    """Path and query."""


@dataclass(frozen=True, slots=True)
class EgressRules:
    allowed_hosts: frozenset[str]
    """Names and addresses that may be private, and need no TLS."""

    def refusal(self, destination: Destination, addresses: Sequence[str]) -> str | None:
        """Why not one of these addresses of the destination may be connected to. None if all may."""
        host = destination.host
        if host in self.allowed_hosts:
            return None
        if destination.scheme != "https":
            return f"{host} may only be reached over https."
        return None if all(map(is_public, addresses)) else f"{host} is not a public address."


def egress_rules(allowed_hosts: Iterable[str]) -> EgressRules:
    return EgressRules(frozenset(_address_or_name(host.lower().removesuffix(".")) for host in allowed_hosts))


def destination_of(url: str) -> Destination | str:
    """Where a URL leads, or a sentence that says why nobody can tell. There is one reading of what is accepted."""
    found = URL.fullmatch(url) if VISIBLE.fullmatch(url) else None
    if found is None:
        return "This is no URL: it has a scheme and a host, and visible ASCII characters without a backslash only."
    scheme = found["scheme"].lower()
    if scheme not in DEFAULT_PORTS:
        return "The URL must begin with https:// (or http://, for hosts that the deployment allows)."
    if found["fragment"] is not None:
        return "The URL must not have a fragment (#…)."
    place = _place(found["place"].lower(), DEFAULT_PORTS[scheme])
    if isinstance(place, str):
        return place
    host, port = place
    target = found["target"]
    return Destination(scheme, host, port, target if target.startswith("/") else f"/{target}")


def is_public(address: str) -> bool:
    """Whether this address leads out, to where anybody else could go as well."""
    try:
        found = ip_address(address)
    except ValueError:
        return False
    if isinstance(found, IPv6Address) and found not in GLOBAL_V6:
        return False
    if any(found in network for network in NOT_PUBLIC if network.version == found.version):
        return False
    return found.is_global and not found.is_multicast


def _place(place: str, default_port: int) -> tuple[str, int] | str:
    if "@" in place or "%" in place:
        return "The URL must not have a user, a password or an encoded host."
    if place.startswith("["):
        host, bracket, rest = place[1:].partition("]")
        known = _ipv6(host) if bracket else None
        colon, port = rest[:1], rest[1:]
        if colon not in ("", ":"):
            known = None
    else:
        host, colon, port = place.partition(":")
        known = _name(host.removesuffix("."))
    if known is None:
        return "The host of the URL is neither a name nor an address in its usual form."
    if not colon:
        return known, default_port
    return (known, int(port)) if PORT.fullmatch(port) and 0 < int(port) < 65_536 else "The port of the URL is none."


def _name(host: str) -> str | None:
    labels = host.split(".")
    if len(host) > LONGEST_HOST or not all(LABEL.fullmatch(label) for label in labels):
        return None
    return _ipv4(host) if NUMERIC.fullmatch(labels[-1]) else host


def _ipv4(host: str) -> str | None:
    try:
        return str(IPv4Address(host))  # four decimal numbers without leading zeros, and nothing else
    except AddressValueError:
        return None


def _ipv6(host: str) -> str | None:
    try:
        return str(IPv6Address(host))
    except AddressValueError:
        return None


def _address_or_name(host: str) -> str:
    return _ipv6(host.strip("[]")) or host
