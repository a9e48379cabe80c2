"""HTTP/1.1 as the front door reads and writes it."""

import contextlib
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local.wire import (
    BODY_LIMIT,
    HEAD_LIMIT,
    Answer,
    Head,
    RefusedError,
    body_size,
    end_to_end,
    parse_head,
    read_body,
    read_head,
    render,
)

HOST = b"Host: localhost:8765\r\n"


def head(request_line: bytes = b"POST /mcp HTTP/1.1", fields: bytes = b"") -> Head:
    return parse_head(request_line + b"\r\n" + HOST + fields + b"\r\n")


def refused_with(status: int, block: bytes) -> bool:
    with pytest.raises(RefusedError) as refusal:
        read_head(io.BytesIO(block))
    assert set(json.loads(refusal.value.answer.body)) == {"message"}
    return refusal.value.answer.status == status


def chunked(body: bytes) -> bytes:
    return read_body(io.BytesIO(body), None)


def test_a_head_is_parsed() -> None:
    taken = head(b"GET /mcp?a=b%20c HTTP/1.1", b"Accept:  text/html \r\nX-Empty:\r\n")
    assert (taken.method, taken.path) == ("GET", "/mcp?a=b%20c")
    assert taken.fields[1:] == (("Accept", "text/html"), ("X-Empty", ""))


def test_an_absolute_target_means_its_path() -> None:
    assert head(b"GET http://localhost:8765/health?x=1 HTTP/1.1").path == "/health?x=1"


def test_a_client_that_hangs_up_between_requests_is_no_error() -> None:
    assert read_head(io.BytesIO(b"")) is None


def test_an_empty_line_before_a_request_is_skipped() -> None:
    taken = read_head(io.BytesIO(b"\r\nGET / HTTP/1.1\r\n" + HOST + b"\r\n"))
    assert taken is not None
    assert taken.path == "/"


@pytest.mark.parametrize(
    "block",
    [
        b"nonsense\r\n\r\n",
        b"GET / HTTP/2.0\r\n" + HOST + b"\r\n",
        b"GET /a b HTTP/1.1\r\n" + HOST + b"\r\n",
        b"GET /caf\xc3\xa9 HTTP/1.1\r\n" + HOST + b"\r\n",
        b"OPTIONS * HTTP/1.1\r\n" + HOST + b"\r\n",
        b"CONNECT localhost:80 HTTP/1.1\r\n" + HOST + b"\r\n",
        b"GET / HTTP/1.1\r\n" + HOST + b"Bad Name: x\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + HOST + b"Name : x\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + HOST + b"A: x\r\n folded\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + HOST + b"A: x\x00y\r\n\r\n",
        b"GET / HTTP/1.1\n" + b"Host: localhost\n\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + HOST + HOST + b"\r\n",
        b"GET / HTTP/1.1\r\n" + HOST,
    ],
)
def test_malformed_heads_are_bad_requests(block: bytes) -> None:
    assert refused_with(400, block)


def test_a_foreign_host_name_is_forbidden() -> None:
    assert refused_with(403, b"GET / HTTP/1.1\r\nHost: evil.example:8765\r\n\r\n")


@pytest.mark.parametrize("host", [b"localhost", b"127.0.0.1:8765", b"[::1]:8765", b"LOCALHOST:1"])
def test_the_names_of_this_machine_are_served(host: bytes) -> None:
    assert read_head(io.BytesIO(b"GET / HTTP/1.1\r\nHost: " + host + b"\r\n\r\n")) is not None


def test_heads_are_allowed_up_to_the_limit_of_api_gateway() -> None:
    start = b"GET / HTTP/1.1\r\n" + HOST + b"X: "
    filling = b"x" * (HEAD_LIMIT - len(start) - 4)
    assert read_head(io.BytesIO(start + filling + b"\r\n\r\n")) is not None
    assert refused_with(431, start + filling + b"x\r\n\r\n")


@pytest.mark.parametrize("fields", [b"Content-Length: 5\r\n", b"Content-Length: 5\r\nContent-Length: 5\r\n"])
def test_a_body_has_its_declared_size(fields: bytes) -> None:
    assert body_size(head(fields=fields)) == 5


def test_a_request_without_a_declared_body_has_none() -> None:
    assert body_size(head()) == 0


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        (b"Content-Length: -1\r\n", 400),
        (b"Content-Length: 1_0\r\n", 400),
        (b"Content-Length: 5\r\nContent-Length: 6\r\n", 400),
        (b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", 400),
        (b"Transfer-Encoding: gzip\r\n", 400),
        (b"Content-Length: %d\r\n" % (BODY_LIMIT + 1), 413),
        (b"Content-Length: " + b"9" * 5000 + b"\r\n", 413),
    ],
)
def test_invalid_body_sizes_are_refused(fields: bytes, status: int) -> None:
    with pytest.raises(RefusedError) as refusal:
        body_size(head(fields=fields))
    assert refusal.value.answer.status == status


def test_a_body_that_ends_early_is_a_bad_request() -> None:
    with pytest.raises(RefusedError):
        read_body(io.BytesIO(b"123"), 5)


@given(st.lists(st.binary(min_size=1), max_size=5))
def test_chunks_are_joined(chunks: list[bytes]) -> None:
    sent = b"".join(b"%x;ext=1\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks)
    assert chunked(sent + b"0\r\nTrailer: x\r\n\r\n") == b"".join(chunks)


@pytest.mark.parametrize("body", [b"", b"z\r\n", b"5\r\n123", b"3\r\n123xx0\r\n\r\n", b"-1\r\n"])
def test_broken_chunks_are_bad_requests(body: bytes) -> None:
    with pytest.raises(RefusedError) as refusal:
        chunked(body)
    assert refusal.value.answer.status == 400


def test_chunks_count_against_the_limit_before_they_are_read() -> None:
    with pytest.raises(RefusedError) as refusal:
        chunked(b"%x\r\n" % (BODY_LIMIT + 1))
    assert refusal.value.answer.status == 413


def test_hop_by_hop_headers_are_not_passed_on() -> None:
    fields = (("Connection", "close, X-Mine"), ("X-Mine", "1"), ("Keep-Alive", "5"), ("Accept", "*/*"))
    assert end_to_end(fields) == (("Accept", "*/*"),)


def test_an_answer_is_one_block_with_its_length() -> None:
    answer = Answer(200, "OK", (("X-A", "1"), ("Transfer-Encoding", "chunked")), b"body")
    assert render(answer, "GET", keep_alive=True) == b"HTTP/1.1 200 OK\r\nX-A: 1\r\nContent-Length: 4\r\n\r\nbody"


def test_an_answer_to_head_keeps_the_length_it_was_given() -> None:
    answer = Answer(200, "OK", (("Content-Length", "4"),), b"")
    assert b"Content-Length: 4\r\n" in render(answer, "HEAD", keep_alive=True)


def test_an_answer_without_content_has_no_length() -> None:
    assert render(Answer(204, "No Content", (), b""), "POST", keep_alive=True) == b"HTTP/1.1 204 No Content\r\n\r\n"


@given(st.binary(max_size=300))
def test_any_bytes_are_a_request_or_a_refusal(block: bytes) -> None:
    with contextlib.suppress(RefusedError):
        read_head(io.BytesIO(block))
