"""Instances of workflows: a partition each, in which one query reads what decides and another what has happened.

The row that decides is conditioned on by every step. What came before it is in rows that are never changed.
"""

from collections.abc import Mapping, Sequence
from itertools import batched
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from signpost.adapters import keys
from signpost.adapters.aws import code_of
from signpost.adapters.dynamodb import rows
from signpost.adapters.dynamodb.due import due_attributes, wake_attributes
from signpost.adapters.dynamodb.rows import Attributes, Row
from signpost.errors import Unavailable
from signpost.ports import Texts
from signpost.workflow import story
from signpost.workflow.instance import AuditEvent, Claim, Entry, EvidenceItem, Hop, Instance, Stand, Waiting

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

READINGS = 5
"""As often it is read again while somebody writes it."""
LONGEST_IN_A_ROW = 32_000
"""Characters of context or input. What is longer is an object of the bucket, so that the row stays cheap to read."""
EVENTS_IN_A_ROW = 50
"""Each quotes a thousand characters of a failure at most, and a row has 400 KB."""


class DynamoInstances:
    def __init__(self, client: "DynamoDBClient", table: str, values: Texts) -> None:
        self._client = client
        self._table = table
        self._values = values

    def load(self, tenant: str, workflow_id: str) -> Instance | None:
        by_name = self._now(tenant, workflow_id)
        if keys.HEAD not in by_name:
            return None
        context, given = (self._value(tenant, by_name[name]) for name in (keys.CONTEXT, keys.INPUT))
        head = by_name[keys.HEAD]
        return story.instance_of(workflow_id, head["text"]["S"], context, given, self._claim_in(tenant, head))

    def _now(self, tenant: str, workflow_id: str) -> Mapping[str, Row]:
        """A query may see a part of a transaction: rows of two versions are no stand."""
        for _ in range(READINGS):
            found = rows.query(self._client, self._table, keys.workflow(tenant, workflow_id), sk_begins=keys.NOW)
            by_name = {row["sk"]["S"]: row for row in found}
            if keys.HEAD not in by_name or _is_whole(by_name[keys.HEAD], by_name.get(keys.CONTEXT)):
                return by_name
        raise Unavailable(f"{workflow_id} was changed whenever it was read.")

    def save(self, tenant: str, entry: Entry, *, replacing: Stand | None) -> bool:
        written = self._writes(tenant, entry, replacing)
        return rows.transact(self._client, written, token=entry.token)

    def hold(
        self, tenant: str, workflow_id: str, claim: Claim, *, replacing: Stand, due_at: float | None
    ) -> Claim | None:
        """One conditional write, whose refusal says who is in the way."""
        due = due_attributes(workflow_id, due_at)
        values = {**self._claim(tenant, claim), **due}
        gone = "wake" if due else "wake, due_shard, due_at"
        stands = _stands(replacing)
        try:
            rows.repeated(
                self._client.update_item,
                TableName=self._table,
                Key=keys.workflow_row(tenant, workflow_id, keys.HEAD),
                UpdateExpression=f"SET {', '.join(f'{name} = :new_{name}' for name in values)} REMOVE {gone}",
                ConditionExpression=stands["ConditionExpression"],
                ExpressionAttributeValues={
                    **stands["ExpressionAttributeValues"],
                    **{f":new_{name}": value for name, value in values.items()},
                },
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
            )
        except ClientError as fault:
            if code_of(fault) != "ConditionalCheckFailedException":
                raise
            return self._in_the_way(tenant, fault.response.get("Item"), replacing)
        return claim

    def _in_the_way(self, tenant: str, head: Row | None, expected: Stand) -> Claim | None:
        """Ours, if it was an answer to us that was lost."""
        if head is None or int(head["version"]["N"]) != expected.version:
            return None
        return self._claim_in(tenant, head)

    def _writes(self, tenant: str, entry: Entry, replacing: Stand | None) -> list[Any]:
        instance = entry.instance
        written = [
            self._put(self._head(tenant, entry), _stands(replacing)),
            *(self._put(row) for row in self._audit(tenant, instance.id, entry.events)),
        ]
        if replacing is None or replacing.version != instance.version:
            written += [
                self._put(self._context(tenant, instance)),
                self._put(self._history(tenant, entry)),
            ]
        if (waiting := story.open_request(instance)) is not None:
            row = {**keys.waiting(tenant, waiting.request.id), "text": {"S": story.waiting_text(waiting)}}
            written.append(self._put({**row, **rows.schema()}))
        if entry.closed is not None:
            written.append({"Delete": {"TableName": self._table, "Key": keys.waiting(tenant, entry.closed)}})
        if replacing is None:
            written.append(self._put(self._long(tenant, instance.id, keys.INPUT, story.text_of(instance.input))))
        return written

    def _head(self, tenant: str, entry: Entry) -> Attributes:
        instance = entry.instance
        return {
            **keys.workflow_row(tenant, instance.id, keys.HEAD),
            "version": rows.number(instance.version),
            "releases": rows.number(instance.releases),
            "text": {"S": story.head_text(instance)},
            **(self._claim(tenant, instance.claim) if instance.claim is not None else {}),
            **due_attributes(instance.id, entry.due_at),
            **wake_attributes(entry.wakes),
            **rows.schema(),
        }

    def _claim(self, tenant: str, claim: Claim) -> Attributes:
        arguments = story.text_of(claim.job.arguments)
        place: Attributes = {"arguments": {"S": arguments}}
        if len(arguments) > LONGEST_IN_A_ROW:
            place = {"arguments": {"S": ""}, "kept_arguments": {"S": self._values.keep(tenant, arguments)}}
        return {"claimed_by": {"S": claim.token}, "claim": {"S": story.claim_text(claim)}, **place}

    def _claim_in(self, tenant: str, head: Row) -> Claim | None:
        if "claim" not in head:
            return None
        arguments = head["arguments"]["S"] or self._values.read(tenant, head["kept_arguments"]["S"])
        return story.claim_of(head["claim"]["S"], arguments)

    def note(self, tenant: str, workflow_id: str, events: Sequence[AuditEvent]) -> None:
        for row in self._audit(tenant, workflow_id, events):
            rows.repeated(self._client.put_item, TableName=self._table, Item=row)

    def waiting(self, tenant: str) -> Sequence[Waiting]:
        found = rows.query(self._client, self._table, keys.waiting_of(tenant))
        waiting = [story.waiting_of(row["text"]["S"]) for row in found]
        return sorted(waiting, key=lambda one: one.request.asked_at)

    def history(self, tenant: str, workflow_id: str) -> Sequence[tuple[Sequence[Hop], Sequence[EvidenceItem]]]:
        found = rows.query(self._client, self._table, keys.workflow(tenant, workflow_id), sk_begins=keys.HISTORY)
        return [story.history_of(row["text"]["S"]) for row in found]

    def audit(self, tenant: str, workflow_id: str) -> Sequence[AuditEvent]:
        found = rows.query(self._client, self._table, keys.workflow(tenant, workflow_id), sk_begins=keys.AUDIT)
        return [
            event
            for row in found
            for event in story.audit_of(row["text"]["S"], row["correlation"]["S"], row["subject"]["S"])
        ]

    def _history(self, tenant: str, entry: Entry) -> Attributes:
        return {
            **keys.workflow_row(tenant, entry.instance.id, keys.history(entry.instance.version)),
            "text": {"S": story.history_text(entry)},
            **rows.schema(),
        }

    def _audit(self, tenant: str, workflow_id: str, events: Sequence[AuditEvent]) -> Sequence[Attributes]:
        """As few rows as take them: the events of a call share who and when."""
        return [
            self._audit_row(tenant, workflow_id, some, part)
            for part, some in enumerate(batched(events, EVENTS_IN_A_ROW, strict=False))
        ]

    def _audit_row(self, tenant: str, workflow_id: str, events: Sequence[AuditEvent], part: int) -> Attributes:
        first = events[0]
        place = f"{first.correlation_id}#{part}" if part else first.correlation_id
        return {
            **keys.workflow_row(tenant, workflow_id, keys.audit(first.at, place)),
            "correlation": {"S": first.correlation_id},
            "subject": {"S": first.subject},
            "text": {"S": story.audit_text(events)},
            **rows.schema(),
        }

    def _long(self, tenant: str, workflow_id: str, name: str, text: str) -> Attributes:
        value: Attributes = {"text": {"S": text}}
        if len(text) > LONGEST_IN_A_ROW:
            value = {"kept": {"S": self._values.keep(tenant, text)}}
        return {**keys.workflow_row(tenant, workflow_id, name), **value, **rows.schema()}

    def _context(self, tenant: str, instance: Instance) -> Attributes:
        row = self._long(tenant, instance.id, keys.CONTEXT, story.text_of(instance.context))
        return {**row, "version": rows.number(instance.version)}

    def _value(self, tenant: str, row: Row) -> str:
        return row["text"]["S"] if "text" in row else self._values.read(tenant, row["kept"]["S"])

    def _put(self, row: Attributes, condition: Attributes | None = None) -> Any:
        return {"Put": {"TableName": self._table, "Item": row, **(condition or {})}}


def _is_whole(head: Row, context: Row | None) -> bool:
    """Each version has a context of its own, written with it."""
    if context is None:
        return False
    return "version" not in context or context["version"] == head["version"]


def _stands(stand: Stand | None) -> Attributes:
    if stand is None:
        return {"ConditionExpression": "attribute_not_exists(pk)"}
    version = {":version": rows.number(stand.version)}
    if stand.token is None:
        releases = "releases = :releases"
        if stand.releases == 0:
            releases = f"(attribute_not_exists(releases) OR {releases})"  # rows of a release that knew no claims
        condition = f"version = :version AND {releases} AND attribute_not_exists(claimed_by)"
        values = {**version, ":releases": rows.number(stand.releases)}
        return {"ConditionExpression": condition, "ExpressionAttributeValues": values}
    return {
        "ConditionExpression": "version = :version AND claimed_by = :token",
        "ExpressionAttributeValues": {**version, ":token": {"S": stand.token}},
    }
