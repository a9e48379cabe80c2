"""What was fetched, read as text where it is text."""

import gzip
import zlib
from base64 import b64decode

import pytest

from core_skills.pages import encode_body, select_headers
from signpost.web import WebAnswer


def answer(body: bytes, content_type: str = "", *, is_cut: bool = False, **headers: str) -> WebAnswer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return WebAnswer(200, ({"content-type": content_type} if content_type else {}) | named, body, is_cut)


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        ("Bücher".encode(), "text/plain"),
        ("Bücher".encode(), "TEXT/HTML; Charset='UTF-8'"),
        ("Bücher".encode("latin-1"), "text/plain; charset=iso-8859-1"),
        ("Bücher".encode("cp1252"), 'text/csv; header=present; charset="windows-1252"'),
        ("Bücher".encode("utf-16"), "text/plain"),
        (b"\xef\xbb\xbf" + "Bücher".encode(), "text/plain; charset=latin-1"),
        ("Bücher".encode("utf-16-le"), "text/plain; charset=utf-16le"),
        ("Bücher".encode(), "application/json"),
        ("Bücher".encode(), "application/problem+json"),
        ("Bücher".encode(), "image/svg+xml"),
        ("Bücher".encode(), ""),
        ("Bücher".encode(), "text/plain; charset=nobody-knows"),
    ],
)
def test_text_is_decoded_in_its_declared_charset(body: bytes, content_type: str) -> None:
    assert encode_body(answer(body, content_type), 1_000) == {"text": "Bücher", "truncated": False}


def test_a_page_may_declare_its_charset_itself() -> None:
    page = '<html><head><meta http-equiv="x" charset="iso-8859-1"></head>ü'
    assert encode_body(answer(page.encode("latin-1"), "text/html"), 1_000) == {"text": page, "truncated": False}


NO_CHARSETS = ["zlib", "bz2", "rot13", "base64", "hex", "idna", "punycode", "unicode_escape", "utf-7"]


@pytest.mark.parametrize("charset", NO_CHARSETS)
def test_codecs_that_are_no_charsets_are_not_used(charset: str) -> None:
    assert encode_body(answer(b"a\\u0041", f"text/plain; charset={charset}"), 1_000)["text"] == "a\\u0041"


@pytest.mark.parametrize(
    ("body", "content_type"),
    [(b"\x89PNG", "image/png"), (b"%PDF", "application/pdf"), (b"a\x00b", "text/plain"), (b"\xff\xfe\xfd", "")],
)
def test_any_other_body_is_base64(body: bytes, content_type: str) -> None:
    shown = encode_body(answer(body, content_type), 1_000)
    assert isinstance(shown["base64"], str)
    assert b64decode(shown["base64"]) == body


def test_undecodable_bytes_are_replaced() -> None:
    assert encode_body(answer(b"a\xffb", "text/plain"), 1_000)["text"] == "a\ufffdb"


def test_a_character_that_was_cut_is_left_out() -> None:
    assert encode_body(answer("aü".encode()[:2], "text/plain", is_cut=True), 2) == {"text": "a", "truncated": True}


def test_a_compressed_body_is_decompressed_up_to_the_limit() -> None:
    bomb = gzip.compress(b"x" * 10_000_000)
    assert encode_body(answer(bomb, "text/plain", content_encoding="gzip"), 10) == {"text": "x" * 10, "truncated": True}
    cut = answer(bomb[:5_000], "text/plain", is_cut=True, content_encoding="x-gzip")
    assert encode_body(cut, 100_000_000)["truncated"] is True
    whole = encode_body(answer(gzip.compress(b"all of it"), "text/plain", content_encoding="gzip"), 1_000)
    assert whole == {"text": "all of it", "truncated": False}


@pytest.mark.parametrize(
    ("body", "encoding"), [(b"no gzip", "gzip"), (zlib.compress(b"x"), "deflate"), (b"\x8b\x00\x80x\x03", "br")]
)
def test_a_body_that_cannot_be_decompressed_is_unchanged(body: bytes, encoding: str) -> None:
    shown = encode_body(answer(body, "text/plain", content_encoding=encoding), 1_000)
    assert isinstance(shown["base64"], str)
    assert b64decode(shown["base64"]) == body


def test_only_informative_headers_are_returned_and_shortened() -> None:
    got = select_headers(answer(b"", "text/plain", set_cookie="a=b", x_powered_by="x", etag="e" * 5_000))
    assert got == {"content-type": "text/plain", "etag": "e" * 1_000}
