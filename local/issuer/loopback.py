"""Which URLs stay on this machine."""

from urllib.parse import SplitResult, urlsplit

HOSTS = frozenset({"127.0.0.1", "localhost", "::1"})


def is_redirect(url: str) -> bool:
    """RFC 8252: a native application listens on loopback, on whatever port it was given."""
    return _local(url, {"http"})


def is_resource(url: str) -> bool:
    return _local(url, {"http", "https"})


def is_origin(origin: str) -> bool:
    return is_resource(origin)


def same_but_for_port(one: str, other: str) -> bool:
    return _without_port(urlsplit(one)) == _without_port(urlsplit(other))


def _local(url: str, schemes: set[str]) -> bool:
    if not _plain(url):
        return False
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return False
    return parts.scheme in schemes and parts.hostname in HOSTS and "@" not in parts.netloc and "#" not in url


def _plain(url: str) -> bool:
    """Browsers and urlsplit disagree about blanks, control characters and backslashes: none may pass."""
    return url.isascii() and url.isprintable() and not set(url) & {" ", "\\"}


def _without_port(parts: SplitResult) -> tuple[str, str | None, str, str]:
    return parts.scheme, parts.hostname, parts.path, parts.query
