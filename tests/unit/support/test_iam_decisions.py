"""Which denials of a run were expected by no test."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.iam_decisions import DenialCheck, UnexpectedDenialsError

FUNCTION = "arn:aws:sts::000000000000:assumed-role/role/gateway"
TABLE = "arn:aws:dynamodb:us-east-1:000000000000:table/registry"


def watch(folder: Path, *decisions: tuple[str, str, str]) -> DenialCheck:
    watched = DenialCheck(folder / "decisions.jsonl")
    watched.record.write_text(
        "".join(
            json.dumps({"caller": caller, "action": action, "resource": TABLE, "context": {}, "decision": decision})
            + "\n"
            for caller, action, decision in decisions
        )
    )
    return watched


def test_a_decision_names_the_role_and_the_session_of_its_request(tmp_path: Path) -> None:
    (one,) = watch(tmp_path, (FUNCTION, "dynamodb:GetItem", "Allow")).read_decisions()
    assert (one.role, one.session, one.request.action) == ("role", "gateway", "dynamodb:GetItem")


def test_a_denial_is_unexpected_unless_a_test_has_declared_it(tmp_path: Path) -> None:
    denials = watch(
        tmp_path,
        (FUNCTION, "dynamodb:GetItem", "Allow"),
        (FUNCTION, "dynamodb:PutItem", "ImplicitDeny"),
        (FUNCTION, "dynamodb:DeleteItem", "Deny"),
    )
    with pytest.raises(UnexpectedDenialsError) as error:
        denials.ensure_expected()
    assert str(error.value).count("Deny") == 2
    denials.expect_denial("gateway", "dynamodb:PutItem", TABLE)
    with pytest.raises(UnexpectedDenialsError, match="Deny: gateway dynamodb:DeleteItem"):
        denials.ensure_expected()
    denials.expect_denial("gateway", "dynamodb:DeleteItem", f"{TABLE}/index/due")
    denials.expect_denial("worker", "dynamodb:DeleteItem", TABLE)
    with pytest.raises(UnexpectedDenialsError):
        denials.ensure_expected()
    denials.expect_denial("gateway", "dynamodb:DeleteItem", TABLE)
    denials.ensure_expected()


def test_only_sessions_of_roles_are_watched(tmp_path: Path) -> None:
    watch(tmp_path, ("arn:aws:iam::000000000000:user/ann", "dynamodb:Scan", "ImplicitDeny")).ensure_expected()


def test_without_requests_there_are_no_decisions(tmp_path: Path) -> None:
    assert DenialCheck(tmp_path / "none.jsonl").read_decisions() == []


def test_denials_of_a_stack_are_expected_only_while_it_is_deleted(tmp_path: Path) -> None:
    def deny(action: str) -> None:
        late: Any = {"caller": FUNCTION, "action": action, "resource": TABLE, "context": {}, "decision": "Deny"}
        denials.record.write_text(denials.record.read_text() + json.dumps(late) + "\n")

    denials = watch(tmp_path, (FUNCTION, "dynamodb:GetItem", "Allow"))
    with denials.expect_denials_during("gate"):
        deny("events:PutEvents")
    denials.ensure_expected()
    deny("events:PutEvents")
    with denials.expect_denials_during("gate"):
        pass
    with pytest.raises(UnexpectedDenialsError, match="events:PutEvents"):
        denials.ensure_expected()
