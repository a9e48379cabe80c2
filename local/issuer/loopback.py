"""Checks for URLs that stay on this machine."""

from urllib.parse import SplitResult, urlsplit

HOSTS = frozenset({"127.0.0.1", "localhost", "::1"})


def is_redirect(url: str) -> bool:
    """Whether the URL is a redirect URI on loopback, on any port: a native application gets a free one (RFC 8252)."""
    return _is_local(url, {"http"})


def is_resource(url: str) -> bool:
    return _is_local(url, {"http", "https"})


def is_origin(origin: str) -> bool:
    return is_resource(origin)


def equal_except_port(first: str, second: str) -> bool:
    return _without_port(urlsplit(first)) == _without_port(urlsplit(second))


def _is_local(url: str, schemes: set[str]) -> bool:
    if not _is_unambiguous(url):
        return False
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return False
    return parts.scheme in schemes and parts.hostname in HOSTS and "@" not in parts.netloc and "#" not in url


def _is_unambiguous(url: str) -> bool:
    """Whether the URL has no blank, control character or backslash, on which browsers and urlsplit disagree."""
    return url.isascii() and url.isprintable() and not set(url) & {" ", "\\"}


def _without_port(parts: SplitResult) -> tuple[str, str | None, str, str]:
    return parts.scheme, parts.hostname, parts.path, parts.query
