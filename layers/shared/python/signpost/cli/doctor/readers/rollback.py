"""Examines the rows that keep a stack from going back to an earlier release. Runs are found by the due index, so no
table is scanned."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from signpost.calling.runtime_settings import refuses_undeclared_arguments
from signpost.cli.doctor.readers.definitions import read_published_definitions
from signpost.cli.doctor.rules.published_functions import UnreadableText
from signpost.cli.doctor.rules.rollback import (
    OwnedStep,
    RollbackFacts,
    SkillStep,
    StepWithClaims,
    TenantRows,
    judge_rollback,
)
from signpost.cli.doctor.rules.rollback_content import DefinitionUse, NewContent, find_use

if TYPE_CHECKING:
    from collections.abc import Iterable

    from signpost.catalogue.snapshot import CatalogueSnapshot
    from signpost.cli.doctor.findings import Finding
    from signpost.cli.doctor.readers.examined_stack import ExaminedStack
    from signpost.cli.doctor.readers.partial_reads import PartialReads
    from signpost.content.model import Subscription
    from signpost.wiring.operator import OperatorAdapters
    from signpost.workflow.instance import Instance
    from signpost.workflow.wakes import WakeMessage

MOST_RUNS = 1_000
"""Runs with a due time that are read, those that are due first. A run whose step is in doubt may have none."""
END_OF_TIME = 1e12
"""Later than every due time, in seconds since the epoch."""


def examine_rollback(stack: "ExaminedStack", reads: "PartialReads") -> "Iterable[Finding]":
    return judge_rollback(read_rollback_facts(stack.adapters, stack.tenants, reads), stack.name)


def read_rollback_facts(adapters: "OperatorAdapters", tenants: Sequence[str], reads: "PartialReads") -> RollbackFacts:
    due = adapters.due_instances.find_due(END_OF_TIME, MOST_RUNS)
    steps = list(_read_steps(adapters, due))
    return RollbackFacts(
        now=adapters.clock.now(),
        steps=[step for step in steps if isinstance(step, OwnedStep)],
        has_unread_runs=len(due) == MOST_RUNS,
        tenants=[_read_tenant(adapters, tenant, reads) for tenant in tenants],
        skill_steps=[step for step in steps if isinstance(step, SkillStep)],
        steps_with_claims=[step for step in steps if isinstance(step, StepWithClaims)],
    )


def _read_steps(
    adapters: "OperatorAdapters", found: "Sequence[WakeMessage]"
) -> Iterator[OwnedStep | SkillStep | StepWithClaims]:
    for due in found:
        instance = adapters.instances.load(due.tenant, due.workflow_id)
        if instance is not None:
            yield from _steps_of(due.tenant, instance)


def _steps_of(tenant: str, instance: "Instance") -> Iterator[OwnedStep | SkillStep | StepWithClaims]:
    from signpost.workflow.running.function_run import parse_digest  # noqa: PLC0415 - comes with the engine

    claim, run = instance.claim, parse_digest(instance.digest)
    if claim is not None and claim.job.principal.owner:
        yield OwnedStep(tenant, instance.id, claim.job.transition, claim.job.principal.owner)
    if claim is not None and claim.job.principal.claims:
        yield StepWithClaims(tenant, instance.id, claim.job.transition)
    if claim is not None and run is not None and run.capability is not None:
        yield SkillStep(tenant, instance.id, run.capability)


def _read_tenant(adapters: "OperatorAdapters", tenant: str, reads: "PartialReads") -> TenantRows:
    keys = adapters.api_keys.of_tenant(tenant)
    settings = adapters.settings.of_tenant(tenant)
    snapshot = adapters.catalogue.load(tenant).snapshot
    return TenantRows(
        tenant,
        owned_keys=[key for key in keys if key.owner],
        kept_keys=adapters.api_key_rows.list_kept_after_expiry(tenant),
        identity_rules=list(_list_identity_rules(adapters, tenant)),
        refuses_undeclared_arguments=refuses_undeclared_arguments(settings.get(None, {})),
        conditional_functions=[
            hosted.function for hosted in adapters.placed_functions.functions(tenant) if hosted.visible_when is not None
        ],
        content=NewContent(
            schedules=sorted(snapshot.schedules),
            triggers=reads.read(f"triggers of tenant {tenant}", partial(_list_triggers, adapters, tenant)) or (),
            definitions=list(_read_uses(adapters, tenant, snapshot, reads)),
        ),
    )


def _list_triggers(adapters: "OperatorAdapters", tenant: str) -> "Sequence[Subscription]":
    from signpost.content.model import ScopeNames  # noqa: PLC0415 - a part of the checks needs it

    subscriptions = adapters.content(ScopeNames("skills", "prompts")).subscriptions(tenant)
    return [subscription for subscription in subscriptions if subscription.kind != "webhook"]


def _read_uses(
    adapters: "OperatorAdapters", tenant: str, snapshot: "CatalogueSnapshot", reads: "PartialReads"
) -> Iterator[DefinitionUse]:
    """Yield the use of those published definitions that an earlier release does not understand."""
    for found in read_published_definitions(adapters, tenant, snapshot):
        if isinstance(found, UnreadableText):
            reads.miss(f"workflow {found.workflow} of tenant {tenant}", found.reason)
        elif not (use := find_use(found)).is_understood:
            yield use


def _list_identity_rules(adapters: "OperatorAdapters", tenant: str) -> Iterator[str]:
    from signpost.catalogue.policies import read_policies  # noqa: PLC0415 - it imports the readers of catalogues

    digest = adapters.catalogue.policies_digest(tenant)
    if digest is not None:
        rules = read_policies(adapters.definitions, tenant, digest).rules
        yield from (rule.id for rule in rules if any(name.startswith("identity:") for name in rule.who))
