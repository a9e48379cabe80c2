"""The HTTP/1.1 of the front door: a strict parser of requests, and answers as one block of bytes."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from http import HTTPStatus
from typing import BinaryIO
from urllib.parse import urlsplit

type Fields = tuple[tuple[str, str], ...]

# API Gateway's limits for an HTTP API, in bytes.
HEAD_LIMIT = 10_240
BODY_LIMIT = 10 * 1024 * 1024

_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"  # noqa: S105 - a token of the HTTP grammar
_REQUEST_LINE = re.compile(rf"({_TOKEN}) ([\x21-\x7e]+) HTTP/1\.([01])")
_FIELD = re.compile(rf"({_TOKEN}):[ \t]*([^\x00-\x08\x0a-\x1f\x7f]*?)[ \t]*")
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,8})[ \t]*(?:;[^\r\n]*)?\r\n")
_END_OF_LINE = (b"\r\n", b"\n")
_HOP_BY_HOP = frozenset(
    {
        "connection",
        "expect",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
_LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


class RefusedError(Exception):
    """A request that the door does not forward, with the answer to its client."""

    def __init__(self, status: int, message: str = "") -> None:
        super().__init__(status)
        self.answer = message_answer(status, message or HTTPStatus(status).phrase)


@dataclass(frozen=True, slots=True)
class Head:
    """The request line and header fields of a request."""

    method: str
    path: str
    minor_version: int
    fields: Fields

    def values(self, name: str) -> list[str]:
        """Return the values of a field, in lower case."""
        return [value.lower() for key, value in self.fields if key.lower() == name]

    @property
    def keeps_alive(self) -> bool:
        """Whether the client may send another request on this connection."""
        return self.minor_version == 1 and "close" not in _split_items(self.values("connection"))

    @property
    def waits_for_continue(self) -> bool:
        """Whether the client sends its body only after `100 Continue`."""
        return self.minor_version == 1 and "100-continue" in self.values("expect")


@dataclass(frozen=True, slots=True)
class Answer:
    """A complete HTTP answer."""

    status: int
    reason: str
    fields: Fields
    body: bytes


def message_answer(status: int, message: str) -> Answer:
    """Return an answer in the form of API Gateway's refusals."""
    body = json.dumps({"message": message}, separators=(",", ":")).encode()
    return Answer(status, HTTPStatus(status).phrase, (("Content-Type", "application/json"),), body)


def read_head(stream: BinaryIO) -> Head | None:
    """Read the head of the next request; None if the client has closed the connection instead."""
    block = _read_block(stream)
    return None if block is None else parse_head(block)


def parse_head(block: bytes) -> Head:
    """Parse a head, and refuse one that the grammar does not allow."""
    request_line, *lines = block.removesuffix(b"\r\n\r\n").decode("latin-1").split("\r\n")
    match = _REQUEST_LINE.fullmatch(request_line)
    if match is None or not block.endswith(b"\r\n\r\n"):
        raise RefusedError(400)
    head = Head(match[1], _origin_form(match[2]), int(match[3]), tuple(map(_parse_field, lines)))
    _check_host(head)
    return head


def body_size(head: Head) -> int | None:
    """Return the declared size of the body; None if it is sent in chunks."""
    lengths, codings = set(head.values("content-length")), head.values("transfer-encoding")
    if codings:
        if lengths or codings != ["chunked"]:
            raise RefusedError(400)
        return None
    return _declared_size(lengths) if lengths else 0


def read_body(stream: BinaryIO, size: int | None) -> bytes:
    """Read a body of this size, or in chunks if the size is None."""
    return _read_chunks(stream) if size is None else _read_exactly(stream, size)


def end_to_end(fields: Iterable[tuple[str, str]]) -> Fields:
    """Return the fields without those that are for the next hop only."""
    fields = tuple(fields)
    connection_fields = _split_items(value.lower() for key, value in fields if key.lower() == "connection")
    return tuple((key, value) for key, value in fields if key.lower() not in _HOP_BY_HOP | connection_fields)


