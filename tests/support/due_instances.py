"""Writes workflow instances of which only the due time matters."""

from dataclasses import replace

from signpost.workflow.instance import Instance, InstanceWrite
from signpost.workflow.ports import InstanceStore


def write_due_instance(instances: InstanceStore, tenant: str, workflow_id: str, due_at: float | None) -> None:
    """Make an instance due at this time, or never if it is None. It is created if it does not exist."""
    stored = instances.load(tenant, workflow_id)
    if stored is None:
        new = Instance(workflow_id, "demo", "d" * 64, "open", 1, {}, {}, started_at=1.0)
        assert instances.save(tenant, InstanceWrite(new, due_at=due_at), replacing=None)
    else:
        after = replace(stored, version=stored.version + 1)
        assert instances.save(tenant, InstanceWrite(after, due_at=due_at), replacing=stored.write_condition)
