"""What the rows of the workflows table say to whom the stream shows them."""

from collections.abc import Sequence

from signpost.adapters import keys
from signpost.adapters.dynamodb.rows import Row
from signpost.workflow.announcing import Happened
from signpost.workflow.story import audit_of


def happened_in(image: Row) -> Sequence[Happened]:
    if not image["sk"]["S"].startswith(keys.AUDIT):
        return ()
    tenant, workflow_id = keys.instance_of(image["pk"]["S"])
    events = audit_of(image["text"]["S"], image["correlation"]["S"], image["subject"]["S"])
    return [Happened(tenant, workflow_id, event) for event in events]
