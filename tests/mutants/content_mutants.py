"""Mutants of content: changes, their events, and their subscribers."""

from tests.mutants.mutant import Mutant

_SHARED = "layers/shared/python/signpost"

CONTENT_MUTANTS = (
    Mutant(
        name="outbox-row-skipped",
        invariant=42,
        file=f"{_SHARED}/adapters/dynamodb/content_store.py",
        there="for row in outbox.rows_of_changes(tenant, head.version + 1, effective)",
        instead="for row in outbox.rows_of_changes(tenant, head.version + 1, effective[1:])",
        tests=("tests/contract/test_content.py",),
        needs="table",
    ),
    Mutant(
        name="outbox-rows-never-expire",
        invariant=44,
        file=f"{_SHARED}/adapters/dynamodb/outbox.py",
        there='return {"expires_at": rows.number(int(time()) + RETENTION_SECONDS), **rows.schema_attribute()}',
        instead="return rows.schema_attribute()",
        tests=("tests/contract/test_content_interruptions.py::test_an_outbox_row_holds_its_change_and_expires",),
        needs="table",
    ),
    Mutant(
        name="publication-over-a-moved-catalogue",
        invariant=8,
        file=f"{_SHARED}/adapters/dynamodb/content_head.py",
        there='"ConditionExpression": "version = :version",',
        instead='"ConditionExpression": "version >= :version",',
        tests=("tests/contract/test_content.py",),
        needs="table",
    ),
    Mutant(
        name="refused-event-forgotten",
        invariant=44,
        file=f"{_SHARED}/entrypoints/stream_batch.py",
        there="                return refused[0]\n",
        instead="                continue\n",
        tests=("tests/interaction/test_content_relay.py",),
    ),
    Mutant(
        name="webhook-secret-signs-for-other-urls",
        invariant=36,
        file=f"{_SHARED}/signing/webhook_signatures.py",
        there='derive_key(master_key, f"webhook:{tenant}:{url}")',
        instead='derive_key(master_key, f"webhook:{tenant}:")',
        tests=("tests/unit/signing/test_webhook_signatures.py",),
    ),
    Mutant(
        name="object-collected-while-a-writer-may-name-it",
        invariant=43,
        file=f"{_SHARED}/content/retention.py",
        there="<= oldest >= version.modified]",
        instead="<= oldest]",
        tests=("tests/interaction/test_sweeper.py",),
    ),
)
