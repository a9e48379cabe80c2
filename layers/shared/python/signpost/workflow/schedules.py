"""Parses schedules: the workflow that one starts, its times, its input and its rights."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from signpost.model import Json, JsonObject, Principal, as_object
from signpost.records import dataclass
from signpost.spelling import suggest_name
from signpost.workflow.definition import DefinitionFault

if TYPE_CHECKING:
    from signpost.occasions.timing import Timing

MOST_SCHEDULES = 100
"""Per tenant. One message of the work queue looks at all schedules of a tenant."""
LARGEST_INPUT = 16_384
"""Bytes as JSON. Every gateway that the tenant calls reads its schedules together with its catalogue."""
ISSUER = "signpost:schedules"
"""The issuer of the principals of schedules. No credential has it."""
SCHEDULE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", re.ASCII)
"""The form of an id: it is part of a subject, which rules match by patterns."""
UTC = "UTC"
MEMBERS = ("workflow", "cron", "rate", "timezone", "input", "enabled", "description", "roles", "permissions")
"""The members that an author writes, beside those that begin with `x-`."""
SINCE, PUBLISHER = "since", "publishedBy"
"""The members that a publication adds."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """The start of a workflow at certain times, without a caller."""

    id: str
    workflow: str
    cron: str | None = None
    rate: str | None = None
    timezone: str = UTC
    input: JsonObject | None = None
    enabled: bool = True
    roles: Sequence[str] = ()
    permissions: Sequence[str] = ()
    """The roles and permissions with which its runs are started."""
    since: float = 0.0
    """When it was published in this form, or switched on. Earlier occasions do not count."""

    @property
    def timing(self) -> "Timing":
        # Imported on first use: a gateway that reads a catalogue with schedules computes no times.
        from signpost.occasions.cron import parse_cron  # noqa: PLC0415 - see above
        from signpost.occasions.timing import CronTiming, RateTiming, parse_rate  # noqa: PLC0415 - see above
        from signpost.occasions.zones import zone_of  # noqa: PLC0415 - see above

        if self.cron is not None:
            return CronTiming(parse_cron(self.cron), zone_of(self.timezone))
        return RateTiming(parse_rate(self.rate or ""), self.since)

    def principal_in(self, tenant: str) -> Principal:
        """Return the principal that starts its runs."""
        return Principal(
            subject=f"schedule:{self.id}",
            tenant=tenant,
            issuer=ISSUER,
            roles=frozenset(self.roles),
            permissions=frozenset(self.permissions),
        )

    def find_next(self, now: float) -> float | None:
        """Return its next occasion; None if it is disabled."""
        return self.timing.find_next(max(now, self.since)) if self.enabled else None

    def find_due(self, handled: float, now: float) -> float | None:
        """Return the last occasion that is due, of those after `handled`. The ones before it are skipped."""
        return self.timing.find_latest(max(handled, self.since), now) if self.enabled else None


def parse_schedule(name: str, raw: Json, since: float = 0.0) -> Schedule | Sequence[DefinitionFault]:
    """Return the schedule, or all its faults."""
    reader = _ScheduleReader(as_object(raw))
    schedule = reader.read(name, since)
    if not isinstance(raw, Mapping):
        return [DefinitionFault((), "must be a mapping")]
    if not SCHEDULE_ID.fullmatch(name):
        reader.faults.append(DefinitionFault((), "must have an id of 1 to 64 letters, digits, `.`, `_` and `-`"))
    return reader.faults or schedule


def describe_fault(fault: DefinitionFault) -> str:
    """Return the fault as a sentence about the schedule, without a full stop."""
    return f"`{'.'.join(map(str, fault.at))}` {fault.message}" if fault.at else f"it {fault.message}"


def find_schedule_faults(schedules: JsonObject) -> Iterator[tuple[str, DefinitionFault]]:
    """Return the faults of all schedules, each with the id of its schedule. Unknown members are faults, too."""
    for name, raw in schedules.items():
        parsed = parse_schedule(name, raw)
        yield from ((name, fault) for fault in (() if isinstance(parsed, Schedule) else parsed))
        for member in as_object(raw):
            if member not in MEMBERS and not member.startswith("x-"):
                close = suggest_name(member, MEMBERS)
                advice = f"; did you mean {close}?" if close else ""
                yield name, DefinitionFault((), f"has the unknown member {member!r}{advice}")


def authored_members(raw: Json) -> JsonObject:
    """Return the members of a stored schedule that its author wrote, to compare them with a sent schedule."""
    return {name: value for name, value in as_object(raw).items() if name not in (SINCE, PUBLISHER)}


def find_input_problem(schema: JsonObject, start_input: JsonObject) -> str | None:
    """Return the problem of a schedule's input by the input schema of its workflow; None if the workflow takes it.

    The validation sets no alarm, since the registry invocation or command that calls this has a time limit.
    """
    from signpost.schema.validation import Validators  # noqa: PLC0415 - only publications need these
    from signpost.workflow.engine.admission import complete_fields  # noqa: PLC0415 - as above

    validators = Validators(_set_no_alarm)
    violation = validators.find_violation(schema, complete_fields(validators, schema, start_input))
    if violation is None:
        return None
    place = f"`input.{violation.field}`" if violation.field else "`input`"
    return f"{place} does not satisfy its input schema: {violation.message}"


def _set_no_alarm(seconds: float) -> AbstractContextManager[None]:
    del seconds
    return nullcontext()


class _ScheduleReader:
    """Continues after a fault, so that an author gets all faults at once."""

    def __init__(self, fields: JsonObject) -> None:
        self.faults: list[DefinitionFault] = []
        self._fields = fields

    def read(self, name: str, since: float) -> Schedule:
        self._check_timing()
        return Schedule(
            id=name,
            workflow=self._read_text("workflow") or self._add_fault((), "has no `workflow`: name the one to start"),
            cron=self._read_timing("cron"),
            rate=self._read_timing("rate"),
            timezone=self._read_zone(),
            input=self._read_input(),
            enabled=self._read_flag("enabled"),
            roles=self._read_texts("roles"),
            permissions=self._read_texts("permissions"),
            since=since,
        )

    def _check_timing(self) -> None:
        has_cron, has_rate = (self._fields.get(name) is not None for name in ("cron", "rate"))
        if has_cron == has_rate:
            self._add_fault((), "needs either `cron` or `rate`" + (", not both" if has_cron else ""))
        if has_rate and self._fields.get("timezone") is not None:
            self._add_fault(("timezone",), "has no effect on a rate, which counts from the publication: remove it")

    def _read_timing(self, name: str) -> str | None:
        from signpost.occasions.cron import TimingFault, parse_cron  # noqa: PLC0415 - see Schedule.timing
        from signpost.occasions.timing import parse_rate  # noqa: PLC0415 - as above

        text, parse = self._read_text(name), {"cron": parse_cron, "rate": parse_rate}[name]
        if text is not None:
            try:
                parse(text)
            except TimingFault as fault:
                self._add_fault((name,), str(fault))
        return text

    def _read_zone(self) -> str:
        zone = self._read_text("timezone") or UTC
        if zone != UTC:
            from signpost.occasions.zones import zone_names  # noqa: PLC0415 - slow: it reads many files

            if zone not in zone_names():
                close = suggest_name(zone, zone_names())
                advice = f"did you mean {close}?" if close else "use one such as Europe/Berlin"
                self._add_fault(("timezone",), f"is {zone!r}, which is no IANA name of a time zone; {advice}")
        return zone

    def _read_input(self) -> JsonObject | None:
        value = self._fields.get("input")
        if value is not None and not isinstance(value, Mapping):
            self._add_fault(("input",), "must be a mapping")
        elif value is not None and (size := len(json.dumps(value).encode())) > LARGEST_INPUT:
            self._add_fault(("input",), f"is too large: {size} bytes as JSON, at most {LARGEST_INPUT}")
        return as_object(value) if value is not None else None

    def _read_text(self, name: str) -> str | None:
        value = self._fields.get(name)
        if value is None or (isinstance(value, str) and value):
            return value
        self._add_fault((name,), "must be a text")
        return None

    def _read_flag(self, name: str) -> bool:
        value = self._fields.get(name, True)
        if not isinstance(value, bool):
            self._add_fault((name,), "must be true or false")
        return value is True

    def _read_texts(self, name: str) -> Sequence[str]:
        value = self._fields.get(name) or []
        texts = [text for text in value if isinstance(text, str)] if isinstance(value, list) else None
        if texts is None or not isinstance(value, list) or len(texts) != len(value):
            self._add_fault((name,), "must be a list of texts")
        return tuple(texts or ())

    def _add_fault(self, at: tuple[str, ...], message: str) -> str:
        self.faults.append(DefinitionFault(at, message))
        return ""
