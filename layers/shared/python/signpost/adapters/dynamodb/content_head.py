"""The row by which changes of skill documents and prompts in a scope follow each other."""

from signpost.adapters import keys
from signpost.adapters.dynamodb import rows
from signpost.adapters.dynamodb.rows import Attributes, Row
from signpost.records import dataclass


@dataclass(frozen=True, slots=True)
class Head:
    version: int = 0
    """The sequence number of the last change."""
    overlay: str | None = None
    """The key of a publication that is not in its rows yet."""
    written: int = 0
    """How many of its changes are."""
    settled_at: float | None = None
    """When the last overlay came off."""
    catalogue: str | None = None
    """The digest of the snapshot of the catalogue that is the current one."""
    policies: str | None = None
    """The digest of the tenant's rules that are the current ones."""


def head_in(row: Row | None) -> Head:
    if row is None:
        return Head()
    return Head(
        version=int(row["version"]["N"]),
        overlay=row["overlay"]["S"] if "overlay" in row else None,
        written=rows.optional_integer(row, "written") or 0,
        settled_at=rows.optional_number(row, "settled_at"),
        catalogue=row["catalogue"]["S"] if "catalogue" in row else None,
        policies=row["policies"]["S"] if "policies" in row else None,
    )


def head_row(tenant: str | None, head: Head) -> Attributes:
    named = {"overlay": head.overlay, "catalogue": head.catalogue, "policies": head.policies}
    texts: Attributes = {name: {"S": text} for name, text in named.items() if text is not None}
    return {
        **keys.content_version(tenant),
        **texts,
        **rows.numbers({"version": head.version, "written": head.written, "settled_at": head.settled_at}),
        **rows.schema(),
    }


def unchanged(head: Head) -> Attributes:
    """The condition that nobody moved it. An overlay comes with a version of its own, which it stays at."""
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
