"""Judges the rows that keep a stack from going back to an earlier release: it cannot read them, or reads them in
another sense.

`rollback_content.py` judges definitions, triggers and schedules."""

from collections.abc import Iterator, Sequence

from signpost.cli.doctor.findings import Finding, note
from signpost.cli.doctor.rules.rollback_content import PAGE, NewContent, judge_content
from signpost.cli.terminal import format_time
from signpost.identity.api_keys import find_ending
from signpost.identity.credentials import ApiKey
from signpost.records import dataclass

BLOCKING = ("owned_step", "step_with_claims", "runs_not_read", "identity_rule")
"""Codes of rows at which an earlier release fails. It reads the others in another sense."""


@dataclass(frozen=True, slots=True)
class OwnedStep:
    """A step that is executed for an API key with an owner."""

    tenant: str
    workflow_id: str
    transition: str
    owner: str


@dataclass(frozen=True, slots=True)
class StepWithClaims:
    """A step that is executed for a principal with claims."""

    tenant: str
    workflow_id: str
    transition: str


@dataclass(frozen=True, slots=True)
class SkillStep:
    """A step of a run that was started for a callable skill, while it waits or is executed."""

    tenant: str
    workflow_id: str
    skill: str


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
    conditional_functions: Sequence[str] = ()
    """The ids of the functions that lists show to some principals only."""
    content: NewContent = NewContent()


@dataclass(frozen=True, slots=True)
class RollbackFacts:
    now: float
    steps: Sequence[OwnedStep]
    has_unread_runs: bool
    """Whether there are more running workflows with a due time than were read."""
    tenants: Sequence[TenantRows]
    skill_steps: Sequence[SkillStep] = ()
    steps_with_claims: Sequence[StepWithClaims] = ()


def judge_rollback(facts: RollbackFacts, stack: str) -> Sequence[Finding]:
    """Return the findings. Those of rows at which an earlier release fails come first."""
    found = [*map(_find_owned_step, facts.steps), *map(_find_step_with_claims, facts.steps_with_claims)]
    if facts.has_unread_runs:
        found.append(_find_unread_runs())
    for rows in facts.tenants:
        found += _judge_tenant(rows, facts.now, stack)
    found += map(_find_skill_step, facts.skill_steps)
    return sorted(found, key=lambda finding: finding.code not in BLOCKING)


def _judge_tenant(rows: TenantRows, now: float, stack: str) -> Iterator[Finding]:
    yield from (_find_owned_key(key, stack) for key in rows.owned_keys if find_ending(key, now) is None)
    for key, until in rows.kept_keys:
        if key.revoked_at is None and until > now:
            yield _find_kept_key(key, until, stack)
    yield from (_find_identity_rule(rows.tenant, rule) for rule in rows.identity_rules)
    if rows.refuses_undeclared_arguments:
        yield _find_ignored_setting(rows.tenant)
    if rows.conditional_functions:
        yield _find_ignored_conditions(rows.tenant, rows.conditional_functions)
    yield from judge_content(rows.tenant, rows.content)


def _find_owned_step(step: OwnedStep) -> Finding:
    return note(
        "owned_step",
        f"{step.workflow_id} of tenant {step.tenant}",
        f"Going back to an earlier release is not possible: it cannot read the run {step.workflow_id}, whose step "
        f"{step.transition} is executed for an API key of {step.owner}.",
        f"Wait until the step is done, resolve it if it is in doubt, or cancel the run ({PAGE}).",
    )


def _find_step_with_claims(step: StepWithClaims) -> Finding:
    return note(
        "step_with_claims",
        f"{step.workflow_id} of tenant {step.tenant}",
        f"Going back to an earlier release is not possible: it cannot read the run {step.workflow_id}, whose step "
        f"{step.transition} is executed for a principal with claims.",
        f"Wait until the step is done, resolve it if it is in doubt, or cancel the run ({PAGE}).",
    )


def _find_unread_runs() -> Finding:
    return note(
        "runs_not_read",
        "running workflows",
        "There are more running workflows with a due time than were read. An earlier release cannot read those whose "
        "step is executed for an API key with an owner, or for a principal with claims.",
        "Revoke the keys with an owner, deploy without PassedClaims, and wait until the steps of both are done "
        f"({PAGE}).",
    )


def _find_ignored_conditions(tenant: str, functions: Sequence[str]) -> Finding:
    return note(
        "visible_when_ignored",
        f"functions of tenant {tenant}",
        f"An earlier release lists {', '.join(functions)} for every principal that policy allows them: it ignores "
        "`visible_when`.",
        f"Hide the functions by a setting or a rule before you go back, if they must not be listed ({PAGE}).",
    )


def _find_owned_key(key: ApiKey, stack: str) -> Finding:
    return note(
        "owned_key",
        f"key {key.key_id} of tenant {key.tenant}",
        f"An earlier release does not read that the key {key.key_id} ({key.name}) belongs to {key.owner}: where "
        "distinct persons are counted, the key and its owner are two. It cannot read steps that the key has begun.",
        _remedy_of_key(key, stack),
    )


def _find_kept_key(key: ApiKey, until: float, stack: str) -> Finding:
    return note(
        "key_accepted_longer",
        f"key {key.key_id} of tenant {key.tenant}",
        f"An earlier release accepts the key {key.key_id} ({key.name}) until {format_time(until)}, the end of its row, "
        f"instead of {format_time(key.expires_at or until)}, its expiry.",
        _remedy_of_key(key, stack),
    )


def _find_identity_rule(tenant: str, rule: str) -> Finding:
    return note(
        "identity_rule",
        f"rule {rule} of tenant {tenant}",
        f"Going back to an earlier release is not possible: it cannot read the rule {rule}, which names a principal by "
        f"`identity:`, and denies everything to every principal of the tenant {tenant}.",
        "Publish the rule with `subject:` before you go back (docs/policy.md).",
    )


def _find_ignored_setting(tenant: str) -> Finding:
    return note(
        "arguments_accepted",
        f"setting undeclared_arguments of tenant {tenant}",
        "An earlier release ignores the setting undeclared_arguments: transitions without an inputSchema take any "
        "arguments.",
        "Publish the workflows with an inputSchema before you go back (docs/workflows.md#arguments).",
    )


def _find_skill_step(step: SkillStep) -> Finding:
    return note(
        "skill_step",
        f"{step.workflow_id} of tenant {step.tenant}",
        f"An earlier release does not continue the run {step.workflow_id} of the skill {step.skill}: its step waits "
        "until the next upgrade, and its answers have no links.",
        f"Wait until the step is done, or cancel the run ({PAGE}).",
    )


def _remedy_of_key(key: ApiKey, stack: str) -> str:
    return f"Before you go back: `signpost keys revoke {key.key_id} --tenant {key.tenant} --stack {stack}` ({PAGE})."
