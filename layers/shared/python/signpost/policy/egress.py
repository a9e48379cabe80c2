"""The rules for outgoing requests to URLs that callers name: public addresses only.

Any other address would lend the caller the stack's place in the network: instance metadata, neighbours, the machine
itself. A deployment lists the hosts that are exempt; addresses that give credentials away are never exempt. Addresses
are judged after the name was resolved, since its owner can change them at any moment; the client must then connect to
the addresses that were judged.
"""

import re
from collections.abc import Iterable, Sequence
from ipaddress import AddressValueError, IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

from signpost.records import dataclass

DEFAULT_PORTS = {"http": 80, "https": 443}
VISIBLE = re.compile(r"[!-\[\]-~]+")
"""Visible ASCII without spaces, control characters and the backslash, about which URL parsers disagree."""
URL = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<authority>[^/?#]*)(?P<target>[^#]*)(?P<fragment>#.*)?")
LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
NUMERIC = re.compile(r"[0-9]+|0x[0-9a-f]*")
"""The last label of a host that programs parse as a number, and not all as the same one."""
PORT = re.compile(r"[0-9]{1,5}")
LONGEST_HOST = 253

GLOBAL_IPV6 = IPv6Network("2000::/3")
"""All assigned global addresses of IPv6. Outside it lie loopback, link-local, unique local and multicast addresses, and
those that embed an address of IPv4: mapped, compatible, NAT64."""
NON_PUBLIC_NETWORKS: Sequence[IPv4Network | IPv6Network] = (
    IPv4Network("100.64.0.0/10"),  # shared by the customers of a provider
    IPv4Network("192.0.0.0/24"),  # protocol assignments
    IPv4Network("192.88.99.0/24"),  # relays to 6to4
    IPv4Network("168.63.129.16/32"),  # the inside of another cloud
    IPv6Network("2001::/23"),  # protocol assignments; Teredo, which embeds an address of IPv4
    IPv6Network("2002::/16"),  # 6to4, likewise
    IPv6Network("2001:db8::/32"),
    IPv6Network("3fff::/20"),
)
FORBIDDEN_NETWORKS: Sequence[IPv4Network | IPv6Network] = (
    IPv4Network("169.254.0.0/16"),  # link-local: metadata and credentials of instances and containers, Lambda's runtime
    IPv6Network("fe80::/10"),  # link-local
    IPv6Network("fd00:ec2::/32"),  # metadata and credentials again
)
"""Networks at which machines get metadata and credentials. The name of an allowed host may be made to resolve to
them."""
NAT64 = IPv6Network("64:ff9b::/96")


@dataclass(frozen=True, slots=True)
class Destination:
    scheme: str
    host: str
    """A name in lowercase without its last dot, or an address in its canonical form."""
    port: int
    target: str
    """The path and the query."""


@dataclass(frozen=True, slots=True)
class Address:
    """An address of this machine at which it is controlled."""

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
    """Names and addresses that may be private, and need neither TLS nor a permitted port."""
    allowed_host_ports: frozenset[tuple[str, int]] = frozenset()
    """Likewise, each at one port only."""
    own_addresses: Sequence[Address] = ()
    """Addresses that not even an allowed host may resolve to."""
    needs_tls: bool = True
    ports: frozenset[int] | None = None
    """The permitted ports; None permits all."""

    def refusal(self, destination: Destination, addresses: Sequence[str]) -> str | None:
        """Why none of these addresses of the destination may be connected to; None if all may be."""
        host = destination.host
        if any(map(is_forbidden, addresses)) or self._is_own(destination, addresses):
            return f"{host} is not a public address."
        if host in self.allowed_hosts or (host, destination.port) in self.allowed_host_ports:
            return None
        if self.needs_tls and destination.scheme != "https":
            return f"{host} may only be reached over https."
        if self.ports is not None and destination.port not in self.ports:
            return f"{host} may only be reached at port {' or '.join(map(str, sorted(self.ports)))}."
        return None if all(map(is_public, addresses)) else f"{host} is not a public address."

    def _is_own(self, destination: Destination, addresses: Sequence[str]) -> bool:
        return any(address.is_reached_by(destination, addresses) for address in self.own_addresses)


def build_egress_rules(
    allowed_hosts: Iterable[str],
    *,
    own_addresses: Iterable[str] = (),
    needs_tls: bool = True,
    ports: frozenset[int] | None = None,
) -> EgressRules:
    """Builds the rules. `allowed_hosts` are hosts, or hosts with a port: `127.0.0.1:9000`. `own_addresses` are written
    as in environment variables: `127.0.0.1:9001`, or a URL. An empty one is ignored."""
    entries = [_split_port(entry.lower()) for entry in allowed_hosts]
    return EgressRules(
        allowed_hosts=frozenset(host for host, port in entries if port is None),
        allowed_host_ports=frozenset((host, port) for host, port in entries if port is not None),
        own_addresses=tuple(_parse_own_address(address) for address in own_addresses if address),
        needs_tls=needs_tls,
        ports=ports,
    )


def parse_destination(url: str) -> Destination | str:
    """Parses a URL strictly, or returns a sentence that says why it is refused. An accepted URL has only one
    reading."""
    parts = URL.fullmatch(url) if VISIBLE.fullmatch(url) else None
    if parts is None:
        return "This is not a URL: a URL has a scheme and a host, and only visible ASCII characters, without backslash."
    scheme = parts["scheme"].lower()
    if scheme not in DEFAULT_PORTS:
        return "The URL must begin with https:// (or http://, for hosts that the deployment allows)."
    if parts["fragment"] is not None:
        return "The URL must not have a fragment (#…)."
    host_and_port = _parse_host_and_port(parts["authority"].lower(), DEFAULT_PORTS[scheme])
    if isinstance(host_and_port, str):
        return host_and_port
    host, port = host_and_port
    target = parts["target"]
    return Destination(scheme, host, port, target if target.startswith("/") else f"/{target}")


def is_public(address: str) -> bool:
    """Whether the address is a public one, which any machine on the internet could reach as well."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return False
    if isinstance(parsed, IPv6Address) and parsed not in GLOBAL_IPV6:
        return False
    if any(parsed in network for network in NON_PUBLIC_NETWORKS if network.version == parsed.version):
        return False
    return parsed.is_global and not parsed.is_multicast


def is_forbidden(address: str) -> bool:
    """Whether the address, or an address of IPv4 embedded in it, lies in a forbidden network."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return False
    return any(
        candidate in network
        for candidate in (parsed, *_embedded_ipv4(parsed))
        for network in FORBIDDEN_NETWORKS
        if network.version == candidate.version
    )


def is_loopback(host: str) -> bool:
    """Whether the host is a loopback or unspecified address; a client reaches this machine by either."""
    try:
        parsed = ip_address(host)
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
    return any(address.is_loopback or address.is_unspecified for address in (parsed, *_embedded_ipv4(parsed)))


def _embedded_ipv4(address: IPv4Address | IPv6Address) -> Sequence[IPv4Address]:
    """The addresses of IPv4 that translators read from an address of IPv6."""
    if isinstance(address, IPv4Address):
        return ()
    translated = IPv4Address(int(address) & 0xFFFFFFFF) if address in NAT64 or int(address) < 1 << 32 else None
    embedded = (address.ipv4_mapped, address.sixtofour, translated)
    return [ipv4 for ipv4 in embedded if ipv4 is not None]


def _split_port(entry: str) -> tuple[str, int | None]:
    """Split an allowed host from its port. An address of IPv6 has its port behind brackets."""
    host, colon, port = entry.rpartition(":")
    has_port = colon and port.isdecimal() and port.isascii() and (":" not in host or host.endswith("]"))
    name = host if has_port else entry
    return _normalize_host(name.removesuffix(".")), int(port) if has_port else None


def _parse_own_address(text: str) -> Address:
    address = text.lower().partition("://")[2] or text.lower()
    host, _, port = address.partition("/")[0].rpartition(":")
    return (
        Address(_normalize_host(host), int(port)) if port.isdecimal() and host else Address(_normalize_host(port), 80)
    )


def _parse_host_and_port(authority: str, default_port: int) -> tuple[str, int] | str:
    if "@" in authority or "%" in authority:
        return "The URL must not have a user, a password or an encoded host."
    if authority.startswith("["):
        host, bracket, rest = authority[1:].partition("]")
        normal_host = _normalize_ipv6(host) if bracket else None
        colon, port = rest[:1], rest[1:]
        if colon not in ("", ":"):
            normal_host = None
    else:
        host, colon, port = authority.partition(":")
        normal_host = _normalize_name(host.removesuffix("."))
    if normal_host is None:
        return "The host of the URL must be a name, or an address in its usual form."
    if not colon:
        return normal_host, default_port
    is_valid = PORT.fullmatch(port) and 0 < int(port) < 65_536
    return (normal_host, int(port)) if is_valid else "The port of the URL must be from 1 to 65535."


def _normalize_name(host: str) -> str | None:
    labels = host.split(".")
    if len(host) > LONGEST_HOST or not all(LABEL.fullmatch(label) for label in labels):
        return None
    return _normalize_ipv4(host) if NUMERIC.fullmatch(labels[-1]) else host


def _normalize_ipv4(host: str) -> str | None:
    try:
        return str(IPv4Address(host))  # four decimal numbers without leading zeros, and nothing else
    except AddressValueError:
        return None


def _normalize_ipv6(host: str) -> str | None:
    try:
        return str(IPv6Address(host))
    except AddressValueError:
        return None


def _normalize_host(host: str) -> str:
    return _normalize_ipv6(host.strip("[]")) or host
