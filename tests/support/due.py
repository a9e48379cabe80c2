"""Instances of which nothing matters but when they are due."""

from dataclasses import replace

from signpost.workflow.instance import Entry, Instance
from signpost.workflow.ports import Instances


def write_due(instances: Instances, tenant: str, workflow_id: str, due_at: float | None) -> None:
    """Due from now on; None for never."""
    there = instances.load(tenant, workflow_id)
    if there is None:
        new = Instance(workflow_id, "demo", "d" * 64, "open", 1, {}, {}, started_at=1.0)
        assert instances.save(tenant, Entry(new, due_at=due_at), replacing=None)
    else:
        after = replace(there, version=there.version + 1)
        assert instances.save(tenant, Entry(after, due_at=due_at), replacing=there.stand)
