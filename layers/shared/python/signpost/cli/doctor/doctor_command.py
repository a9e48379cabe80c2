"""`signpost doctor`: lists the problems of a deployed stack, with a remedy for each."""

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from signpost import __version__
from signpost.cli import stack as stack_options
from signpost.cli.doctor.findings import SEVERITIES
from signpost.cli.terminal import make_printable, print_progress

if TYPE_CHECKING:
    from signpost.cli import Commands
    from signpost.cli.doctor.findings import Diagnosis, Finding
    from signpost.cli.doctor.readers.examined_stack import ExaminedStack
    from signpost.model import JsonObject

COULD_NOT_LOOK = 2
CHECKS: Mapping[str, str] = {
    "stack": "the status of the stack",
    "parameters": "the parameters",
    "clock": "the clock of this machine",
    "endpoint": "the endpoint, as a client without a credential sees it",
    "release": "the release of the stack and the forms of its rows",
    "rollback": "stored rows that keep the stack from going back to an earlier release",
    "issuer": "the issuer of access tokens and its keys",
    "keys": "the API keys",
    "functions": "the Lambda functions of the stack",
    "executors": "the executors, each of which is asked for its functions",
    "published": "the functions that published content names",
    "documents": "the bodies of skill documents",
    "queues": "the queues and the dead letters",
    "event-sources": "the event source mappings and rules",
    "alarms": "the alarms and their subscribers",
    "quotas": "the quotas of the account and the template",
    "drift": "the drift of the stack, which can take a minute",
}
DESCRIPTION = (
    "Examines a deployed stack with your AWS credentials, changes nothing, and lists its problems with their remedies. "
    "The exit code is 0 without an error, 1 with one, and 2 if no error was found but something could not be looked "
    "at. docs/doctor.md has the codes."
)
LIST_OF_CHECKS = "\n".join(("checks:", *(f"  {name:<13} {purpose}" for name, purpose in CHECKS.items())))


def register(commands: "Commands") -> None:
    parser = commands.add_parser(
        "doctor",
        help="list the problems of a deployed stack, with a remedy for each",
        description=DESCRIPTION,
        epilog=LIST_OF_CHECKS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    stack_options.add_option(parser)
    for option, purpose in (("--only", "run this check, and no other"), ("--skip", "do not run this check")):
        parser.add_argument(
            option, action="append", choices=CHECKS, default=[], metavar="CHECK", help=f"{purpose} (can be repeated)"
        )
    parser.add_argument(
        "--tenant",
        action="append",
        default=[],
        help="also look at this tenant (can be repeated); tenants with content or executors are known",
    )
    parser.add_argument("--json", action="store_true", help="print the diagnosis as one JSON document")
    parser.set_defaults(handler=_examine)


def _examine(arguments: argparse.Namespace) -> int:
    # Imported on first use: the AWS library takes a tenth of a second, which would slow down `signpost --help`.
    from signpost.cli.doctor.examination import examine_stack  # noqa: PLC0415 - see above
    from signpost.cli.doctor.readers.partial_reads import EXPECTED, describe_fault  # noqa: PLC0415 - see above
    from signpost.cli.doctor.readers.stack_description import read_stack  # noqa: PLC0415 - see above

    try:
        stack = read_stack(arguments.stack, arguments.tenant)
    except EXPECTED as fault:
        reason = make_printable(describe_fault(fault)).rstrip(".")
        print_progress(f"signpost: Stack {arguments.stack!r}: {reason}. Check --stack, AWS_PROFILE and AWS_REGION.")
        return COULD_NOT_LOOK
    checks = [name for name in arguments.only or CHECKS if name not in arguments.skip]
    diagnosis = examine_stack(stack, checks, lambda check: print_progress(f"looking at {CHECKS[check]}"))
    if arguments.json:
        print(json.dumps(build_document(stack, diagnosis), ensure_ascii=False, indent=2))
    else:
        print("\n".join(format_diagnosis(diagnosis)))
    sys.stdout.flush()
    return diagnosis.exit_code


def build_document(stack: "ExaminedStack", diagnosis: "Diagnosis") -> "JsonObject":
    return {
        "stack": stack.name,
        "region": stack.region,
        "release": __version__,
        "exitCode": diagnosis.exit_code,
        "checks": [report.check for report in diagnosis.reports],
        "findings": [
            {"check": report.check, **asdict(finding)} for report in diagnosis.reports for finding in report.findings
        ],
        "notSeen": [
            {"check": report.check, **asdict(unseen)} for report in diagnosis.reports for unseen in report.unseen
        ],
    }


def format_diagnosis(diagnosis: "Diagnosis") -> Iterator[str]:
    """Yield the lines for a person: findings, what could not be looked at, and a summary."""
    for finding in diagnosis.findings:
        yield from _format_finding(finding)
    for report in diagnosis.reports:
        for unseen in report.unseen:
            yield make_printable(f"not seen  {report.check}: {unseen.subject}. {unseen.reason}")
    yield _summarize(diagnosis)


def _format_finding(finding: "Finding") -> Sequence[str]:
    problem = make_printable(f"{finding.severity:<8}  {finding.code}: {finding.subject}: {finding.problem}")
    return (problem, make_printable(f"{'':<8}  {finding.remedy}"))


def _summarize(diagnosis: "Diagnosis") -> str:
    numbers = {severity: diagnosis.count(severity) for severity in SEVERITIES}
    listed = ", ".join(f"{number} {severity}{'' if number == 1 else 's'}" for severity, number in numbers.items())
    incomplete = sum(bool(report.unseen) for report in diagnosis.reports)
    tail = f"; {incomplete} could not look at everything" if incomplete else ""
    return f"{diagnosis.stack}: {listed} by {len(diagnosis.reports)} checks{tail}."
