"""`signpost schedules`: lists the workflows that start by themselves, and switches their schedules off and on."""

import argparse
import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from signpost.cli import remote, stack, terminal
from signpost.model import JsonObject, as_object

if TYPE_CHECKING:
    from signpost.catalogue.snapshot import CatalogueSnapshot
    from signpost.cli import Commands
    from signpost.workflow.timetable import OccasionResult, Timetable

HEADINGS = ("ID", "WORKFLOW", "WHEN", "STATE", "NEXT", "LAST")
SWITCH_MESSAGES: Mapping[bool, str] = {
    True: "is switched on: it starts its workflow at its next occasion, and skips those that have passed.",
    False: "is switched off: it starts nothing until it is enabled again, also after a new publication.",
}


def register(commands: "Commands") -> None:
    parser = commands.add_parser("schedules", help="list and switch the schedules by which workflows start")
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    listing = actions.add_parser("list", help="list the schedules of a tenant with their next and last occasions")
    listing.add_argument("--json", action="store_true", help="print JSON")
    stack.add_tenant_option(listing)
    stack.add_option(listing)
    listing.set_defaults(handler=_list)
    for name, enabled, purpose in (
        ("enable", True, "let a schedule start its workflow again"),
        ("disable", False, "keep a schedule from starting its workflow"),
    ):
        action = actions.add_parser(name, help=purpose)
        action.add_argument("id", help="from `signpost schedules list`")
        action.add_argument("--url", help="endpoint of AWS, for a laptop cloud (default: AWS_ENDPOINT_URL)")
        stack.add_option(action)
        action.set_defaults(handler=_switch, enabled=enabled)


def _list(arguments: argparse.Namespace) -> int:
    with stack.open_workflows(arguments.stack) as reader:
        snapshot = reader.read_snapshot(arguments.tenant).snapshot
        timetable, now = reader.timetables.load(arguments.tenant), reader.clock.now()
    listed = list(describe_schedules(snapshot, timetable, now))
    if arguments.json:
        for fields in listed:
            print(json.dumps(fields, ensure_ascii=False))
    elif listed:
        for line in terminal.format_table(HEADINGS, [_row_of(fields) for fields in listed]):
            print(line)
    else:
        print(f"Tenant {arguments.tenant} has published no schedules.")
    return 0


def describe_schedules(
    snapshot: "CatalogueSnapshot", timetable: "Timetable | None", now: float
) -> Iterator[JsonObject]:
    """Yield the fields of each schedule as the author wrote it, with its state, next occasion and last result."""
    from signpost.catalogue.schedules import active_schedules  # noqa: PLC0415 - it imports the readers of catalogues
    from signpost.occasions.zones import write_instant  # noqa: PLC0415 - only this command writes times of occasions

    active = active_schedules(snapshot)
    for name, schedule in sorted(snapshot.schedules.items()):
        fields = as_object(schedule)
        upcoming = active[name].find_next(now) if name in active else None
        result = timetable.results.get(name) if timetable is not None else None
        zone = str(fields.get("timezone") or "UTC")
        last = None if result is None else _result_fields(result, write_instant(result.occasion, zone))
        yield {
            "id": name,
            **fields,
            "state": _state_of(name, snapshot),
            "next": None if upcoming is None else write_instant(upcoming, zone),
            "last": last,
        }


def _result_fields(result: "OccasionResult", occasion: str) -> JsonObject:
    fields: JsonObject = {"occasion": occasion, "outcome": result.outcome, "workflowId": result.workflow_id}
    return {**fields, **({"code": result.code, "message": result.message} if result.code else {})}


def _state_of(name: str, snapshot: "CatalogueSnapshot") -> str:
    if name in snapshot.schedules_off:
        return "switched off"
    return "on" if as_object(snapshot.schedules[name]).get("enabled", True) else "disabled by its author"


def _row_of(fields: JsonObject) -> tuple[str, ...]:
    when = fields.get("cron") or f"every {fields.get('rate')}"
    zone, last = fields.get("timezone"), as_object(fields["last"])
    outcome = last.get("code") or last.get("workflowId")
    return (
        str(fields["id"]),
        str(fields["workflow"]),
        f"{when} {zone}" if zone else str(when),
        str(fields["state"]),
        str(fields["next"] or "-"),
        f"{last['occasion']} {outcome}" if last else "-",
    )


def _switch(arguments: argparse.Namespace) -> int:
    payload: JsonObject = {"schedule": arguments.id, "enabled": arguments.enabled}
    with remote.connect_registry(arguments.stack, arguments.url, terminal.print_progress) as call_registry:
        changed = call_registry("manifest::switch", payload).get("changed")
    if not changed:
        terminal.print_progress("Nothing changed: it was in this state already.")
    print(f"{terminal.make_printable(arguments.id)} {SWITCH_MESSAGES[arguments.enabled]}")
    return 0
