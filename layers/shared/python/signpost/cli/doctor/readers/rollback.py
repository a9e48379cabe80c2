"""Examines what keeps a stack from going back to an earlier release. No table is scanned: the due index names runs."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from signpost.calling.runtime_settings import refuses_undeclared_arguments
from signpost.cli.doctor.rules.rollback import OwnedStep, RollbackFacts, TenantRows, judge_rollback

if TYPE_CHECKING:
    from collections.abc import Iterable

    from signpost.cli.doctor.findings import Finding
    from signpost.cli.doctor.readers.examined_stack import ExaminedStack
    from signpost.cli.doctor.readers.partial_reads import PartialReads
    from signpost.wiring.operator import OperatorAdapters
    from signpost.workflow.wakes import WakeMessage

MOST_RUNS = 1_000
"""Runs with a due time that are read, those that are due first. A run whose step is in doubt may have none."""
END_OF_TIME = 1e12
"""Later than every due time, in seconds since the epoch."""


def examine_rollback(stack: "ExaminedStack", _: "PartialReads") -> "Iterable[Finding]":
    return judge_rollback(read_rollback_facts(stack.adapters, stack.tenants), stack.name)


def read_rollback_facts(adapters: "OperatorAdapters", tenants: Sequence[str]) -> RollbackFacts:
    due = adapters.due_instances.find_due(END_OF_TIME, MOST_RUNS)
    return RollbackFacts(
        now=adapters.clock.now(),
        steps=list(_read_owned_steps(adapters, due)),
        has_unread_runs=len(due) == MOST_RUNS,
        tenants=[_read_tenant(adapters, tenant) for tenant in tenants],
    )


def _read_owned_steps(adapters: "OperatorAdapters", found: "Sequence[WakeMessage]") -> Iterator[OwnedStep]:
    for due in found:
        instance = adapters.instances.load(due.tenant, due.workflow_id)
        claim = instance.claim if instance is not None else None
        if claim is not None and claim.job.principal.owner:
            yield OwnedStep(due.tenant, due.workflow_id, claim.job.transition, claim.job.principal.owner)


def _read_tenant(adapters: "OperatorAdapters", tenant: str) -> TenantRows:
    keys = adapters.api_keys.of_tenant(tenant)
    settings = adapters.settings.of_tenant(tenant)
    return TenantRows(
        tenant,
        owned_keys=[key for key in keys if key.owner],
        kept_keys=adapters.api_key_rows.list_kept_after_expiry(tenant),
        identity_rules=list(_list_identity_rules(adapters, tenant)),
        refuses_undeclared_arguments=refuses_undeclared_arguments(settings.get(None, {})),
        schedules=sorted(adapters.catalogue.load(tenant).snapshot.schedules),
    )


def _list_identity_rules(adapters: "OperatorAdapters", tenant: str) -> Iterator[str]:
    from signpost.catalogue.policies import read_policies  # noqa: PLC0415 - it imports the readers of catalogues

    digest = adapters.catalogue.policies_digest(tenant)
    if digest is not None:
        rules = read_policies(adapters.definitions, tenant, digest).rules
        yield from (rule.id for rule in rules if any(who.startswith("identity:") for who in rule.who))
