"""The content head: the one row of a scope whose version orders all changes of its content."""

from signpost.adapters import keys
from signpost.adapters.dynamodb import rows
from signpost.adapters.dynamodb.rows import Attributes, Row
from signpost.records import dataclass


@dataclass(frozen=True, slots=True)
class ContentHead:
    version: int = 0
    """The sequence number of the last change."""
    overlay: str | None = None
    """The object key of a change batch that is committed but not yet written into its rows."""
    written: int = 0
    """The number of the overlay's changes that are written into rows."""
    settled_at: float | None = None
    """The time at which the last overlay was finished."""
    catalogue: str | None = None
    """The digest of the current snapshot of the catalogue."""
    policies: str | None = None
    """The digest of the tenant's current rules."""


def head_in(row: Row | None) -> ContentHead:
    if row is None:
        return ContentHead()
    return ContentHead(
        version=int(row["version"]["N"]),
        overlay=row["overlay"]["S"] if "overlay" in row else None,
        written=rows.optional_integer(row, "written") or 0,
        settled_at=rows.optional_number(row, "settled_at"),
        catalogue=row["catalogue"]["S"] if "catalogue" in row else None,
        policies=row["policies"]["S"] if "policies" in row else None,
    )


def head_row(tenant: str | None, head: ContentHead) -> Attributes:
    optional = {"overlay": head.overlay, "catalogue": head.catalogue, "policies": head.policies}
    texts: Attributes = {name: {"S": text} for name, text in optional.items() if text is not None}
    return {
        **keys.content_version(tenant),
        **texts,
        **rows.numbers({"version": head.version, "written": head.written, "settled_at": head.settled_at}),
        **rows.schema_attribute(),
    }


def unchanged_condition(head: ContentHead) -> Attributes:
    """Build the condition that the head's row is still as it was read.

    While there is an overlay the version does not change, so the condition compares the overlay and its progress.
    """
    if head.version == 0:
        return {"ConditionExpression": "attribute_not_exists(pk)"}
    if head.overlay is None:
        return {
            "ConditionExpression": "version = :version",
            "ExpressionAttributeValues": {":version": rows.number(head.version)},
        }
    return {
        "ConditionExpression": "overlay = :overlay AND written = :written",
        "ExpressionAttributeValues": {":overlay": {"S": head.overlay}, ":written": rows.number(head.written)},
    }
