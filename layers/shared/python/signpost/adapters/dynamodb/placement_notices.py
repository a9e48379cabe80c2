"""The events of placements, which take several transactions.

The executor's row keeps the names of its callable skills from before the placement until the last transaction, which
writes the outbox rows of the events. So a placement that was interrupted and is completed later has all of its events.
"""

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from signpost.adapters import keys
from signpost.adapters.dynamodb import rows
from signpost.adapters.dynamodb.outbox import row_of_load
from signpost.adapters.dynamodb.rows import Attributes, Row
from signpost.adapters.dynamodb.scopes import row_of_scope
from signpost.directory.load_notices import SkillNames

if TYPE_CHECKING:
    from signpost.directory.model import LoadNotice

NAMES_ATTRIBUTE = "skills_before"
LONGEST_NOTICES = 300_000
"""Bytes of the notices in one outbox row, below the limit of 400 KB of a row."""
NO_NAMES = SkillNames(frozenset(), frozenset())
"""The names of shipped functions, about which no tenant is notified."""


def names_in(row: Row | None, names: SkillNames) -> SkillNames:
    """Return the names with those that an interrupted placement has kept in the executor's row."""
    if row is None or NAMES_ATTRIBUTE not in row:
        return names
    return SkillNames(rows.set_of_texts(row, NAMES_ATTRIBUTE), names.after)


def names_attribute(names: SkillNames) -> Attributes:
    return {NAMES_ATTRIBUTE: rows.text_set(names.before)}


def outbox_puts(table: str, tenant: str | None, revision: int, names: SkillNames) -> Iterator[Any]:
    """Build the writes of the events, one row for as many as fit."""
    if tenant is None or not names.notices:
        return
    for part, notices in enumerate(_split(names.notices)):
        row = {**row_of_load(tenant, revision, notices), **keys.outbox_row_of_load(tenant, revision, part)}
        yield rows.build_put(table, row)
    yield rows.build_put(table, row_of_scope(tenant))


def _split(notices: "Sequence[LoadNotice]") -> "Iterator[Sequence[LoadNotice]]":
    batch: list[LoadNotice] = []
    size = 0
    for notice in notices:
        length = len(json.dumps([notice.op, notice.name], ensure_ascii=False).encode()) + 2
        if batch and size + length > LONGEST_NOTICES:
            yield batch
            batch, size = [], 0
        batch.append(notice)
        size += length
    yield batch
