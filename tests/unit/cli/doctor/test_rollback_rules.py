"""The findings about rows that keep a stack from going back to an earlier release."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from signpost.cli.doctor.findings import Finding
from signpost.cli.doctor.rules.rollback import (
    BLOCKING,
    OwnedStep,
    RollbackFacts,
    SkillStep,
    StepWithClaims,
    TenantRows,
    judge_rollback,
)
from signpost.cli.doctor.rules.rollback_content import NewContent, find_use
from signpost.content.model import Subscription
from signpost.identity.credentials import ApiKey
from signpost.model import JsonObject
from signpost.workflow.definition_reader import parse_published_definition

NOW = 1_800_000_000.0
DAY = 86_400
KEY = ApiKey("acme", "0123456789ab", "robot", "digest", frozenset(), frozenset(), NOW - DAY, owner="ann")
REVOCATION = "`signpost keys revoke 0123456789ab --tenant acme --stack shop`"


def list_codes(*tenants: TenantRows, steps: tuple[OwnedStep, ...] = (), has_unread_runs: bool = False) -> list[str]:
    return [finding.code for finding in judge_rollback(RollbackFacts(NOW, steps, has_unread_runs, tenants), "shop")]


def judge_tenant(rows: TenantRows) -> Sequence[Finding]:
    return judge_rollback(RollbackFacts(NOW, [], has_unread_runs=False, tenants=[rows]), "shop")


def test_a_stack_without_such_rows_can_go_back() -> None:
    assert list_codes(TenantRows("acme")) == []


@pytest.mark.invariant(114)
def test_a_step_of_a_key_with_an_owner_makes_going_back_impossible() -> None:
    step = OwnedStep("acme", "wf_1", "book", "ann")
    (finding,) = judge_rollback(RollbackFacts(NOW, [step], has_unread_runs=False, tenants=[]), "shop")
    assert finding.code == "owned_step"
    assert finding.problem.startswith("Going back to an earlier release is not possible: it cannot read the run wf_1")
    assert "book" in finding.problem


def test_runs_that_were_not_read_are_not_passed_over_in_silence() -> None:
    assert list_codes(has_unread_runs=True) == ["runs_not_read"]


def test_a_key_with_an_owner_is_named_while_it_is_accepted() -> None:
    (finding,) = judge_tenant(TenantRows("acme", [KEY]))
    assert finding.code == "owned_key"
    assert REVOCATION in finding.remedy
    for refused in (replace(KEY, revoked_at=NOW), replace(KEY, expires_at=NOW - 1)):
        assert list_codes(TenantRows("acme", [refused])) == []


@pytest.mark.invariant(114)
def test_a_key_that_an_earlier_release_accepts_after_its_expiry_is_named_until_its_row_ends() -> None:
    expired = replace(KEY, expires_at=NOW - DAY, owner="")
    (finding,) = judge_tenant(TenantRows("acme", kept_keys=[(expired, NOW + 89 * DAY)]))
    assert finding.code == "key_accepted_longer"
    assert "until 2027-04-14 08:00:00Z, the end of its row, instead of 2027-01-14 08:00:00Z" in finding.problem
    assert REVOCATION in finding.remedy
    assert list_codes(TenantRows("acme", kept_keys=[(expired, NOW - 1)])) == []
    assert list_codes(TenantRows("acme", kept_keys=[(replace(expired, revoked_at=NOW), NOW + DAY)])) == []


def test_rules_that_an_earlier_release_cannot_read_and_settings_that_it_ignores_are_named() -> None:
    rows = TenantRows("acme", identity_rules=["no-shell"], refuses_undeclared_arguments=True)
    assert list_codes(rows) == ["identity_rule", "arguments_accepted"]


def test_findings_at_which_an_earlier_release_fails_come_first() -> None:
    rows = TenantRows("acme", owned_keys=[KEY], identity_rules=["no-shell"])
    assert list_codes(rows) == ["identity_rule", "owned_key"]


def judge_new_content(**content: Any) -> Sequence[Finding]:
    return judge_tenant(TenantRows("acme", content=NewContent(**content)))


def test_a_schedule_is_named() -> None:
    (finding,) = judge_new_content(schedules=["nightly"])
    assert (finding.code, finding.subject) == ("schedule_ignored", "schedule nightly of tenant acme")


@pytest.mark.parametrize(
    ("trigger", "codes"),
    [
        (Subscription("workflow", "skills::on-change", "review", ""), ["trigger_fails"]),
        (Subscription("workflow", "skills::on-change", "review", "", metadata={"a": 1}), ["trigger_fails"]),
        (Subscription("trigger", "skills::on-change", "a::b", "", metadata={"a": 1}), ["trigger_values_ignored"]),
        (Subscription("trigger", "skills::on-change", "a::b", "", timeout_ms=1), ["trigger_values_ignored"]),
        (Subscription("trigger", "skills::on-change", "a::b", "", config={"a": 1}), []),
    ],
)
def test_a_trigger_is_named_if_an_earlier_release_does_not_do_what_it_says(
    trigger: Subscription, codes: Sequence[str]
) -> None:
    found = judge_new_content(triggers=[trigger])
    assert [finding.code for finding in found] == codes
    assert all(trigger.target in finding.problem for finding in found)


NESTED: JsonObject = {"output": {"kept": ["$.arguments.a"]}, "values": "nested"}
TIMED: JsonObject = {"timeoutMs": 60_000, "onTimeout": {"target": "end"}}
ENTRY: JsonObject = {"executor": {"kind": "noop"}, "values": "nested"}


@pytest.mark.parametrize(
    ("state", "codes", "place"),
    [
        ({"transitions": {"go": {"target": "end"}}}, [], ""),
        ({"transitions": {"go": {"target": "end"}}, **TIMED}, ["state_timeout_ignored"], "(open)"),
        ({"transitions": {"go": {"target": "end", **NESTED}}}, ["values_not_resolved"], "open.go"),
        ({"transitions": {"go": {"target": "end"}}, "onEnter": ENTRY}, ["values_not_resolved"], "open.onEnter"),
    ],
)
def test_a_workflow_is_named_that_an_earlier_release_runs_in_another_way(
    state: JsonObject, codes: Sequence[str], place: str
) -> None:
    states: JsonObject = {"open": state, "end": {"terminal": True}}
    definition = parse_published_definition("deal", {"initialState": "open", **TIMED, "states": states})
    use = find_use(definition)
    assert use.is_understood == (not codes)
    found = judge_new_content(definitions=[use])
    assert [finding.code for finding in found] == codes
    assert all(place in finding.problem and "deal" in finding.subject for finding in found)


def test_a_pending_step_of_a_skill_is_named() -> None:
    facts = RollbackFacts(NOW, [], has_unread_runs=False, tenants=[], skill_steps=[SkillStep("acme", "wf_1", "order")])
    (finding,) = judge_rollback(facts, "shop")
    assert (finding.code, finding.subject) == ("skill_step", "wf_1 of tenant acme")


def test_a_step_for_a_principal_with_claims_makes_going_back_impossible() -> None:
    steps = [StepWithClaims("acme", "wf_1", "book")]
    (finding,) = judge_rollback(RollbackFacts(NOW, [], False, [], steps_with_claims=steps), "shop")
    assert (finding.code, finding.subject) == ("step_with_claims", "wf_1 of tenant acme")
    assert finding.code in BLOCKING
    assert finding.problem.startswith("Going back to an earlier release is not possible: it cannot read the run wf_1")


def test_functions_that_an_earlier_release_lists_for_everyone_are_named() -> None:
    (finding,) = judge_tenant(TenantRows("acme", conditional_functions=["yard::dig", "yard::rake"]))
    assert finding.code == "visible_when_ignored"
    assert "yard::dig, yard::rake" in finding.problem
