"""The hash chain of an instance: each write of its history has a link, whose hash covers the write and the link before.

A write that is changed, inserted, moved or removed does not fit the hashes of the others any more.
"""

import json
from hashlib import sha256

from signpost.model import JsonObject
from signpost.records import dataclass

FORMAT = "signpost-history-1"
"""The form of the hashed text. Another form gets another name, so that no text has a meaning in both."""


@dataclass(frozen=True, slots=True)
class HashLink:
    """The place of one write in the hash chain of an instance."""

    number: int
    """1 for the first write that has a link."""
    version: int
    """The version of the instance after the write."""
    at: float
    """When it was written; never before the link before it."""
    previous: str
    """The hash of the link before it; empty if there is none."""
    hash: str

    @property
    def fields(self) -> JsonObject:
        return {
            "number": self.number,
            "version": self.version,
            "at": self.at,
            "previous": self.previous,
            "hash": self.hash,
        }


def hash_record(record: JsonObject) -> str:
    """Hash the one JSON text that a record has: its names and the ends of its values are in the text, so no letter can
    move from one value to another."""
    text = json.dumps(record, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return sha256(text.encode()).hexdigest()


def build_link(before: HashLink | None, version: int, at: float, record: JsonObject) -> HashLink:
    """Return the link of a write that adds this record, after the link before it."""
    number, previous = (1, "") if before is None else (before.number + 1, before.hash)
    return HashLink(number, version, at, previous, _hash_place(number, version, at, previous, record))


def hash_link(link: HashLink, record: JsonObject) -> str:
    """Return the hash that a link with this record has."""
    return _hash_place(link.number, link.version, link.at, link.previous, record)


def _hash_place(number: int, version: int, at: float, previous: str, record: JsonObject) -> str:
    place: JsonObject = {"number": number, "version": version, "at": at, "previous": previous}
    return hash_record({"format": FORMAT, **place, "record": record})
