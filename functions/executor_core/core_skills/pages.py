"""Encoding of fetched bodies as JSON: text, or base64 for other data."""

import codecs
import re
import zlib
from base64 import b64encode
from collections.abc import Mapping

from signpost.model import JsonObject
from signpost.web import WebAnswer

SHOWN_HEADERS = (
    "age", "allow", "cache-control", "content-disposition", "content-encoding", "content-language", "content-length",
    "content-range", "content-type", "date", "etag", "expires", "last-modified", "link", "location", "retry-after",
)  # fmt: skip
"""Headers that describe the fetched document. The rest is for browsers, or sets cookies."""
LONGEST_HEADER = 1_000
TEXTUAL = re.compile(
    r"text/.*|.*[/+](json|xml|yaml|javascript|ecmascript|csv|markdown|x-ndjson|x-www-form-urlencoded|graphql|toml|sql)",
)
CHARSET = re.compile(r"charset\s*=\s*[\"']?([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)
META_CHARSET = re.compile(rb"<meta[^>]{0,200}charset\s*=\s*[\"']?([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)
META_SEARCH_BYTES = 1_024
"""Bytes at the start of a page in which its charset declaration is searched."""
CHARSETS = re.compile(
    r"utf-(8|8-sig|16|32)(-[bl]e)?|ascii|iso8859-\d+|cp(125\d|437|850|866|932|949|950)|koi8-[rtu]|gb(2312|k|18030)|hz"
    r"|big5(hkscs)?|shift_jis(x0213|_2004)?|euc_(jp|kr)|iso2022_(jp|kr)|mac-(roman|cyrillic)|tis-620"
)
"""The accepted charsets. Python's other codecs are no charsets, or may take very long."""
BYTE_ORDER_MARKS: Mapping[bytes, str] = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
GZIP = 16 + zlib.MAX_WBITS


def select_headers(answer: WebAnswer) -> dict[str, str]:
    return {name: answer.headers[name][:LONGEST_HEADER] for name in SHOWN_HEADERS if name in answer.headers}


def encode_body(answer: WebAnswer, max_bytes: int) -> JsonObject:
    """Encode the body of an answer, and whether it was truncated."""
    body, is_cut = _inflate(answer, max_bytes)
    text = None if body is None else _decode(body, answer.headers.get("content-type", ""), is_cut=is_cut)
    if text is not None:
        return {"text": text, "truncated": is_cut}
    return {"base64": b64encode(answer.body if body is None else body).decode(), "truncated": is_cut}


def _inflate(answer: WebAnswer, max_bytes: int) -> tuple[bytes | None, bool]:
    """Unpack a body; None if its encoding is unknown. Requests ask for no encoding, but some servers use one."""
    encoding = answer.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("gzip", "x-gzip"):
        return (answer.body if encoding in ("", "identity") else None), answer.is_cut
    decompressor = zlib.decompressobj(GZIP)
    try:
        body = decompressor.decompress(answer.body, max_bytes)
    except zlib.error:
        return None, answer.is_cut
    return body, not decompressor.eof


def _decode(body: bytes, content_type: str, *, is_cut: bool) -> str | None:
    kind = content_type.partition(";")[0].strip().lower()
    charset = _find_charset(body, content_type)
    if kind and not TEXTUAL.fullmatch(kind):
        return None
    if b"\0" in body and not charset.startswith("utf-16") and not charset.startswith("utf-32"):
        return None
    decoder = codecs.getincrementaldecoder(charset)("replace" if kind else "strict")
    try:
        return decoder.decode(body, final=not is_cut)  # not final if cut: the last character may be incomplete
    except UnicodeError:
        return None


def _find_charset(body: bytes, content_type: str) -> str:
    """Find the charset of a body: by its byte order mark, else its content type, else its meta element, else UTF-8."""
    by_mark = next((charset for mark, charset in BYTE_ORDER_MARKS.items() if body.startswith(mark)), None)
    declared = CHARSET.search(content_type)
    in_page = META_CHARSET.search(body[:META_SEARCH_BYTES])
    name = by_mark or (declared and declared[1]) or (in_page and in_page[1].decode("ascii")) or "utf-8"
    try:
        codec_name = codecs.lookup(name).name
    except LookupError:
        return "utf-8"
    return codec_name if CHARSETS.fullmatch(codec_name) else "utf-8"
