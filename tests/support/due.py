"""Instances of which nothing matters but when they are due."""

from dataclasses import replace

from signpost.workflow.instance import Instance, InstanceWrite
from signpost.workflow.ports import InstanceStore


def write_due(instances: InstanceStore, tenant: str, workflow_id: str, due_at: float | None) -> None:
    """Due from now on; None for never."""
    there = instances.load(tenant, workflow_id)
    if there is None:
        new = Instance(workflow_id, "demo", "d" * 64, "open", 1, {}, {}, started_at=1.0)
        assert instances.save(tenant, InstanceWrite(new, due_at=due_at), replacing=None)
    else:
        after = replace(there, version=there.version + 1)
        assert instances.save(tenant, InstanceWrite(after, due_at=due_at), replacing=there.write_condition)
