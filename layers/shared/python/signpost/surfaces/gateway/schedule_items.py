"""Shows when a workflow or a capability starts by itself. Imported where a tenant has schedules: few tenants have."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from signpost.catalogue.schedules import active_schedules
from signpost.model import PROXY_WORKFLOW, CatalogueItem, Json, JsonObject, as_object
from signpost.surfaces.gateway.tool_specs import CAPABILITY, WORKFLOW
from signpost.workflow.engine.capability_focus import requested_capability

if TYPE_CHECKING:
    from signpost.catalogue.snapshot import CatalogueSnapshot
    from signpost.ports import TimeFormat
    from signpost.workflow.schedules import Schedule


def list_schedules(
    snapshot: "CatalogueSnapshot", item: CatalogueItem, now: float, times: "TimeFormat"
) -> Sequence[JsonObject]:
    """Return the active schedules that start the item, by id. Their input and their rights are for operators, and are
    not shown."""
    return [
        _build_entry(schedule, as_object(snapshot.schedules[name]).get("description"), now, times)
        for name, schedule in sorted(active_schedules(snapshot).items())
        if item.is_offered and _started_item(schedule) == (item.kind, item.id)
    ]


def _started_item(schedule: "Schedule") -> tuple[str, str]:
    if schedule.workflow != PROXY_WORKFLOW:
        return WORKFLOW, schedule.workflow
    return CAPABILITY, requested_capability(PROXY_WORKFLOW, schedule.input or {}) or ""


def _build_entry(schedule: "Schedule", description: Json, now: float, times: "TimeFormat") -> JsonObject:
    next_at = schedule.find_next(now)
    optional: dict[str, Json] = {
        "description": description,
        "cron": schedule.cron,
        "timezone": None if schedule.cron is None else schedule.timezone,
        "rate": schedule.rate,
        "nextAt": None if next_at is None else times.text_of(next_at),
    }
    return {"id": schedule.id, **{name: value for name, value in optional.items() if value is not None}}
