"""Where a URL leads, and whether the stack goes there: the attacks that are known, by table."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signpost.policy.egress import Destination, build_egress_rules, is_public, parse_destination

NOT_PUBLIC = [
    "127.0.0.1", "127.8.8.8", "0.0.0.0", "0.1.2.3", "10.0.0.1",  # noqa: S104 - an address, not a bind
    "172.16.0.1", "172.31.255.255", "192.168.1.1",
    "169.254.169.254", "169.254.170.2", "100.64.0.1", "100.127.255.255", "192.0.0.1", "192.0.0.9", "192.0.2.1",
    "192.88.99.1", "198.18.0.1", "198.51.100.7", "203.0.113.9", "224.0.0.1", "239.255.255.250", "240.0.0.1",
    "255.255.255.255", "168.63.129.16",
    "::", "::1", "::ffff:127.0.0.1", "::ffff:8.8.8.8", "::ffff:a9fe:a9fe", "::7f00:1", "::8.8.8.8", "fe80::1",
    "fe80::1%eth0", "fec0::1", "fc00::1", "fd00:ec2::254", "ff02::1", "ff0e::1", "64:ff9b::7f00:1", "64:ff9b::808:808",
    "64:ff9b:1::7f00:1", "2002:7f00:1::", "2002:808:808::1", "2001::1", "2001:0:7f00:1::", "2001:db8::1", "3fff::1",
    "100::1", "5f00::1", "4000::1",
    "", "localhost", "127.1", "0177.0.0.1", "0x7f.0.0.1", "2130706433", "1.2.3", "01.2.3.4",
]  # fmt: skip
PUBLIC = ["8.8.8.8", "93.184.216.34", "172.15.0.1", "172.32.0.1", "100.63.0.1", "2606:4700::1111", "2a00:1450::1"]


@pytest.mark.invariant(39)
@pytest.mark.parametrize("address", NOT_PUBLIC)
def test_an_internal_or_malformed_address_is_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", PUBLIC)
def test_a_globally_reachable_address_is_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    ("url", "destination"),
    [
        ("https://hooks.test", Destination("https", "hooks.test", 443, "/")),
        ("https://Hooks.TEST:8443/a/b?c=d", Destination("https", "hooks.test", 8443, "/a/b?c=d")),
        ("HTTPS://hooks.test./a", Destination("https", "hooks.test", 443, "/a")),
        ("http://127.0.0.1:80", Destination("http", "127.0.0.1", 80, "/")),
        ("https://[2606:4700:0::1111]:1/x", Destination("https", "2606:4700::1111", 1, "/x")),
        ("https://hooks.test?a=b", Destination("https", "hooks.test", 443, "/?a=b")),
        ("https://xn--bcher-kva.test/%0d%0a", Destination("https", "xn--bcher-kva.test", 443, "/%0d%0a")),
        ("https://hooks.test//evil.test/@x", Destination("https", "hooks.test", 443, "//evil.test/@x")),
        ("https://a_b.test/", Destination("https", "a_b.test", 443, "/")),
        ("https://[::ffff:127.0.0.1]/", Destination("https", "::ffff:127.0.0.1", 443, "/")),
        ("https://1.2.3.4.", Destination("https", "1.2.3.4", 443, "/")),
    ],
)
def test_a_url_has_one_destination(url: str, destination: Destination) -> None:
    assert parse_destination(url) == destination


@pytest.mark.invariant(39)
@pytest.mark.parametrize(
    "url",
    [
        "", "hooks.test", "//hooks.test", "https:hooks.test", "https:/hooks.test", "https://", "https:///path",
        "ftp://hooks.test", "file:///etc/passwd", "gopher://127.0.0.1:6379/_x", "javascript:alert(1)",
        # numbers that some programs take for 127.0.0.1, and others do not
        "https://2130706433/", "https://0x7f000001/", "https://0x7f.1/", "https://0177.0.0.1/", "https://127.1/",
        "https://127.0.1/", "https://0/", "https://017700000001/", "https://1.2.3.4.5/", "https://256.1.1.1/",
        "https://127.0.0.1%00.test/", "https://127.0.0.0x1/", "https://a.1/", "https://127.0.0.1../",
        # who is asked, and who only seems to be
        "https://hooks.test@127.0.0.1/", "https://user:pass@hooks.test/", "https://hooks.test%40127.0.0.1/",
        "https://hooks.test\\@127.0.0.1/", "https://127.0.0.1\\.hooks.test/", "https://hooks.test#@127.0.0.1/",
        "https://hooks.test/#fragment", "https://hooks%2etest/", "https://@hooks.test/",
        # ports
        "https://hooks.test:/", "https://hooks.test:0/", "https://hooks.test:65536/", "https://hooks.test:99999/",
        "https://hooks.test:443:80/", "https://hooks.test:80@127.0.0.1/", "https://hooks.test:+443/",
        "https://hooks.test:4 43/", "https://hooks.test:http/", "https://hooks.test:-1/", "https://:443/",
        # what nobody sees
        "https://hooks.test /", " https://hooks.test/", "https://hooks.test/\r\nX: y", "https://ho\noks.test/",
        "https://hooks.test/\t", "https://hooks.test/\x00", "https://hooks.test/\x7f", "https://hööks.test/",
        "https://ⓗooks.test/", "https://hooks。test/", "https://\uff11\uff12\uff17.0.0.1/", "https://hooks.test/ü",
        # addresses of IPv6
        "https://[::1/", "https://::1/", "https://[::1]x/", "https://[]/", "https://[fe80::1%25eth0]/",
        "https://[1.2.3.4]/", "https://[::1]]/", "https://[::g]/", "https://[::1]:0/",
        # names that are none
        "https://.hooks.test/", "https://hooks..test/", "https://-hooks.test/", "https://hooks-.test/",
        "https://hooks.test../", f"https://{'a' * 64}.test/", f"https://{'a.' * 127}test/", "https://*.test/",
        "https://hooks,test/", "https://./",
    ],
)  # fmt: skip
def test_a_url_that_may_be_read_in_two_ways_is_refused(url: str) -> None:
    assert isinstance(parse_destination(url), str)


@given(st.text(max_size=40) | st.text("htps:/@[]%.#?\\0x17f \n-", max_size=40).map("https://{}".format))
def test_any_text_is_judged_and_a_parsed_host_has_one_reading(url: str) -> None:
    found = parse_destination(url)
    if isinstance(found, Destination):
        host = f"[{found.host}]" if ":" in found.host else found.host
        assert parse_destination(f"{found.scheme}://{host}:{found.port}{found.target}") == found


def refusal(url: str, *addresses: str, allowed: tuple[str, ...] = ()) -> str | None:
    destination = parse_destination(url)
    assert isinstance(destination, Destination)
    return build_egress_rules(allowed).refusal(destination, addresses)


def test_public_addresses_are_reached_over_https_only() -> None:
    assert refusal("https://hooks.test/", "8.8.8.8", "2606:4700::1111") is None
    assert refusal("http://hooks.test/", "8.8.8.8") == "hooks.test may only be reached over https."


def test_one_private_address_among_several_is_refused() -> None:
    assert refusal("https://hooks.test/", "8.8.8.8", "10.0.0.1") == "hooks.test is not a public address."


@pytest.mark.parametrize(
    ("url", "address", "allowed"),
    [
        ("http://127.0.0.1:8080/", "127.0.0.1", "127.0.0.1"),
        ("https://hooks.internal/", "10.1.2.3", "Hooks.Internal."),
        ("http://hooks.internal./", "10.1.2.3", "hooks.internal"),
        ("http://[0:0::1]/", "::1", "::1"),
        ("http://[::1]/", "::1", "[0::1]"),
    ],
)
def test_an_allowed_host_may_be_private(url: str, address: str, allowed: str) -> None:
    assert refusal(url, address, allowed=(allowed,)) is None
    assert refusal(url, address, allowed=("other.test",)) is not None


@pytest.mark.parametrize(
    ("entry", "url", "is_allowed"),
    [
        ("127.0.0.1:9000", "http://127.0.0.1:9000/", True),
        ("127.0.0.1:9000", "http://127.0.0.1:9001/", False),
        ("127.0.0.1:9000", "http://127.0.0.1/", False),
        ("127.0.0.1:80", "http://127.0.0.1/", True),
        ("Hooks.Internal.:8443", "https://hooks.internal:8443/", True),
        ("hooks.internal:8443", "https://hooks.internal/", False),
        ("hooks.internal:8443", "https://sub.hooks.internal:8443/", False),
        ("[fd00::1]:8443", "https://[fd00:0::1]:8443/", True),
        ("[fd00::1]:8443", "https://[fd00::1]/", False),
        ("fd00::1", "https://[fd00::1]:8443/", True),
        ("fd00::1:8443", "https://[fd00::1]:8443/", False),
        ("127.0.0.1:", "http://127.0.0.1/", False),
        ("127.0.0.1:²", "http://127.0.0.1/", False),
    ],
)
def test_an_entry_with_a_port_allows_that_port_only(entry: str, url: str, is_allowed: bool) -> None:
    assert (refusal(url, "10.0.0.1", allowed=(entry,)) is None) is is_allowed


def test_an_allowed_name_allows_no_other_name() -> None:
    allowed = ("hooks.internal", "10.0.0.1")
    for url in ("https://a.hooks.internal/", "https://hooks.internal.test/", "https://internal/"):
        assert refusal(url, "10.0.0.1", allowed=allowed) is not None


RUNTIME = "127.0.0.1:9001"
MANY_NAMES = ("inside.test", "127.0.0.1", "localhost", "::1", "169.254.169.254", "fd00:ec2::254", "sandbox.localdomain")


@pytest.mark.invariant(58)
@pytest.mark.parametrize(
    "address",
    [
        "169.254.169.254", "169.254.170.2", "169.254.100.1", "169.254.79.129", "fd00:ec2::254", "fd00:ec2::23",
        "fe80::1", "::ffff:169.254.169.254", "::a9fe:a9fe", "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::1",
    ],
)  # fmt: skip
def test_an_allowed_name_never_leads_to_an_instance_metadata_address(address: str) -> None:
    assert refusal("http://inside.test/", "10.0.0.1", address, allowed=MANY_NAMES) is not None


@pytest.mark.invariant(58)
@pytest.mark.parametrize("own", [RUNTIME, "localhost:9001", "http://127.0.0.1:9001", "[::1]:9001"])
@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("127.0.0.1", "127.0.0.1"), ("localhost", "::1"), ("inside.test", "127.0.0.1"), ("inside.test", "127.8.8.8"),
        ("inside.test", "0.0.0.0"), ("inside.test", "::"), ("[::1]", "::1"), ("inside.test", "::ffff:127.0.0.1"),  # noqa: S104 - an address, not a bind
    ],
)  # fmt: skip
def test_an_allowed_host_never_leads_to_the_runtime_of_the_function(own: str, host: str, address: str) -> None:
    rules = build_egress_rules(MANY_NAMES, own_addresses=("", own))
    inside, beside = parse_destination(f"http://{host}:9001/2018-06-01/"), parse_destination(f"http://{host}:9002/")
    assert isinstance(inside, Destination)
    assert isinstance(beside, Destination)
    assert rules.refusal(inside, [address]) is not None
    assert rules.refusal(beside, [address]) is None


def test_a_runtime_with_a_name_or_without_a_port_is_recognised() -> None:
    rules = build_egress_rules(MANY_NAMES, own_addresses=("sandbox.localdomain:9001", "http://inside.test"))
    for url in ("http://sandbox.localdomain:9001/", "http://inside.test/x"):
        destination = parse_destination(url)
        assert isinstance(destination, Destination)
        assert rules.refusal(destination, ["10.0.0.1"]) is not None


@pytest.mark.parametrize(
    ("url", "is_refused"),
    [
        ("http://page.test/", False), ("https://page.test/", False), ("https://page.test:80/", False),
        ("http://page.test:8080/", True), ("https://page.test:22/", True), ("http://inside.test:6379/", False),
    ],
)  # fmt: skip
def test_an_allowed_host_may_have_a_port_outside_the_allowed_ports(url: str, is_refused: bool) -> None:
    destination = parse_destination(url)
    assert isinstance(destination, Destination)
    rules = build_egress_rules(["inside.test"], needs_tls=False, ports=frozenset({80, 443}))
    assert (rules.refusal(destination, ["8.8.8.8"]) is not None) == is_refused
