"""Mutants of workflows: claims, outcomes, versions, approvals, audit."""

from tests.mutants.mutant import Mutant

_SHARED = "layers/shared/python/signpost"
_STORE = f"{_SHARED}/adapters/dynamodb/instances.py"
_OF_THE_STORE = ("tests/contract/test_instances.py",)

WORKFLOW_MUTANTS = (
    Mutant(
        name="claim-without-condition",
        invariant=55,
        file=_STORE,
        there='f"version = :version AND {releases} AND attribute_not_exists(claimed_by)"',
        instead='f"version = :version AND {releases}"',
        tests=_OF_THE_STORE,
        needs="table",
    ),
    Mutant(
        name="settle-without-token",
        invariant=56,
        file=_STORE,
        there='"version = :version AND claimed_by = :token"',
        instead='"version = :version AND (claimed_by = :token OR attribute_exists(claimed_by))"',
        tests=_OF_THE_STORE,
        needs="table",
    ),
    Mutant(
        name="tenant-left-out-of-key",
        invariant=50,
        file=f"{_SHARED}/adapters/keys.py",
        there='return f"tenant#{tenant}#wf#{workflow_id}"',
        instead='return f"tenant#every#wf#{workflow_id}"',
        tests=_OF_THE_STORE,
        needs="table",
    ),
    Mutant(
        name="audit-row-left-out",
        invariant=53,
        file=_STORE,
        there="*(rows.build_put(self._table, row) for row in self._audit_rows(tenant, instance.id, entry.events)),",
        instead="",
        tests=_OF_THE_STORE,
        needs="table",
    ),
    Mutant(
        name="expected-version-not-compared",
        invariant=51,
        file=f"{_SHARED}/workflow/engine/admission.py",
        there="if submission.expected_version != instance.version:",
        instead="if submission.expected_version > instance.version:",
        tests=("tests/unit/workflow/engine/test_engine.py", "tests/interaction/test_steps.py"),
    ),
    Mutant(
        name="claim-released-at-unknown-outcome",
        invariant=56,
        file=f"{_SHARED}/workflow/running/step_writer.py",
        there="if refusal is not None and refusal.in_doubt:",
        instead="if refusal is not None and refusal.in_doubt and self._executed_claim is None:",
        tests=("tests/interaction/test_steps.py",),
    ),
    Mutant(
        name="lost-claim-taken-over-without-consent",
        invariant=56,
        file=f"{_SHARED}/workflow/instance.py",
        there='self.standing == "running" and not self.resumable and not self.is_held(now)',
        instead='self.standing == "running" and not self.resumable and not self.job',
        tests=("tests/interaction/test_crash_points.py",),
    ),
    Mutant(
        name="retry-without-consent",
        invariant=56,
        file=f"{_SHARED}/workflow/retry_policy.py",
        there='if failure.outcome == "unknown" and not self.may_repeat(position.candidate, failure.error_class):',
        instead='if failure.outcome == "unknown" and not self.retried_classes:',
        tests=("tests/unit/workflow/test_retry_policy.py", "tests/interaction/test_steps_retried.py"),
    ),
    Mutant(
        name="client-token-shared-between-callers",
        invariant=69,
        file=f"{_SHARED}/workflow/running/service.py",
        there="json.dumps([principal.tenant, principal.issuer, principal.subject, request.client_token])",
        instead="json.dumps([principal.tenant, principal.issuer, request.client_token])",
        tests=("tests/interaction/test_long_calls.py", "tests/interaction/test_steps.py"),
    ),
    Mutant(
        name="longest-due-not-first",
        invariant=54,
        file=f"{_SHARED}/adapters/dynamodb/due.py",
        there='due_rows.sort(key=lambda row: float(row["due_at"]["N"]))',
        instead='due_rows.sort(key=lambda row: row["pk"]["S"])',
        tests=("tests/contract/test_due_instances.py",),
        needs="table",
    ),
    Mutant(
        name="approval-by-a-machine",
        invariant=52,
        file=f"{_SHARED}/workflow/engine/admission.py",
        there="if not submission.principal.human:",
        instead="if not submission.principal.subject:",
        tests=("tests/unit/workflow/engine/test_engine.py", "tests/interaction/test_steps.py"),
    ),
    Mutant(
        name="asker-counts-as-second-person",
        invariant=52,
        file=f"{_SHARED}/workflow/instance.py",
        there="Tally(len(self.approved_by), self.approved_by - self.askers)",
        instead="Tally(len(self.approved_by), self.approved_by)",
        tests=("tests/unit/workflow/engine/test_engine.py",),
    ),
    Mutant(
        name="event-says-what-a-caller-sent",
        invariant=53,
        file=f"{_SHARED}/workflow/running/bus_events.py",
        there="for name, value in event.record.payload.items() if name in PUBLISHED_FIELDS}",
        instead="for name, value in event.record.payload.items()}",
        tests=("tests/interaction/test_workflow_relay.py",),
    ),
)
