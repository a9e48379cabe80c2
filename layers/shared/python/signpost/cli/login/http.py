"""An HTTP client as strict as a login needs it: TLS or loopback, no redirects, answers in JSON of limited size."""

import json
from collections.abc import Mapping
from dataclasses import field
from email.message import Message
from http.client import HTTPException
from typing import IO, TypeGuard, cast, override
from urllib.error import HTTPError
from urllib.parse import SplitResult, urlencode, urlsplit
from urllib.request import HTTPRedirectHandler, OpenerDirector, ProxyHandler, Request, build_opener

from signpost.cli.failure import CommandFailed, NoServerAnswer
from signpost.records import dataclass

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
LARGEST_ANSWER = 1 << 20
PATIENCE = 10.0  # seconds for each answer


@dataclass(frozen=True, slots=True)
class JsonDocument:
    """A JSON object that a server sent, with its URL for messages."""

    source: str
    status: int
    fields: Mapping[str, object]
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    """The names in lower case."""

    def text(self, name: str) -> str:
        """Return a field that is printable text. Raises CommandFailed without one."""
        if value := self.optional_text(name):
            return value
        raise CommandFailed(f"{self.source} has no field {name}; the server is not set up for logins.")

    def optional_text(self, name: str) -> str | None:
        value = self.fields.get(name)
        return value if _is_printable(value) else None

    def texts(self, name: str) -> tuple[str, ...]:
        value = self.fields.get(name)
        items = cast("list[object]", value) if isinstance(value, list) else []
        return tuple(item for item in items if _is_printable(item))


def parse_secure_url(url: str) -> SplitResult:
    """Split a URL to which tokens may be sent. Raises CommandFailed for plain HTTP, except to this machine."""
    parts = _split_url(url)
    if parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOOPBACK):
        return parts
    raise CommandFailed(f"{url} is not safe for a login: use https (plain http is for this machine only).")


def get(url: str) -> JsonDocument | None:
    """Fetch a document. Returns None for every status 4xx: some servers answer 403 or 405 for a missing document."""
    document = fetch(url)
    if 400 <= document.status < 500:
        return None
    if document.status != 200:
        raise CommandFailed(f"{url} answered with status {document.status}; try again later.")
    return document


def fetch(url: str, patience: float = PATIENCE) -> JsonDocument:
    """Fetch a document. The caller judges the status."""
    return _fetch(Request(url, headers={"Accept": "application/json"}), patience)  # noqa: S310  # _fetch checks it


def post(url: str, form: Mapping[str, str]) -> JsonDocument:
    """Send a form. The caller explains a refusal (status 4xx)."""
    body = urlencode(form).encode()
    document = _fetch(Request(url, body, {"Accept": "application/json"}))  # noqa: S310  # _fetch checks it
    if document.status >= 500:
        raise CommandFailed(f"{url} answered with status {document.status}; try again later.")
    return document


def post_json(url: str, body: bytes, headers: Mapping[str, str], *, patience: float, longest: int) -> JsonDocument:
    """Send a JSON message. The caller explains a refusal. `longest` is the largest answer, in bytes."""
    return _fetch(Request(url, body, dict(headers)), patience, longest)  # noqa: S310  # _fetch checks it


class _LoginRedirectRefusal(HTTPRedirectHandler):
    @override
    def redirect_request(self, req: Request, fp: IO[bytes], code: int, msg: str, headers: object, newurl: str) -> None:
        """Return None, so that urllib raises an HTTPError instead of following the redirect."""


def _fetch(request: Request, patience: float = PATIENCE, longest: int = LARGEST_ANSWER) -> JsonDocument:
    url = request.full_url
    opener = _build_opener(parse_secure_url(url))
    try:
        with opener.open(request, timeout=patience) as answer:
            document = _parse_object(answer.read(longest), url)
            return JsonDocument(url, answer.status, document, _lower_names(answer.headers))
    except HTTPError as error:
        with error:
            return _document_of_error(error, url)
    except (OSError, HTTPException) as error:
        reason = getattr(error, "reason", error)
        raise NoServerAnswer(
            f"{url} cannot be reached ({reason}). Check the address, and that the server is running."
        ) from None


def _document_of_error(error: HTTPError, url: str) -> JsonDocument:
    if 300 <= error.code < 400:
        raise CommandFailed(f"{url} redirects to another address. Use that one: redirects are not followed.")
    document = _parse_optional_object(error.read(LARGEST_ANSWER)) or {}
    return JsonDocument(url, error.code, document, _lower_names(error.headers))


def _lower_names(headers: Message) -> Mapping[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def _build_opener(parts: SplitResult) -> OpenerDirector:
    # The proxy of the environment cannot reach the loopback interface of this machine.
    proxies = [ProxyHandler({})] if parts.hostname in LOOPBACK else []
    return build_opener(_LoginRedirectRefusal, *proxies)


def _is_printable(value: object) -> TypeGuard[str]:
    """Return whether the value is text without control characters, which a terminal would execute."""
    return isinstance(value, str) and value != "" and value.isprintable()


def _parse_object(text: bytes, url: str) -> Mapping[str, object]:
    value = _parse_optional_object(text)
    if value is None:
        raise CommandFailed(f"{url} did not answer with a JSON object. Is this the address of an MCP server?")
    return value


def _parse_optional_object(text: bytes) -> Mapping[str, object] | None:
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, object]", value) if isinstance(value, dict) else None


def _split_url(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        raise CommandFailed(f"{url} is not a URL.") from None
    return parts
