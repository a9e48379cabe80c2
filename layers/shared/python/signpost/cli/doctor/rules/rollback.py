"""What keeps a stack from going back to an earlier release: stored rows that it cannot read, or reads otherwise."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from signpost.cli.doctor.findings import Finding, note
from signpost.identity.credentials import ApiKey
from signpost.records import dataclass

BLOCKING = ("owned_step", "runs_not_read", "identity_rule")
"""Codes of rows at which an earlier release fails. It reads the others in another sense."""
PAGE = "docs/operations.md#upgrade-and-rollback"


@dataclass(frozen=True, slots=True)
class OwnedStep:
    """A step that is executed for an API key with an owner."""

    tenant: str
    workflow_id: str
    transition: str
    owner: str


@dataclass(frozen=True, slots=True)
class TenantRows:
    """The rows of a tenant that an earlier release reads in another sense."""

    tenant: str
    owned_keys: Sequence[ApiKey] = ()
    """The keys with an owner."""
    kept_keys: Sequence[tuple[ApiKey, float]] = ()
    """The keys whose rows outlive their expiry, with the time until which a row is kept."""
    identity_rules: Sequence[str] = ()
    """The names of the rules of policy that name a principal by `identity:`."""
    refuses_undeclared_arguments: bool = False


@dataclass(frozen=True, slots=True)
class RollbackFacts:
    now: float
    steps: Sequence[OwnedStep]
    has_unread_runs: bool
    """Whether there are more running workflows with a due time than were read."""
    tenants: Sequence[TenantRows]


def judge_rollback(facts: RollbackFacts) -> Sequence[Finding]:
    """Return what keeps the stack from going back, first that at which an earlier release fails."""
    found = [*map(_of_step, facts.steps)]
    if facts.has_unread_runs:
        found.append(_of_unread_runs())
    for rows in facts.tenants:
        found += _of_tenant(rows, facts.now)
    return sorted(found, key=lambda finding: finding.code not in BLOCKING)


def _of_tenant(rows: TenantRows, now: float) -> Iterator[Finding]:
    yield from (_of_owned_key(key) for key in rows.owned_keys if _is_accepted(key, now))
    yield from (_of_kept_key(key, until) for key, until in rows.kept_keys if key.revoked_at is None and until > now)
    yield from (_of_rule(rows.tenant, rule) for rule in rows.identity_rules)
    if rows.refuses_undeclared_arguments:
        yield _of_arguments(rows.tenant)


def _is_accepted(key: ApiKey, now: float) -> bool:
    return key.revoked_at is None and (key.expires_at is None or key.expires_at > now)


def _of_step(step: OwnedStep) -> Finding:
    return note(
        "owned_step",
        f"{step.workflow_id} of tenant {step.tenant}",
        f"Going back to an earlier release is not possible: it cannot read the run {step.workflow_id}, whose step "
        f"{step.transition} is executed for an API key of {step.owner}.",
        f"Wait until the step is done, resolve it if it is in doubt, or cancel the run ({PAGE}).",
    )


def _of_unread_runs() -> Finding:
    return note(
        "runs_not_read",
        "running workflows",
        "There are more running workflows with a due time than were read. An earlier release cannot read those whose "
        "step is executed for an API key with an owner.",
        f"Revoke the keys with an owner, and wait until their steps are done ({PAGE}).",
    )


def _of_owned_key(key: ApiKey) -> Finding:
    return note(
        "owned_key",
        f"key {key.key_id} of tenant {key.tenant}",
        f"An earlier release does not read that the key {key.key_id} ({key.name}) belongs to {key.owner}: where "
        "distinct persons are counted, the key and its owner are two. It cannot read steps that the key has begun.",
        f"Revoke the key before you go back: signpost keys revoke {key.key_id} --tenant {key.tenant}",
    )


def _of_kept_key(key: ApiKey, until: float) -> Finding:
    return note(
        "key_accepted_longer",
        f"key {key.key_id} of tenant {key.tenant}",
        f"An earlier release accepts the key {key.key_id} ({key.name}) until {_date(until)}, which is the end of its "
        f"row, and not until {_date(key.expires_at or until)}, when it expires.",
        f"Revoke the key before you go back: signpost keys revoke {key.key_id} --tenant {key.tenant}",
    )


def _of_rule(tenant: str, rule: str) -> Finding:
    return note(
        "identity_rule",
        f"rule {rule} of tenant {tenant}",
        f"Going back to an earlier release is not possible: it cannot read the rule {rule}, which names a principal by "
        f"`identity:`, and denies everything to every principal of the tenant {tenant}.",
        "Publish the rule with `subject:` before you go back (docs/policy.md).",
    )


def _of_arguments(tenant: str) -> Finding:
    return note(
        "arguments_accepted",
        f"setting undeclared_arguments of tenant {tenant}",
        "An earlier release ignores the setting undeclared_arguments: transitions without an inputSchema take any "
        "arguments.",
        "Publish the workflows with an inputSchema before you go back (docs/workflows.md#arguments).",
    )


def _date(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M UTC")
