"""The change events of content changes."""

from signpost.content.model import (
    Change,
    ChangeEvent,
    PolicyChange,
    PromptChange,
    SkillChange,
    WorkflowChange,
)


def event_of(tenant: str | None, sequence: int, change: Change) -> ChangeEvent | None:
    """Return the event of a change; None for a change of which subscribers are not notified."""
    if isinstance(change, SkillChange):
        op = "register" if change.skill else "unregister"
        return ChangeEvent(tenant, sequence, "skills::on-change", op, change.id)
    if isinstance(change, PromptChange):
        op = "register" if change.prompt else "unregister"
        return ChangeEvent(tenant, sequence, "prompts::on-change", op, change.name)
    if isinstance(change, WorkflowChange):
        op = "register" if change.digest else "unregister"
        return ChangeEvent(tenant, sequence, "workflows::on-change", op, change.id, change.digest)
    if isinstance(change, PolicyChange):
        op = "register" if change.digest else "unregister"
        return ChangeEvent(tenant, sequence, "policies::on-change", op, change.id, change.digest)
    return None
