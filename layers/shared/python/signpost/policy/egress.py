"""Where the stack lets itself be sent by somebody who names a URL: public addresses.

Anything else would lend the caller our place in the network: instance metadata, neighbours, the machine itself. A
deployment names the hosts that are excepted; what gives credentials away is not, whoever names it. Addresses are judged
after the name was resolved, since a name is what its owner says it is at that moment; whoever connects has to connect
to the addresses that were judged.
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
FOR_NOBODY: Sequence[IPv4Network | IPv6Network] = (
    IPv4Network("169.254.0.0/16"),  # link-local: metadata and credentials of instances and containers, Lambda's runtime
    IPv6Network("fe80::/10"),  # link-local
    IPv6Network("fd00:ec2::/32"),  # metadata and credentials again
)
"""Where machines are told who they are. A name that a deployment allows may be made to lead there."""
NAT64 = IPv6Network("64:ff9b::/96")


@dataclass(frozen=True, slots=True)
class Destination:
    scheme: str
    host: str
    """A name in lowercase without its last dot, or an address in its one spelling."""
    port: int
    target: str
    """Path and query."""


@dataclass(frozen=True, slots=True)
class Place:
    """Of this machine, at which it is controlled."""

    host: str
    port: int

    def is_reached_by(self, destination: Destination, addresses: Sequence[str]) -> bool:
        if destination.port != self.port:
            return False
        if self.host in (destination.host, *addresses):
            return True
        return is_loopback(self.host) and any(map(is_loopback, (destination.host, *addresses)))


@dataclass(frozen=True, slots=True)
class EgressRules:
    allowed_hosts: frozenset[str]
    """Names and addresses that may be private, and need neither TLS nor a usual port."""
    own_places: Sequence[Place] = ()
    """Not even an allowed host leads to one of these."""
    needs_tls: bool = True
    ports: frozenset[int] | None = None
    """None if any will do."""

    def refusal(self, destination: Destination, addresses: Sequence[str]) -> str | None:
        """Why not one of these addresses of the destination may be connected to. None if all may."""
        host = destination.host
        if any(map(is_for_nobody, addresses)) or self._is_own(destination, addresses):
            return f"{host} is not a public address."
        if host in self.allowed_hosts:
            return None
        if self.needs_tls and destination.scheme != "https":
            return f"{host} may only be reached over https."
        if self.ports is not None and destination.port not in self.ports:
            return f"{host} may only be reached at port {' or '.join(map(str, sorted(self.ports)))}."
        return None if all(map(is_public, addresses)) else f"{host} is not a public address."

    def _is_own(self, destination: Destination, addresses: Sequence[str]) -> bool:
        return any(place.is_reached_by(destination, addresses) for place in self.own_places)


def egress_rules(
    allowed_hosts: Iterable[str],
    *,
    own_places: Iterable[str] = (),
    needs_tls: bool = True,
    ports: frozenset[int] | None = None,
) -> EgressRules:
    """`own_places` as variables of the environment have them: `127.0.0.1:9001`, or a URL. An empty one is none."""
    allowed = frozenset(_address_or_name(host.lower().removesuffix(".")) for host in allowed_hosts)
    places = tuple(_own_place(place) for place in own_places if place)
    return EgressRules(allowed, places, needs_tls, ports)


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


def is_for_nobody(address: str) -> bool:
    """Whether this address, or one that it carries, is where machines are told who they are."""
    try:
        found = ip_address(address)
    except ValueError:
        return False
    return any(
        one in network for one in (found, *_carried(found)) for network in FOR_NOBODY if network.version == one.version
    )


def is_loopback(host: str) -> bool:
    """Or any address of this machine, which is the same to whoever connects."""
    try:
        found = ip_address(host)
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
    return any(one.is_loopback or one.is_unspecified for one in (found, *_carried(found)))


def _carried(address: IPv4Address | IPv6Address) -> Sequence[IPv4Address]:
    """The addresses of IPv4 that one of IPv6 stands for, to those who translate."""
    if isinstance(address, IPv4Address):
        return ()
    translated = IPv4Address(int(address) & 0xFFFFFFFF) if address in NAT64 or int(address) < 1 << 32 else None
    return [one for one in (address.ipv4_mapped, address.sixtofour, translated) if one is not None]


def _own_place(named: str) -> Place:
    place = named.lower().partition("://")[2] or named.lower()
    host, _, port = place.partition("/")[0].rpartition(":")
    return Place(_address_or_name(host), int(port)) if port.isdecimal() and host else Place(_address_or_name(port), 80)


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
