"""Attacks by URLs: a caller makes the stack send requests into the network that it runs in."""

from collections.abc import Sequence

from tests.attacks.attack import Attack, Outcome, Play, UnplayedError, held, succeeded
from tests.attacks.defence import Defence, Removal
from tests.attacks.target import Target, read_result

GROUP = "egress"
REACHED = "The stand-in of a network was reached at"
"""The body of each answer in the stack without these defences. It sends nothing: a control must not reach the real
metadata service of the machine that it runs on."""
_RULES = "layers/shared/python/signpost/policy/egress.py"
_WEB = "layers/shared/python/signpost/adapters/egress.py"
_STAND_IN = f"""\
    from threading import Thread

    ours, theirs = socket.socketpair()

    def answer() -> None:
        with theirs:
            theirs.recv(65536)
            body = f"{REACHED} {{address}} {{port}}".encode()
            head = b"HTTP/1.1 200 OK\\r\\ncontent-type: text/plain\\r\\ncontent-length: %d\\r\\n\\r\\n" % len(body)
            theirs.sendall(head + body)

    Thread(target=answer, daemon=True).start()
    return ours
"""
_JUDGES = "        host = destination.host\n        if any(map(is_forbidden"
_REFUSES_USERS = """\
    if "@" in authority or "%" in authority:
        return "The URL must not have a user, a password or an encoded host."
"""

EGRESS_RULES = Defence(
    name="egress-rules",
    title="the rules for addresses of outgoing requests",
    removals=(
        Removal(_RULES, _JUDGES, f"        return None\n{_JUDGES}"),
        Removal(_WEB, "    return socket.create_connection((address, port), seconds)\n", _STAND_IN),
    ),
    group=GROUP,
)
STRICT_URLS = Defence(
    name="strict-urls",
    title="the refusal of URLs with a user or an encoded host",
    removals=(Removal(_RULES, _REFUSES_USERS, '    authority = authority.rpartition("@")[2]\n'),),
    group=GROUP,
)

METADATA = "169.254.169.254"
NOT_PUBLIC, MALFORMED = "is not a public address", "must not have a user, a password or an encoded host"


def fetch(url: str, refusal: str) -> Play:
    """Return an attack that fetches a URL without a scheme, with both schemes."""

    def play(target: Target) -> Outcome:
        texts = [_fetch(target, f"{scheme}://{url}") for scheme in ("http", "https")]
        for text in texts:
            if REACHED in text:
                return succeeded(text)
        if not all(
            "not a public address" in text or "may only be reached" in text or refusal in text for text in texts
        ):
            raise UnplayedError(f"a fetch failed for another reason than a rule: {texts}")
        if refusal not in texts[-1]:
            raise UnplayedError(f"another rule than expected has refused it: {texts[-1]}")
        return held(texts[-1])

    return play


def _fetch(target: Target, url: str) -> str:
    result = read_result(target.call_tool("skill:http_fetch", {"url": url, "max_redirects": 0}))
    return result["content"][0]["text"]


_URLS = (
    ("A9.1", "Fetch the instance metadata by its address", f"{METADATA}/latest/meta-data/"),
    ("A9.4", "Write a private name with a trailing dot", "localhost./path"),
    ("A9.5", "Fetch from the loopback address of IPv6", "[::1]/path"),
    ("A9.6", "Add a port, so that host and port are compared as one text", f"{METADATA}:8080/path"),
    ("A9.7", "Write the metadata address as one of IPv6 (mapped)", f"[::ffff:{METADATA}]/latest/meta-data/"),
    ("A9.8", "Write the metadata address as one of IPv6 (NAT64)", "[64:ff9b::a9fe:a9fe]/latest/meta-data/"),
)
_URLS_WITH_USERS = (
    ("A9.2", "Hide the metadata address behind a trusted name as the user of the URL", f"allowed.com@{METADATA}/path"),
    (
        "A9.3",
        "Hide the host behind a percent-encoded user that looks like a host",
        f"allowed%2Ecom%40{METADATA}@127.0.0.1/",
    ),
)

OUTGOING_REQUEST_ATTACKS: Sequence[Attack] = (
    *(Attack(number, title, fetch(url, NOT_PUBLIC), (EGRESS_RULES,)) for number, title, url in _URLS),
    *(
        Attack(number, title, fetch(url, MALFORMED), (STRICT_URLS, EGRESS_RULES))
        for number, title, url in _URLS_WITH_USERS
    ),
)
