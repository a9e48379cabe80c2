"""The store of workflow instances: a partition for each, with its current state, its history and its audit events.

One query reads the current state, others the history and the audit. Every step is written under a condition on the
head row. History and audit rows never change.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import batched
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from signpost.adapters import keys
from signpost.adapters.aws import code_of
from signpost.adapters.dynamodb import rows
from signpost.adapters.dynamodb.due import DUE_ATTRIBUTES, due_attributes, wake_attributes
from signpost.adapters.dynamodb.rows import Attributes, Row
from signpost.adapters.dynamodb.run_lists import build_request_row, build_run_rows
from signpost.errors import Unavailable
from signpost.workflow.hash_links import HashLink
from signpost.workflow.instance import (
    AuditEvent,
    Claim,
    EvidenceItem,
    Hop,
    Instance,
    InstanceWrite,
    OpenApproval,
    StoredTask,
    WriteCondition,
)
from signpost.workflow.running import serialization
from signpost.workflow.running.linked_writes import hash_note
from signpost.workflow.task_ends import TaskEnd

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

    from signpost.ports import TextStore

READ_ATTEMPTS = 5
"""Attempts to read an instance that is being written at the same time."""
QUESTIONS = "questions"
QUESTIONS_ATTRIBUTES = (QUESTIONS, f"kept_{QUESTIONS}")
LONGEST_IN_A_ROW = 32_000
"""Characters of context, input, arguments or questions in a row; a longer text is an object of the content bucket.