def render(answer: Answer, method: str, *, keep_alive: bool) -> bytes:
    """Return the answer as one block of bytes, so that it is sent in one write."""
    fields = [*end_to_end(answer.fields), *_framing(answer, method)]
    if not keep_alive:
        fields.append(("Connection", "close"))
    head = "".join(f"{key}: {value}\r\n" for key, value in fields)
    return f"HTTP/1.1 {answer.status} {answer.reason}\r\n{head}\r\n".encode("latin-1") + answer.body


def _framing(answer: Answer, method: str) -> Fields:
    # An answer to HEAD keeps the length that the upstream declared; an answer without a body has none.
    declared = any(key.lower() == "content-length" for key, _ in answer.fields)
    bodiless = answer.status in (204, 304) or answer.status < 200
    return () if declared or bodiless or method == "HEAD" else (("Content-Length", str(len(answer.body))),)


def _read_block(stream: BinaryIO) -> bytes | None:
    block = b""
    while line := stream.readline(HEAD_LIMIT - len(block) + 1):
        if not block and line in _END_OF_LINE:
            continue  # clients may send an empty line after a body
        block += line
        if len(block) > HEAD_LIMIT:
            raise RefusedError(431)
        if line in _END_OF_LINE:
            return block
    if block:
        raise RefusedError(400)
    return None


def _origin_form(target: str) -> str:
    if target.startswith("/"):
        return target
    parts = urlsplit(target)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise RefusedError(400)
    return f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"


def _parse_field(line: str) -> tuple[str, str]:
    match = _FIELD.fullmatch(line)
    if match is None:
        raise RefusedError(400)
    return match[1], match[2]


def _check_host(head: Head) -> None:
    # API Gateway refuses host names that it does not serve. Here that also stops DNS rebinding: a web page
    # from a name that resolves to this machine still sends that name.
    hosts = head.values("host")
    if len(hosts) > 1 or (not hosts and head.minor_version == 1):
        raise RefusedError(400)
    if hosts and _host_name(hosts[0]) not in _LOOPBACK_NAMES:
        raise RefusedError(403)


def _host_name(host: str) -> str | None:
    try:
        return urlsplit(f"//{host}").hostname
    except ValueError:
        return None


def _declared_size(lengths: set[str]) -> int:
    length = lengths.pop()
    if lengths or not (length.isascii() and length.isdigit()):
        raise RefusedError(400)
    return _check_size(int(length[:20]))


def _check_size(size: int) -> int:
    if size > BODY_LIMIT:
        raise RefusedError(413, "Request Entity Too Large")
    return size


def _read_exactly(stream: BinaryIO, size: int) -> bytes:
    data = stream.read(size)
    if len(data) < size:
        raise RefusedError(400)
    return data


def _read_chunks(stream: BinaryIO) -> bytes:
    body = bytearray()
    while size := _chunk_size(stream):
        _check_size(len(body) + size)
        body += _read_exactly(stream, size)
        if stream.readline(3) != b"\r\n":
            raise RefusedError(400)
    _skip_trailers(stream)
    return bytes(body)


def _chunk_size(stream: BinaryIO) -> int:
    match = _CHUNK.fullmatch(stream.readline(1024))
    if match is None:
        raise RefusedError(400)
    return int(match[1], 16)


def _skip_trailers(stream: BinaryIO) -> None:
    if _read_trailer_block(stream) > HEAD_LIMIT:
        raise RefusedError(431)


def _read_trailer_block(stream: BinaryIO) -> int:
    size = 0
    while size <= HEAD_LIMIT and (line := stream.readline(HEAD_LIMIT)) not in (*_END_OF_LINE, b""):
        size += len(line)
    return size


def _split_items(values: Iterable[str]) -> frozenset[str]:
    return frozenset(item.strip() for value in values for item in value.split(","))
