"""Runs the checks of a stack one after another. A check that fails says so, and the others go on."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from signpost.cli.doctor.findings import CheckReport, Diagnosis, Finding
from signpost.cli.doctor.readers import deployment, endpoint, registry, rollback, running
from signpost.cli.doctor.readers.examined_stack import ExaminedStack
from signpost.cli.doctor.readers.partial_reads import EXPECTED, PartialReads, describe_fault

type Examine = Callable[[ExaminedStack, PartialReads], Iterable[Finding]]

EXAMINATIONS: Mapping[str, Examine] = {
    "stack": deployment.examine_status,
    "parameters": deployment.examine_parameters,
    "clock": deployment.examine_clock,
    "endpoint": endpoint.examine_endpoint,
    "release": deployment.examine_release,
    "rollback": rollback.examine_rollback,
    "issuer": endpoint.examine_issuer,
    "keys": registry.examine_api_keys,
    "functions": running.examine_functions,
    "executors": registry.examine_executors,
    "published": registry.examine_published,
    "documents": registry.examine_documents,
    "queues": running.examine_queues,
    "event-sources": running.examine_event_sources,
    "alarms": running.examine_alarms,
    "quotas": running.examine_quotas,
    "drift": deployment.examine_drift,
}
"""By the names that `signpost doctor` knows, in the order in which they run."""


def examine_stack(
    stack: ExaminedStack,
    checks: Sequence[str],
    show_check: Callable[[str], None],
    examinations: Mapping[str, Examine] = EXAMINATIONS,
) -> Diagnosis:
    reports: list[CheckReport] = []
    for check in checks:
        show_check(check)
        reports.append(run_check(check, examinations[check], stack))
    return Diagnosis(stack.name, reports)


def run_check(check: str, examine: Examine, stack: ExaminedStack) -> CheckReport:
    """Run one check. Findings from before a failure are kept."""
    reads, findings = PartialReads(), list[Finding]()
    try:
        findings.extend(examine(stack, reads))
    except EXPECTED as fault:
        reads.miss(check, describe_fault(fault))
    except Exception as fault:  # noqa: BLE001 - the boundary of a check: the others go on
        reads.miss(check, f"An internal error of this command occurred ({type(fault).__name__}).")
    return CheckReport(check, findings, reads.unseen)