So a row stays cheap to read.
"""
EVENTS_IN_A_ROW = 50
"""Audit events in one row: each quotes at most a thousand characters of a failure, and a row has 400 KB."""


class DynamoInstanceStore:
    def __init__(self, client: "DynamoDBClient", table: str, values: "TextStore") -> None:
        self._client = client
        self._table = table
        self._values = values

    def load(self, tenant: str, workflow_id: str, may_see: Callable[[Instance], bool] | None = None) -> Instance | None:
        return self._instance_in(tenant, workflow_id, self._read_current_rows(tenant, workflow_id), may_see)

    def find_task(self, tenant: str, workflow_id: str, may_see: Callable[[Instance], bool]) -> StoredTask | None:
        by_name = self._read_current_rows(tenant, workflow_id)
        instance = self._instance_in(tenant, workflow_id, by_name, may_see)
        if instance is None:
            return None
        end = by_name.get(keys.TASK_END)
        return StoredTask(instance, None if end is None else self._read_task_end(tenant, end))

    def end_task(self, tenant: str, workflow_id: str, end: TaskEnd) -> TaskEnd:
        update = self._task_end_update(tenant, workflow_id, end)
        row = rows.repeat_write(self._client.update_item, **update, ReturnValues="ALL_NEW")["Attributes"]
        return self._read_task_end(tenant, row)

    def _read_task_end(self, tenant: str, row: Row) -> TaskEnd:
        """Read the end in its row, whose attribute is a row of a text, long ones being objects of the bucket."""
        return serialization.task_end_of(self._read_text(tenant, row["ended"]["M"]))

    def _instance_in(
        self, tenant: str, workflow_id: str, by_name: Mapping[str, Row], may_see: Callable[[Instance], bool] | None
    ) -> Instance | None:
        if keys.HEAD not in by_name:
            return None
        if may_see is not None and not may_see(serialization.head_of(workflow_id, by_name[keys.HEAD]["text"]["S"])):
            return None
        context, input_text = (self._read_text(tenant, by_name[name]) for name in (keys.CONTEXT, keys.INPUT))
        head = by_name[keys.HEAD]
        return serialization.instance_of(
            workflow_id, head["text"]["S"], context, input_text, self._claim_in(tenant, head)
        )

    def _read_current_rows(self, tenant: str, workflow_id: str) -> Mapping[str, Row]:
        """Read the rows of the current state, again if a query saw a part of a transaction only."""
        for _ in range(READ_ATTEMPTS):
            found = rows.query(self._client, self._table, keys.workflow(tenant, workflow_id), sk_begins=keys.CURRENT)
            by_name = {row["sk"]["S"]: row for row in found}
            if keys.HEAD not in by_name or _is_whole(by_name[keys.HEAD], by_name.get(keys.CONTEXT)):
                return by_name
        raise Unavailable(f"The workflow instance {workflow_id} changed during every read.")

    def save(self, tenant: str, entry: InstanceWrite, *, replacing: WriteCondition | None) -> bool:
        return rows.transact(self._client, self._writes(tenant, entry, replacing), token=entry.token)

    def hold(
        self, tenant: str, workflow_id: str, claim: Claim, *, replacing: WriteCondition, due_at: float | None
    ) -> Claim | None:
        """Claim a step by one conditional write. The refusal of the write returns the row with the claim in the way."""
        due = due_attributes(workflow_id, due_at)
        values = {**self._claim_attributes(tenant, claim), **due}
        stale = (*(() if due else DUE_ATTRIBUTES), *QUESTIONS_ATTRIBUTES)
        removed = ", ".join(["wake", *(name for name in stale if name not in values)])
        condition = _condition_attributes(replacing)
        try:
            rows.repeat_write(
                self._client.update_item,
                TableName=self._table,
                Key=keys.workflow_row(tenant, workflow_id, keys.HEAD),
                UpdateExpression=f"SET {', '.join(f'{name} = :new_{name}' for name in values)} REMOVE {removed}",
                ConditionExpression=condition["ConditionExpression"],
                ExpressionAttributeValues={
                    **condition["ExpressionAttributeValues"],
                    **{f":new_{name}": value for name, value in values.items()},
                },
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
            )
        except ClientError as fault:
            if code_of(fault) != "ConditionalCheckFailedException":
                raise
            return self._conflicting_claim(tenant, fault.response.get("Item"), replacing)
        return claim

    def _conflicting_claim(self, tenant: str, head: Row | None, expected: WriteCondition) -> Claim | None:
        """Return the claim that the refused write met; the caller's own if an earlier answer to it was lost.

        None if the instance has another version or does not exist.
        """
        if head is None or int(head["version"]["N"]) != expected.version:
            return None
        return self._claim_in(tenant, head)

    def _writes(self, tenant: str, entry: InstanceWrite, replacing: WriteCondition | None) -> list[Any]:
        instance = entry.instance
        audit = _build_audit_rows(tenant, instance.id, entry.events, entry.link)
        writes = [
            rows.build_put(self._table, self._head_row(tenant, entry), _condition_attributes(replacing)),
            *(rows.build_put(self._table, row) for row in audit),
        ]
        if replacing is None or replacing.version != instance.version:
            writes += [
                rows.build_put(self._table, self._context_row(tenant, instance)),
                rows.build_put(self._table, self._history_row(tenant, entry)),
            ]
        if (approval := serialization.find_open_approval(instance)) is not None:
            writes.append(rows.build_put(self._table, build_request_row(tenant, approval, entry.summary)))
        if entry.summary is not None:
            writes += [rows.build_put(self._table, row) for row in build_run_rows(tenant, entry.summary)]
        if entry.closed_request_id is not None:
            writes.append(rows.build_delete(self._table, keys.open_request(tenant, entry.closed_request_id)))
        if entry.task_end is not None:
            writes.append({"Update": self._task_end_update(tenant, instance.id, entry.task_end)})
        if replacing is None:
            writes.append(
                rows.build_put(
                    self._table, self._text_row(tenant, instance.id, keys.INPUT, serialization.text_of(instance.input))
                )
            )
        return writes

    def _head_row(self, tenant: str, entry: InstanceWrite) -> Attributes:
        instance = entry.instance
        return {
            **keys.workflow_row(tenant, instance.id, keys.HEAD),
            "version": rows.number(instance.version),
            "releases": rows.number(instance.releases),
            "text": {"S": serialization.head_text(instance)},
            **(self._claim_attributes(tenant, instance.claim) if instance.claim is not None else {}),
            **due_attributes(instance.id, entry.due_at),
            **wake_attributes(entry.wakes),
            **rows.schema_attribute(),
        }

    def _claim_attributes(self, tenant: str, claim: Claim) -> Attributes:
        questions = serialization.questions_text(claim)
        return {
            "claimed_by": {"S": claim.token},
            "claim": {"S": serialization.claim_text(claim)},
            **self._long_attributes(tenant, "arguments", serialization.text_of(claim.job.arguments)),
            **(self._long_attributes(tenant, QUESTIONS, questions) if questions else {}),
        }

    def _long_attributes(self, tenant: str, name: str, text: str) -> Attributes:
        """Return the attribute of a text. Of a long one it is empty, and another one names the object with the text."""
        if len(text) <= LONGEST_IN_A_ROW:
            return {name: {"S": text}}
        return {name: {"S": ""}, f"kept_{name}": {"S": self._values.keep(tenant, text)}}

    def _claim_in(self, tenant: str, head: Row) -> Claim | None:
        if "claim" not in head:
            return None
        arguments = self._read_long_attribute(tenant, head, "arguments")
        questions = self._read_long_attribute(tenant, head, QUESTIONS) if QUESTIONS in head else ""
        return serialization.claim_of(head["claim"]["S"], arguments, questions)

    def _read_long_attribute(self, tenant: str, head: Row, name: str) -> str:
        return head[name]["S"] or self._values.read(tenant, head[f"kept_{name}"]["S"])

    def note(self, tenant: str, workflow_id: str, events: Sequence[AuditEvent]) -> None:
        for row in _build_audit_rows(tenant, workflow_id, events, None):
            rows.repeat_write(self._client.put_item, TableName=self._table, Item=row)

    def list_open_approvals(self, tenant: str) -> Sequence[OpenApproval]:
        found = rows.query(self._client, self._table, keys.open_requests_of(tenant))
        approvals = [serialization.open_approval_of(row["text"]["S"]) for row in found]
        return sorted(approvals, key=lambda approval: approval.request.asked_at)

    def history(self, tenant: str, workflow_id: str) -> Sequence[tuple[Sequence[Hop], Sequence[EvidenceItem]]]:
        found = rows.query(self._client, self._table, keys.workflow(tenant, workflow_id), sk_begins=keys.HISTORY)
        return [serialization.history_of(row["text"]["S"]) for row in found]

    def audit(self, tenant: str, workflow_id: str) -> Sequence[AuditEvent]:
        found = rows.query(self._client, self._table, keys.workflow(tenant, workflow_id), sk_begins=keys.AUDIT)
        return [
            event
            for row in found
            for event in serialization.audit_of(row["text"]["S"], row["correlation"]["S"], row["subject"]["S"])
        ]

    def _history_row(self, tenant: str, entry: InstanceWrite) -> Attributes:
        return {
            **keys.workflow_row(tenant, entry.instance.id, keys.history(entry.instance.version)),
            "text": {"S": serialization.history_text(entry)},
            **_link_attributes(entry.link),
            **rows.schema_attribute(),
        }

    def _task_end_update(self, tenant: str, workflow_id: str, end: TaskEnd) -> Attributes:
        """Build the update that keeps the end of a task. The end that is kept first stays: workers and requests may
        write ends at the same time, and a client that was shown one must not be shown another."""
        return {
            "TableName": self._table,
            "Key": keys.workflow_row(tenant, workflow_id, keys.TASK_END),
            "UpdateExpression": "SET ended = if_not_exists(ended, :ended), #schema = :schema",
            "ExpressionAttributeNames": {"#schema": "schema"},
            "ExpressionAttributeValues": {
                ":ended": {"M": self._text_attribute(tenant, serialization.task_end_text(end))},
                ":schema": rows.number(keys.SCHEMA),
            },
        }

    def _text_row(self, tenant: str, workflow_id: str, name: str, text: str) -> Attributes:
        value = self._text_attribute(tenant, text)
        return {**keys.workflow_row(tenant, workflow_id, name), **value, **rows.schema_attribute()}

    def _text_attribute(self, tenant: str, text: str) -> Attributes:
        """Build the attribute of a text; a long text is an object of the bucket."""
        if len(text) > LONGEST_IN_A_ROW:
            return {"kept": {"S": self._values.keep(tenant, text)}}
        return {"text": {"S": text}}

    def _context_row(self, tenant: str, instance: Instance) -> Attributes:
        row = self._text_row(tenant, instance.id, keys.CONTEXT, serialization.text_of(instance.context))
        return {**row, "version": rows.number(instance.version)}

    def _read_text(self, tenant: str, row: Row) -> str:
        return row["text"]["S"] if "text" in row else self._values.read(tenant, row["kept"]["S"])


def _build_audit_rows(
    tenant: str, workflow_id: str, events: Sequence[AuditEvent], link: HashLink | None
) -> Sequence[Attributes]:
    """Pack the events into as few rows as possible: the events of one call share subject, correlation and link."""
    return [
        {
            **keys.workflow_row(tenant, workflow_id, _audit_key(batch, part, link)),
            "correlation": {"S": batch[0].correlation_id},
            "subject": {"S": batch[0].subject},
            "text": {"S": serialization.audit_text(batch)},
            **(_link_attributes(link) or {"hash": {"S": hash_note(tenant, workflow_id, batch)}}),
            **rows.schema_attribute(),
        }
        for part, batch in enumerate(batched(events, EVENTS_IN_A_ROW, strict=False))
    ]


def _audit_key(events: Sequence[AuditEvent], part: int, link: HashLink | None) -> str:
    return keys.audit(events[0].at, events[0].correlation_id, None if link is None else link.number, part)


def _link_attributes(link: HashLink | None) -> Attributes:
    return {} if link is None else {"link": {"S": serialization.link_text(link)}}


def _is_whole(head: Row, context: Row | None) -> bool:
    """Tell whether head and context are of one version: each version is written with a context of its own."""
    if context is None:
        return False
    return "version" not in context or context["version"] == head["version"]


def _condition_attributes(expected: WriteCondition | None) -> Attributes:
    if expected is None:
        return {"ConditionExpression": "attribute_not_exists(pk)"}
    version = {":version": rows.number(expected.version)}
    if expected.token is None:
        releases = "releases = :releases"
        if expected.releases == 0:
            releases = (
                f"(attribute_not_exists(releases) OR {releases})"  # rows of a release without claims have no releases
            )
        condition = f"version = :version AND {releases} AND attribute_not_exists(claimed_by)"
        values = {**version, ":releases": rows.number(expected.releases)}
        return {"ConditionExpression": condition, "ExpressionAttributeValues": values}
    return {
        "ConditionExpression": "version = :version AND claimed_by = :token",
        "ExpressionAttributeValues": {**version, ":token": {"S": expected.token}},
    }
