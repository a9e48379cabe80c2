"""HTTP as strict as a login needs it: TLS or loopback, no redirects, short answers in JSON."""

import json
from collections.abc import Mapping
from http.client import HTTPException
from typing import IO, TypeGuard, cast, override
from urllib.error import HTTPError
from urllib.parse import SplitResult, urlencode, urlsplit
from urllib.request import HTTPRedirectHandler, OpenerDirector, ProxyHandler, Request, build_opener

from signpost.cli.failure import CommandFailed, Unanswered
from signpost.records import dataclass

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
LARGEST_ANSWER = 1 << 20
PATIENCE = 10.0  # seconds for each answer


@dataclass(frozen=True, slots=True)
class Document:
    """A JSON object that a server sent, with the address it came from for messages."""

    source: str
    status: int
    fields: Mapping[str, object]

    def text(self, name: str) -> str:
        if value := self.optional(name):
            return value
        raise CommandFailed(f"{self.source} says nothing about {name}; the server is not set up for logins.")

    def optional(self, name: str) -> str | None:
        value = self.fields.get(name)
        return value if _printable(value) else None

    def texts(self, name: str) -> tuple[str, ...]:
        value = self.fields.get(name)
        items = cast("list[object]", value) if isinstance(value, list) else []
        return tuple(item for item in items if _printable(item))


def secure(url: str) -> SplitResult:
    """The parts of a URL that tokens may travel to."""
    parts = _split(url)
    if parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOOPBACK):
        return parts
    raise CommandFailed(f"{url} is not safe for a login: use https (plain http is for this machine only).")


def get(url: str) -> Document | None:
    """None where there is no such document: some servers answer 403 or 405 there."""
    document = _fetch(Request(url, headers={"Accept": "application/json"}))  # noqa: S310  # _fetch checks it
    if 400 <= document.status < 500:
        return None
    if document.status != 200:
        raise CommandFailed(f"{url} answered with status {document.status}; try again later.")
    return document


def post(url: str, form: Mapping[str, str]) -> Document:
    """Sends a form. A refusal (status 4xx) is for the caller to explain."""
    body = urlencode(form).encode()
    document = _fetch(Request(url, body, {"Accept": "application/json"}))  # noqa: S310  # _fetch checks it
    if document.status >= 500:
        raise CommandFailed(f"{url} answered with status {document.status}; try again later.")
    return document


def ask(url: str, body: bytes, headers: Mapping[str, str], *, patience: float, longest: int) -> Document:
    """Sends a message of JSON. A refusal is for the caller to explain."""
    return _fetch(Request(url, body, dict(headers)), patience, longest)  # noqa: S310  # _fetch checks it


class _NoRedirects(HTTPRedirectHandler):
    @override
    def redirect_request(self, req: Request, fp: IO[bytes], code: int, msg: str, headers: object, newurl: str) -> None:
        """None makes urllib raise an HTTPError instead of following."""


def _fetch(request: Request, patience: float = PATIENCE, longest: int = LARGEST_ANSWER) -> Document:
    url = request.full_url
    opener = _opener(secure(url))
    try:
        with opener.open(request, timeout=patience) as answer:
            return Document(url, answer.status, _required_object(answer.read(longest), url))
    except HTTPError as error:
        with error:
            return _unhappy(error, url)
    except (OSError, HTTPException) as error:
        reason = getattr(error, "reason", error)
        raise Unanswered(f"{url} cannot be reached ({reason}). Is the address right and the server running?") from None


def _unhappy(error: HTTPError, url: str) -> Document:
    if 300 <= error.code < 400:
        raise CommandFailed(f"{url} redirects elsewhere, which a login does not follow; use the final address.")
    return Document(url, error.code, _object(error.read(LARGEST_ANSWER)) or {})


def _opener(parts: SplitResult) -> OpenerDirector:
    # A proxy of the environment cannot reach this machine's own loopback.
    proxies = [ProxyHandler({})] if parts.hostname in LOOPBACK else []
    return build_opener(_NoRedirects, *proxies)


def _printable(value: object) -> TypeGuard[str]:
    """Nothing that a terminal would obey rather than show."""
    return isinstance(value, str) and value != "" and value.isprintable()


def _required_object(text: bytes, url: str) -> Mapping[str, object]:
    value = _object(text)
    if value is None:
        raise CommandFailed(f"{url} did not answer with a JSON object. Is this the address of an MCP server?")
    return value


def _object(text: bytes) -> Mapping[str, object] | None:
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, object]", value) if isinstance(value, dict) else None


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        raise CommandFailed(f"{url} is not a URL.") from None
    return parts
