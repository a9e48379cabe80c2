"""`signpost workflow verify`: compares the history and the audit of a run with their hash chain."""

import argparse
import json
import time
from dataclasses import asdict
from typing import TYPE_CHECKING

from signpost.cli import stack, terminal
from signpost.cli.failure import CommandFailed
from signpost.workflow.running.verification import ChainFault, UnreadableRow, VerifiedRun, verify_record

if TYPE_CHECKING:
    from signpost.cli import Commands
    from signpost.cli.runs.store import WorkflowReader

READS = 3
"""A step that is written while its rows are read looks like a fault, so a fault is reported if each read shows it."""
PAUSE = 0.5
"""Seconds between two reads."""
DESCRIPTION = (
    "Compares the history, the audit and the current values of a run with the hashes that were written with its steps. "
    "If they do not agree, the exit code is 1, and the first place that does not is named. With --hash and a hash that "
    "was kept elsewhere, such as that of an event on the bus, it shows that the run was not written anew as a whole."
)
ADVICE = (
    "Change nothing in the table. Restore it to an earlier moment as a copy (docs/operations.md, Restore) and compare "
    "both. After a rollback of the stack this is expected: an earlier release writes no hashes."
)


def register(actions: "Commands") -> None:
    verifying = actions.add_parser(
        "verify", help="check that history and audit of a run are as they were written", description=DESCRIPTION
    )
    verifying.add_argument("run", metavar="WF", help="the id of the run, wf_…")
    verifying.add_argument("--hash", metavar="HASH", help="a hash that one of its writes must have")
    verifying.add_argument("--json", action="store_true", help="print the result as a line of JSON")
    stack.add_tenant_option(verifying)
    stack.add_option(verifying)
    verifying.set_defaults(handler=_verify)


def _verify(arguments: argparse.Namespace) -> int:
    with stack.open_workflows(arguments.stack) as reader:
        result = _verify_stable_rows(reader, arguments.tenant, arguments.run, arguments.hash)
    if isinstance(result, ChainFault):
        message = (
            f"{arguments.run} does not agree with its hashes. The first place is {result.place}: {result.message}."
        )
        raise CommandFailed(f"{terminal.make_printable(message)}\n{ADVICE}")
    print(json.dumps(asdict(result)) if arguments.json else _describe(arguments.run, result))
    return 0


def _verify_stable_rows(
    reader: "WorkflowReader", tenant: str, workflow_id: str, witness: str | None
) -> VerifiedRun | ChainFault:
    result = _verify_rows(reader, tenant, workflow_id, witness)
    for _ in range(READS - 1):
        if isinstance(result, VerifiedRun):
            break
        time.sleep(PAUSE)
        result = _verify_rows(reader, tenant, workflow_id, witness)
    return result


def _verify_rows(
    reader: "WorkflowReader", tenant: str, workflow_id: str, witness: str | None
) -> VerifiedRun | ChainFault:
    try:
        record = reader.records.read_record(tenant, workflow_id)
    except UnreadableRow as fault:
        return ChainFault(f"the row {fault}", "it does not have the form that Signpost writes")
    except LookupError as fault:  # the object of a long value is missing or was changed
        return ChainFault("a value in the content bucket", f"{fault}".rstrip("."))
    if record is None:
        reader.find_instance(tenant, workflow_id)
        return ChainFault("the run", "it was removed while it was read")
    return verify_record(record, witness)


def _describe(workflow_id: str, verified: VerifiedRun) -> str:
    newest, first = verified.newest, verified.first
    upto = f"writes 1 to {newest.number}, up to version {newest.version} of {terminal.format_time(newest.at)}"
    notes = "1 note" if verified.notes == 1 else f"{verified.notes} notes"
    lines = [
        f"{workflow_id} agrees with its hashes: {upto}, and {notes}.",
        f"The newest hash is {newest.hash}.",
    ]
    if not verified.is_complete:
        lines.append(
            f"The hashes begin with version {first.version}: an earlier release wrote what is before it, and that was "
            "not compared."
        )
    return "\n".join(lines)
