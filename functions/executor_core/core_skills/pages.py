"""What was fetched, as JSON: text where it is text, else base64."""

import codecs
import re
import zlib
from base64 import b64encode
from collections.abc import Mapping

from signpost.model import JsonObject
from signpost.web import WebAnswer

TELLING = (
    "age", "allow", "cache-control", "content-disposition", "content-encoding", "content-language", "content-length",
    "content-range", "content-type", "date", "etag", "expires", "last-modified", "link", "location", "retry-after",
)  # fmt: skip
"""Headers that say something of what was fetched. The rest is for browsers, or sets cookies."""
LONGEST_HEADER = 1_000
TEXTUAL = re.compile(
    r"text/.*|.*[/+](json|xml|yaml|javascript|ecmascript|csv|markdown|x-ndjson|x-www-form-urlencoded|graphql|toml|sql)",
)
CHARSET = re.compile(r"charset\s*=\s*[\"']?([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)
IN_PAGE = re.compile(rb"<meta[^>]{0,200}charset\s*=\s*[\"']?([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)
LOOKED_AT = 1_024
"""Bytes of a page among which it may say its charset."""
CHARSETS = re.compile(
    r"utf-(8|8-sig|16|32)(-[bl]e)?|ascii|iso8859-\d+|cp(125\d|437|850|866|932|949|950)|koi8-[rtu]|gb(2312|k|18030)|hz"
    r"|big5(hkscs)?|shift_jis(x0213|_2004)?|euc_(jp|kr)|iso2022_(jp|kr)|mac-(roman|cyrillic)|tis-620"
)
"""Python has other codecs, some of which are no charsets or take very long."""
MARKS: Mapping[bytes, str] = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
GZIP = 16 + zlib.MAX_WBITS


def told(answer: WebAnswer) -> dict[str, str]:
    return {name: answer.headers[name][:LONGEST_HEADER] for name in TELLING if name in answer.headers}


def read(answer: WebAnswer, most_bytes: int) -> JsonObject:
    """The body, and whether there was more of it."""
    body, is_cut = _inflated(answer, most_bytes)
    text = None if body is None else _text(body, answer.headers.get("content-type", ""), is_cut=is_cut)
    if text is not None:
        return {"text": text, "truncated": is_cut}
    return {"base64": b64encode(answer.body if body is None else body).decode(), "truncated": is_cut}


def _inflated(answer: WebAnswer, most_bytes: int) -> tuple[bytes | None, bool]:
    """None if it is packed in a way that is not known. Nobody is asked to pack, and some do."""
    encoding = answer.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("gzip", "x-gzip"):
        return (answer.body if encoding in ("", "identity") else None), answer.is_cut
    unpacking = zlib.decompressobj(GZIP)
    try:
        body = unpacking.decompress(answer.body, most_bytes)
    except zlib.error:
        return None, answer.is_cut
    return body, not unpacking.eof


def _text(body: bytes, content_type: str, *, is_cut: bool) -> str | None:
    kind = content_type.partition(";")[0].strip().lower()
    charset = _charset(body, content_type)
    if kind and not TEXTUAL.fullmatch(kind):
        return None
    if b"\0" in body and not charset.startswith("utf-16") and not charset.startswith("utf-32"):
        return None
    decoder = codecs.getincrementaldecoder(charset)("replace" if kind else "strict")
    try:
        return decoder.decode(body, final=not is_cut)  # the last character may be cut in two
    except UnicodeError:
        return None


def _charset(body: bytes, content_type: str) -> str:
    """As the body's first bytes say, else its header, else the page itself."""
    marked = next((charset for mark, charset in MARKS.items() if body.startswith(mark)), None)
    declared = CHARSET.search(content_type)
    in_page = IN_PAGE.search(body[:LOOKED_AT])
    named = marked or (declared and declared[1]) or (in_page and in_page[1].decode("ascii")) or "utf-8"
    try:
        known = codecs.lookup(named).name
    except LookupError:
        return "utf-8"
    return known if CHARSETS.fullmatch(known) else "utf-8"
