"""The text form of a published catalogue, and the digest it is known by."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from signpost.model import CatalogueItem


def to_text(items: Sequence[CatalogueItem]) -> str:
    return json.dumps([asdict(item) for item in items], ensure_ascii=False, separators=(",", ":"))


def from_text(text: str) -> Sequence[CatalogueItem]:
    return [_item(row) for row in json.loads(text)]


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _item(row: dict[str, Any]) -> CatalogueItem:
    """Rows of an earlier release have less to say."""
    fields: dict[str, Any] = dict(row)
    fields["tags"], fields["aliases"] = tuple(row["tags"]), tuple(row.get("aliases", ()))
    return CatalogueItem(**fields)
