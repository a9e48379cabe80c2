"""Reads the schedules of a tenant from its catalogue."""

from collections.abc import Mapping

from signpost.catalogue.cache import CatalogueView
from signpost.catalogue.snapshot import CatalogueSnapshot
from signpost.model import Json, as_object
from signpost.workflow.schedules import SINCE, Schedule, authored_members, parse_schedule


class CatalogueSchedules:
    """Implements `ScheduleSource` of the workflow ports by the catalogue."""

    def __init__(self, catalogue: CatalogueView) -> None:
        self._catalogue = catalogue

    def list_active(self, tenant: str) -> Mapping[str, Schedule]:
        return active_schedules(self._catalogue.load(tenant, fresh=True).snapshot)


def active_schedules(snapshot: CatalogueSnapshot) -> Mapping[str, Schedule]:
    """Return the schedules that may start workflows, by id. A schedule that this release cannot read starts nothing."""
    stored = {name: read_schedule(name, raw) for name, raw in snapshot.schedules.items()}
    return {
        name: schedule
        for name, schedule in stored.items()
        if schedule is not None and schedule.enabled and name not in snapshot.schedules_off
    }


def read_schedule(name: str, raw: Json) -> Schedule | None:
    """Read a stored schedule; None if this release cannot read it."""
    from signpost.occasions.zones import read_instant  # noqa: PLC0415 - few tenants have schedules

    schedule = parse_schedule(name, authored_members(raw), read_instant(str(as_object(raw).get(SINCE))))
    return schedule if isinstance(schedule, Schedule) else None
