"""The results of an examination: findings with stable codes, and the things that could not be examined."""

from collections.abc import Sequence
from typing import Literal

from signpost.records import dataclass

type Severity = Literal["error", "warning", "note"]
SEVERITIES: Sequence[Severity] = ("error", "warning", "note")
"""From the most severe one."""
type DoctorErrorCode = Literal[
    "stack_failed",
    "auth_mode_none",
    "issuer_missing",
    "local_mode_in_account",
    "laptop_endpoint_in_account",
    "certificate_missing",
    "stream_missing",
    "stream_of_other_table",
    "search_key_missing",
    "search_endpoint_missing",
    "endpoint_unreachable",
    "health_failed",
    "not_configured",
    "no_challenge",
    "metadata_wrong",
    "stored_format_newer",
    "issuer_unreachable",
    "issuer_keys_unusable",
    "core_not_placed",
    "executor_no_answer",
    "executor_not_allowed",
    "executor_secret_wrong",
    "function_not_hosted",
    "placement_incomplete",
    "function_not_found",
    "catalogue_unreadable",
    "definition_unreadable",
    "document_missing",
    "document_changed",
    "dead_letters",
    "queue_missing",
    "event_source_disabled",
    "event_source_missing",
    "rule_disabled",
    "rule_missing",
    "alarm_ringing",
    "function_missing",
    "function_failed",
    "function_stopped",
    "concurrency_exhausted",
    "clock_skew",
    "resource_deleted",
]
"""Codes of findings that keep the stack, or a part of it, from working."""
type DoctorWarningCode = Literal[
    "stack_changing",
    "stack_rolled_back",
    "issuer_unused",
    "human_claim_empty",
    "public_url_differs",
    "public_url_without_tls",
    "stream_unused",
    "origin_malformed",
    "tables_unprotected",
    "lease_margin_short",
    "test_stage",
    "executors_unrestricted",
    "release_differs",
    "issuer_not_reached_from_here",
    "no_api_key",
    "api_key_expired",
    "api_key_expires_soon",
    "api_keys_not_accepted",
    "executor_tag_missing",
    "function_not_placed",
    "function_without_executor",
    "messages_waiting",
    "event_source_failing",
    "alarms_without_subscriber",
    "alarm_subscription_pending",
    "alarm_actions_off",
    "alarm_missing",
    "concurrency_tight",
    "concurrency_below_parameter",
    "environment_near_limit",
    "role_policies_near_limit",
    "resources_near_limit",
    "layer_differs",
    "clock_differs",
    "resource_drifted",
]
"""Codes of findings that will become errors, or of settings that are probably not meant."""
type DoctorNoteCode = Literal[
    "tenant_claim_empty",
    "audience_not_endpoint",
    "search_settings_unused",
    "issuer_key_ignored",
    "executor_layer_differs",
    "event_source_changing",
    "owned_step",
    "step_with_claims",
    "runs_not_read",
    "identity_rule",
    "owned_key",
    "key_accepted_longer",
    "arguments_accepted",
    "schedule_ignored",
    "trigger_fails",
    "trigger_values_ignored",
    "state_timeout_ignored",
    "values_not_resolved",
    "skill_step",
    "visible_when_ignored",
]
"""Codes of findings that may be meant as they are."""


REMAKE = (
    "`sam deploy` does not make a deleted resource again: deploy the template without the resource, then with it "
    "(docs/doctor.md#deleted-resources)."
)
"""The remedy for a resource that was deleted outside of CloudFormation."""


@dataclass(frozen=True, slots=True)
class Finding:
    severity: Severity
    code: DoctorErrorCode | DoctorWarningCode | DoctorNoteCode
    subject: str
    """The resource, parameter or entry that the finding is about."""
    problem: str
    remedy: str
    """A command or a page, and what to do with it."""


@dataclass(frozen=True, slots=True)
class Unseen:
    """Something that the examination could not look at. It is not known to be sound."""

    subject: str
    reason: str


@dataclass(frozen=True, slots=True)
class CheckReport:
    check: str
    findings: Sequence[Finding] = ()
    unseen: Sequence[Unseen] = ()


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The reports of all checks of one stack."""

    stack: str
    reports: Sequence[CheckReport]

    @property
    def findings(self) -> Sequence[Finding]:
        """All findings, errors first, then in the order of the checks."""
        found = [finding for report in self.reports for finding in report.findings]
        return sorted(found, key=lambda finding: SEVERITIES.index(finding.severity))

    def count(self, severity: Severity) -> int:
        return sum(finding.severity == severity for finding in self.findings)

    @property
    def has_unseen(self) -> bool:
        return any(report.unseen for report in self.reports)

    @property
    def exit_code(self) -> int:
        """0 without an error, 1 with one, and 2 if no error was found but something could not be looked at."""
        if self.count("error"):
            return 1
        return 2 if self.has_unseen else 0


def describe_scope(tenant: str | None) -> str:
    """Return the words for the scope of a tenant; None stands for shipped functions and content."""
    return "the deployment" if tenant is None else f"tenant {tenant}"


def error(code: DoctorErrorCode, subject: str, problem: str, remedy: str) -> Finding:
    return Finding("error", code, subject, problem, remedy)


def warning(code: DoctorWarningCode, subject: str, problem: str, remedy: str) -> Finding:
    return Finding("warning", code, subject, problem, remedy)


def note(code: DoctorNoteCode, subject: str, problem: str, remedy: str) -> Finding:
    return Finding("note", code, subject, problem, remedy)
