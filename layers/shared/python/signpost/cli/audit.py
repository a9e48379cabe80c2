"""`signpost audit`: prints all audit events of a workflow instance."""

import argparse
import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from signpost.cli import stack, terminal

if TYPE_CHECKING:
    from signpost.cli import Commands
    from signpost.model import JsonObject
    from signpost.workflow.instance import AuditEvent

HEADINGS = ("TIME", "CORRELATION", "ACTOR", "EVENT", "PAYLOAD")


def register(commands: "Commands") -> None:
    parser = commands.add_parser("audit", help="show the audit events of a run of a workflow")
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    showing = actions.add_parser("show", help="print all audit events, oldest first")
    showing.add_argument("run", metavar="WF", help="the id of the run, wf_…")
    showing.add_argument("--json", action="store_true", help="print each event as a line of JSON")
    stack.add_tenant_option(showing)
    stack.add_option(showing)
    showing.set_defaults(handler=_show)


def _show(arguments: argparse.Namespace) -> int:
    with stack.open_workflows(arguments.stack) as reader:
        instance = reader.find_instance(arguments.tenant, arguments.run)
        events = reader.instances.audit(arguments.tenant, instance.id)
    if arguments.json:
        for event in events:
            print(json.dumps(_envelope(instance.id, event), ensure_ascii=False))
        return 0
    rows = [
        (_time(event), event.correlation_id, event.subject, event.record.type, _text(event.record.payload))
        for event in events
    ]
    for line in terminal.format_table(HEADINGS, rows):
        print(line)
    return 0


def _envelope(workflow_id: str, event: "AuditEvent") -> "JsonObject":
    return {
        "timestamp": _time(event),
        "workflow_id": workflow_id,
        "correlation_id": event.correlation_id,
        "actor": event.subject,
        "event_type": event.record.type,
        "payload": event.record.payload,
    }


def _time(event: "AuditEvent") -> str:
    return datetime.fromtimestamp(event.at, UTC).isoformat(timespec="milliseconds")


def _text(payload: "JsonObject") -> str:
    return json.dumps(payload, ensure_ascii=False)
