"""The lists of runs and of open approval requests: a row for each run in the list of its tenant and in that of its
starter, written with the step that it describes."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from signpost.adapters import keys
from signpost.adapters.dynamodb import rows
from signpost.adapters.dynamodb.rows import Attributes, Row
from signpost.workflow.instance import OpenApproval
from signpost.workflow.ports import ListedRequest, ListedRun, ListPage
from signpost.workflow.run_summary import RunSummary, starter_key
from signpost.workflow.running import serialization
from signpost.workflow.running.summaries import summary_of, summary_text

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


def build_run_rows(tenant: str, summary: RunSummary) -> Sequence[Attributes]:
    position = keys.run_position(summary.started_at, summary.workflow_id)
    starter = starter_key(summary.starter_issuer, summary.started_by)
    text: Attributes = {"text": {"S": summary_text(summary)}, **rows.schema_attribute()}
    return [{**keys.listed_run(tenant, owner, position), **text} for owner in (None, starter)]


def build_request_row(tenant: str, approval: OpenApproval, summary: RunSummary | None) -> Attributes:
    """Build the row of an open approval request, with the summary of its run: lists decide by it which principals see
    the request."""
    run: Attributes = {} if summary is None else {"run": {"S": summary_text(summary)}}
    text = {"S": serialization.open_approval_text(approval)}
    return {**keys.open_request(tenant, approval.request.id), "text": text, **run, **rows.schema_attribute()}


class DynamoRunLists:
    def __init__(self, client: "DynamoDBClient", table: str) -> None:
        self._client = client
        self._table = table

    def list_runs(self, tenant: str, starter: str | None, *, after: str, most: int) -> ListPage[ListedRun]:
        found, is_last = rows.query_page_before(self._client, self._table, keys.runs_of(tenant, starter), after, most)
        return ListPage([ListedRun(row["sk"]["S"], summary_of(row["text"]["S"])) for row in found], is_last)

    def list_requests(self, tenant: str, *, after: str, most: int) -> ListPage[ListedRequest]:
        partition = keys.open_requests_of(tenant)
        found, is_last = rows.query_page_before(self._client, self._table, partition, after, most)
        return ListPage([_listed_request(row) for row in found], is_last)

    def find_request(self, tenant: str, request_id: str) -> ListedRequest | None:
        key = keys.open_request(tenant, request_id)  # a query, since no function may get single rows of instances
        found = rows.query_between(self._client, self._table, key, key)
        return next((_listed_request(row) for row in found), None)


def _listed_request(row: Row) -> ListedRequest:
    summary = summary_of(row["run"]["S"]) if "run" in row else None
    return ListedRequest(row["sk"]["S"], serialization.open_approval_of(row["text"]["S"]), summary)
