"""`signpost approvals approve|reject`: what is sent is what was shown, and a refusal says what to do."""

from collections.abc import Callable, Mapping
from io import StringIO
from typing import Any, override

import pytest

from signpost.cli import approvals, main, stack
from signpost.cli.failure import CommandFailed, NoServerAnswer
from signpost.cli.runs.decision import choose_link, describe_outcome, parse_approval, request_lines
from signpost.model import JsonObject, as_object
from tests.support.operator_workflows import (
    CLAIM,
    URL,
    CommandRunner,
    OperatorWorkflows,
    start_expense_claim,
    start_workflow,
    submit_transition,
)

APPROVE, REJECT = ("approvals", "approve"), ("approvals", "reject")


class Terminal(StringIO):
    """Somebody sits at it, and types this."""

    @override
    def isatty(self) -> bool:
        return True


def state_of(operated: OperatorWorkflows, run: str) -> str:
    return operated.call("workflow.get", {"workflowId": run}, "ann")["state"]


def test_two_approvers_approve_the_values_that_they_were_shown(
    operator_workflows: OperatorWorkflows, signpost: CommandRunner
) -> None:
    run, request = start_expense_claim(operator_workflows)
    digest = operator_workflows.call("workflow.get", {"workflowId": run}, "fay")["approval"]["digest"]
    first = signpost(*APPROVE, request, "--yes", who="fay")
    assert first == (
        f"expense_approval, {run}: in state with_finance, version 3\n"
        f"request {request} in the queue finance\n"
        f"digest {digest}\n"
        "not approved yet\n"
        "\n"
        "amount: 2000\n"
        'purpose: "Train to the customer"\n'
        'receipt: "R-20311"\n'
        "\n"
        "approve approves this: Approve the expense\n"
        f"Your approval of {digest} is recorded.\n"
        "The run is in state with_finance now, version 4.\n"
        "The request stays open in the queue finance; approved so far by fay.\n"
    )
    second = signpost(*APPROVE, request, "--yes", "--digest", digest, who="finn")
    assert second.endswith("The run is in state paid now, version 6, and has ended.\n")


def test_an_approver_without_aws_credentials_names_server_and_instance(
    operator_workflows: OperatorWorkflows, signpost: CommandRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, _ = start_expense_claim(operator_workflows)
    monkeypatch.setattr(stack, "open_workflows", None)
    signpost(*APPROVE, run, "--yes", "--url", "https://elsewhere.test/mcp", who="fay")
    assert state_of(operator_workflows, run) == "with_finance"
    assert operator_workflows.urls == ["https://elsewhere.test/mcp"]


def test_the_url_of_the_server_is_read_from_the_stack(
    operator_workflows: OperatorWorkflows, signpost: CommandRunner
) -> None:
    run, _ = start_expense_claim(operator_workflows)
    signpost(*APPROVE, run, "--yes", who="fay")
    assert operator_workflows.urls == [URL]


def test_several_rejections_are_listed_and_one_is_chosen_with_arguments(
    operator_workflows: OperatorWorkflows, signpost: CommandRunner, failing_signpost: CommandRunner
) -> None:
    run, request = start_expense_claim(operator_workflows)
    said = failing_signpost(*REJECT, request, "--yes", who="fay")
    assert "refuse (Refuse the expense), send_back (Send it back with a question)" in said
    assert "--transition" in said
    assert "Did you mean send_back?" in failing_signpost(*REJECT, request, "--transition", "sendback", who="fay")
    assert "approve approves the request" in failing_signpost(*REJECT, request, "--transition", "approve", who="fay")
    assert "withdraw does not answer the request" in failing_signpost(
        *APPROVE, request, "--transition", "withdraw", who="fay"
    )
    send_back = ("--transition", "send_back", "--yes")
    assert "send_back needs --argument reason=…" in failing_signpost(*REJECT, request, *send_back, who="fay")
    assert "NAME=VALUE, not 'reason'" in failing_signpost(
        *REJECT, request, *send_back, "--argument", "reason", who="fay"
    )
    assert state_of(operator_workflows, run) == "with_finance"
    printed = signpost(*REJECT, request, *send_back, "--argument", "reason=123", who="fay")
    assert 'send_back rejects this: Send it back with a question\n  reason: "123"\n' in printed
    assert printed.endswith("The run is in state draft now, version 4.\n")
    assert operator_workflows.call("workflow.get", {"workflowId": run}, "fay")["context"]["reason"] == "123"


def test_arguments_with_a_schema_other_than_text_are_read_as_json(
    operator_workflows: OperatorWorkflows, signpost: CommandRunner
) -> None:
    schema: JsonObject = {"type": "object", "properties": {"amount": {"type": "integer"}, "tags": {"type": "array"}}}
    answer = {
        "actor": "human",
        "decision": "approve",
        "target": "end",
        "inputSchema": schema,
        "output": {"all": "$.arguments"},
    }
    ask = {"target": "asked", "executor": {"kind": "human"}, "output": {}}
    states = {
        "open": {"transitions": {"ask": ask}},
        "asked": {"transitions": {"ok": answer}},
        "end": {"terminal": True},
    }
    operator_workflows.publish("small", {"initialState": "open", "states": states})
    run = operator_workflows.call("workflow.start", {"definitionId": "small"}, "agent")["workflowId"]
    submit_transition(operator_workflows, run, "ask")
    given = ("--argument", "amount=12", "--argument", 'tags=["a"]', "--argument", "other=some text")
    signpost(*APPROVE, run, "--yes", *given, who="ann")
    context = operator_workflows.call("workflow.get", {"workflowId": run}, "ann")["context"]
    assert context["all"] == {"amount": 12, "tags": ["a"], "other": "some text"}


@pytest.mark.invariant(49)
def test_an_instance_that_changed_since_it_was_shown_is_not_approved(
    operator_workflows: OperatorWorkflows, failing_signpost: CommandRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, request = start_expense_claim(operator_workflows)
    monkeypatch.setattr("sys.stdin", Terminal())

    def meanwhile(_prompt: str) -> str:
        """Somebody sends it back, and a larger sum is asked for, while another one thinks about it."""
        submit_transition(operator_workflows, run, "send_back", "finn", reason="Why so little?")
        claim: Mapping[str, Any] = {**CLAIM, "amount": 90_000}
        submit_transition(operator_workflows, run, "claim", **claim)
        return "y"

    monkeypatch.setattr("builtins.input", meanwhile)
    said = failing_signpost(*APPROVE, request, who="fay")
    assert "Nothing was decided." in said
    assert "Look at it again" in said
    stand = operator_workflows.call("workflow.get", {"workflowId": run}, "fay")
    assert (stand["state"], stand["approval"]["approvedBy"]) == ("with_finance", [])


def test_an_approval_with_an_outdated_digest_or_request_is_refused(
    operator_workflows: OperatorWorkflows, failing_signpost: CommandRunner
) -> None:
    run, request = start_expense_claim(operator_workflows)
    seen = operator_workflows.call("workflow.get", {"workflowId": run}, "fay")["approval"]["digest"]
    submit_transition(operator_workflows, run, "send_back", "finn", reason="Why so little?")
    claim: Mapping[str, Any] = {**CLAIM, "amount": 90_000}
    submit_transition(operator_workflows, run, "claim", **claim)
    said = failing_signpost(*APPROVE, run, "--yes", "--digest", seen, who="fay")
    assert "The request has the digest" in said
    assert f"has no open approval request {request!r}" in failing_signpost(*APPROVE, request, "--yes", who="fay")
    assert operator_workflows.call("workflow.get", {"workflowId": run}, "fay")["approval"]["approvedBy"] == []


INSTANCE_ANSWER: JsonObject = {
    "workflowId": "wf_1",
    "definitionId": "pay",
    "state": "asked",
    "version": 2,
    "context": {"amount": 90_000},
    "approval": {"requestId": "hr_1", "queue": "q", "digest": "0" * 64, "shows": ["amount"], "approvedBy": []},
    "links": [
        {"rel": "self", "method": "workflow.get", "args": {"workflowId": "wf_1"}},
        {"rel": "transition", "args": {"transition": "ok"}, "title": "OK", "actor": "human", "decision": "approve"},
        {"rel": "transition", "args": {"transition": "no"}, "title": "No", "actor": "human", "decision": "reject"},
    ],
}


def test_a_request_with_changed_values_can_be_rejected_but_not_approved() -> None:
    asked = parse_approval(INSTANCE_ANSWER, "hr_1")
    with pytest.raises(CommandFailed, match="Request approval again"):
        choose_link(asked, "approve", None)
    assert choose_link(asked, "reject", None)["title"] == "No"


def test_an_answered_request_is_not_mistaken_for_the_open_one() -> None:
    with pytest.raises(CommandFailed, match=r"hr_0 was answered already\. The open request of this run is hr_1"):
        parse_approval(INSTANCE_ANSWER, "hr_0")


@pytest.mark.parametrize(
    ("who", "arguments", "says"),
    [
        ("ann", APPROVE, "None of the transitions that you may take approves it (you may take: withdraw)"),
        ("agent", APPROVE, "log in with `signpost login"),
        ("fay", (*REJECT, "--transition", "refuse", "--argument", "reason=x"), "Give it with `--argument NAME=VALUE`"),
    ],
)
def test_a_refusal_names_the_next_step_and_changes_nothing(
    operator_workflows: OperatorWorkflows,
    failing_signpost: CommandRunner,
    who: str,
    arguments: tuple[str, ...],
    says: str,
) -> None:
    run, _ = start_expense_claim(operator_workflows)
    assert says in failing_signpost(*arguments, run, "--yes", who=who)
    stand = operator_workflows.call("workflow.get", {"workflowId": run}, "fay")
    assert (stand["version"], stand["approval"]["approvedBy"]) == (3, [])


def test_an_instance_without_an_open_request_is_refused(
    operator_workflows: OperatorWorkflows, failing_signpost: CommandRunner
) -> None:
    run, _ = start_expense_claim(operator_workflows)
    submit_transition(operator_workflows, run, "withdraw")
    url = ("--url", URL)
    assert "it is in state dropped" in failing_signpost(*APPROVE, run, *url, "--yes", who="fay")
    assert "wf_nowhere" in failing_signpost(*APPROVE, "wf_nowhere", *url, "--yes", who="fay")


@pytest.mark.parametrize("typed", ["n", "", "yess", EOFError()])
def test_without_a_yes_nothing_is_decided(
    operator_workflows: OperatorWorkflows,
    failing_signpost: CommandRunner,
    monkeypatch: pytest.MonkeyPatch,
    typed: str | EOFError,
) -> None:
    run, request = start_expense_claim(operator_workflows)

    def answered(_prompt: str) -> str:
        if isinstance(typed, EOFError):
            raise typed
        return typed

    monkeypatch.setattr("sys.stdin", Terminal())
    monkeypatch.setattr("builtins.input", answered)
    assert "Nothing was decided." in failing_signpost(*APPROVE, request, who="fay")
    assert operator_workflows.call("workflow.get", {"workflowId": run}, "fay")["version"] == 3


def test_a_yes_at_the_terminal_decides(
    operator_workflows: OperatorWorkflows, signpost: CommandRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, request = start_expense_claim(operator_workflows)
    monkeypatch.setattr("sys.stdin", Terminal())
    asked: list[str] = []

    def answered(prompt: str) -> str:
        asked.append(prompt)
        return "Y"

    monkeypatch.setattr("builtins.input", answered)
    signpost(*APPROVE, request, who="fay")
    assert operator_workflows.call("workflow.get", {"workflowId": run}, "fay")["version"] == 4
    assert asked == ["Approve this? [y/N] "]


def test_without_a_terminal_the_option_yes_is_required(
    operator_workflows: OperatorWorkflows, failing_signpost: CommandRunner
) -> None:
    _, request = start_expense_claim(operator_workflows)
    assert "--yes" in failing_signpost(*APPROVE, request, who="fay")


def test_a_lost_answer_is_reported_as_possibly_recorded(
    operator_workflows: OperatorWorkflows, failing_signpost: CommandRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, request = start_expense_claim(operator_workflows)
    call = operator_workflows.call

    def lost(tool: str, arguments: Any, who: str) -> Any:
        answer = call(tool, arguments, who)
        if tool == "workflow.submit":
            raise NoServerAnswer("The connection broke.")
        return answer

    monkeypatch.setattr(operator_workflows, "call", lost)
    assert "signpost workflow timeline" in failing_signpost(*APPROVE, request, "--yes", who="fay")
    assert call("workflow.get", {"workflowId": run}, "fay")["approval"]["approvedBy"] == ["fay"]


FAILING_CHAIN: JsonObject = {
    "timeoutMs": 60_000,
    "onTimeout": {"target": "over"},
    "initialState": "open",
    "states": {
        "open": {"transitions": {"ask": {"target": "asked", "executor": {"kind": "human"}}}},
        "asked": {
            "transitions": {
                "ok": {"actor": "human", "decision": "approve", "target": "sorting"},
                "no": {"actor": "human", "decision": "reject", "target": "sorting"},
            }
        },
        "sorting": {
            "transitions": {
                "left": {"actor": "deterministic", "target": "over"},
                "right": {"actor": "deterministic", "target": "over"},
            }
        },
        "over": {"terminal": True},
    },
}
"""Whatever is decided, what has to follow by itself cannot."""


def start_asking(operated: OperatorWorkflows, document: JsonObject) -> tuple[str, JsonObject]:
    """A run in which people are asked, and what they are asked."""
    operated.publish("small", document)
    run = start_workflow(operated, "small")
    return run, submit_transition(operated, run, "ask")["approval"]


@pytest.mark.parametrize(("command", "decided"), [(APPROVE, "Your approval of {}"), (REJECT, "Your rejection")])
def test_a_decision_is_recorded_although_its_chain_fails(
    operator_workflows: OperatorWorkflows, failing_signpost: CommandRunner, command: tuple[str, ...], decided: str
) -> None:
    run, asked = start_asking(operator_workflows, FAILING_CHAIN)
    said = failing_signpost(*command, run, "--yes", who="ann")
    assert said == (
        f"signpost: {decided.format(asked['digest'])} is recorded. A later step failed: The choice is ambiguous: 2 "
        "automatic transitions of the state sorting are possible (left, right). The engine continues only if exactly "
        f"one is. The run is in state sorting now, version 3. See `signpost workflow timeline {run}`.\n"
    )
    assert state_of(operator_workflows, run) == "sorting"


@pytest.mark.parametrize("command", [APPROVE, REJECT])
def test_a_decision_after_the_deadline_is_not_recorded(
    operator_workflows: OperatorWorkflows,
    failing_signpost: CommandRunner,
    monkeypatch: pytest.MonkeyPatch,
    command: tuple[str, ...],
) -> None:
    run, _ = start_asking(operator_workflows, FAILING_CHAIN)
    monkeypatch.setattr("sys.stdin", Terminal())

    def thought_about_for_long(_prompt: str) -> str:
        operator_workflows.world.clock.advance(61)
        return "y"

    monkeypatch.setattr("builtins.input", thought_about_for_long)
    assert failing_signpost(*command, run, who="ann") == (
        "signpost: Nothing was decided: the run timed out before your decision arrived. "
        "The run is in state over now, version 3, and has ended.\n"
    )
    assert state_of(operator_workflows, run) == "over"


@pytest.mark.parametrize("command", [APPROVE, REJECT])
def test_an_expired_request_is_refused_without_a_question(
    operator_workflows: OperatorWorkflows, failing_signpost: CommandRunner, command: tuple[str, ...]
) -> None:
    run, asked = start_asking(operator_workflows, FAILING_CHAIN)
    operator_workflows.world.clock.advance(61)
    said = failing_signpost(*command, str(asked["requestId"]), who="ann")
    assert "Nothing was decided: the run timed out before your decision arrived. The run is in state over now" in said
    assert run not in said


def test_a_passed_deadline_is_reported_before_the_failure_of_its_chain(
    operator_workflows: OperatorWorkflows, failing_signpost: CommandRunner
) -> None:
    run, _ = start_asking(operator_workflows, {**FAILING_CHAIN, "onTimeout": {"target": "sorting"}})
    operator_workflows.world.clock.advance(61)
    said = failing_signpost(*APPROVE, run, "--yes", who="ann")
    assert "timed out before your decision arrived. A step after the timeout failed: The choice is ambiguous" in said
    assert "The run is in state sorting now, version 3." in said
    assert "recorded" not in said


def test_a_repeated_approval_is_reported_as_already_given(
    operator_workflows: OperatorWorkflows, signpost: CommandRunner
) -> None:
    run, request = start_expense_claim(operator_workflows)
    digest = operator_workflows.call("workflow.get", {"workflowId": run}, "fay")["approval"]["digest"]
    assert f"Your approval of {digest} is recorded.\n" in signpost(*APPROVE, request, "--yes", who="fay")
    again = signpost(*APPROVE, request, "--yes", who="fay")
    assert again.endswith(
        f"You had approved {digest} already.\n"
        "The run is in state with_finance now, version 5.\n"
        "The request stays open in the queue finance; approved so far by fay.\n"
    )
    assert "is recorded" not in again
    assert f"Your approval of {digest} is recorded.\n" in signpost(*APPROVE, request, "--yes", who="finn")


LINK: JsonObject = {"rel": "transition", "args": {"transition": "ok"}, "title": "OK", "decision": "approve"}


@pytest.mark.parametrize("evidence", [[], [{"kind": "check"}], [{"kind": "human_approval", "id": "hr_0"}]])
@pytest.mark.parametrize("error", [{}, {"error": {"code": "CHAIN_FAILED", "message": "Two may."}}])
def test_an_approval_without_evidence_is_not_reported_as_recorded(
    evidence: list[JsonObject], error: JsonObject
) -> None:
    answer: JsonObject = {"state": "over", "version": 3, "terminal": True, "evidence": evidence, **error}
    with pytest.raises(CommandFailed) as raised:
        list(describe_outcome(parse_approval(INSTANCE_ANSWER, "hr_1"), LINK, answer))
    said = str(raised.value)
    assert said.startswith("The answer does not confirm your approval.")
    assert "The run is in state over now, version 3, and has ended. See `signpost workflow timeline wf_1`." in said
    assert ("Two may." in said) is bool(error)


def test_control_characters_of_a_server_are_escaped() -> None:
    evil = "\x1b[2J\x07\n\u202e"
    approval = {**as_object(INSTANCE_ANSWER["approval"]), "requestId": f"hr{evil}", "digest": evil, "queue": evil}
    stand: JsonObject = {**INSTANCE_ANSWER, "approval": approval, "workflowId": f"wf{evil}"}
    asked = parse_approval(stand, None)
    moved: JsonObject = {"state": evil, "version": 3, "evidence": []}
    evident: JsonObject = {**moved, "evidence": [{"kind": "human_approval", "id": asked.request_id}]}
    failed: JsonObject = {"error": {"code": "CHAIN_FAILED", "message": evil}}
    said = [
        *request_lines(asked.request_id, asked.queue, asked.digest, [evil]),
        *describe_outcome(asked, LINK, {**evident, "approval": {**approval, "approvedBy": [evil]}}),
        *describe_outcome(asked, LINK, {**evident, "approval": approval}),
        _failure_of(lambda: parse_approval(stand, "hr_0")),
        _failure_of(lambda: parse_approval({**moved, "timedOut": True, **failed}, None)),
        *(
            _failure_of(lambda answer=answer: list(describe_outcome(asked, LINK, answer)))
            for answer in (moved, {**moved, **failed}, {**evident, **failed}, {**moved, **failed, "version": 2})
        ),
    ]
    assert [line for line in said if not line.isprintable()] == []
    assert all(any(mark in line for line in said) for mark in ("digest \\x1b", "was answered already", "is recorded"))


def test_control_characters_in_a_digest_are_escaped(
    operator_workflows: OperatorWorkflows, failing_signpost: CommandRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    def made_up(_tool: str, _arguments: Any, _who: str) -> JsonObject:
        return {**INSTANCE_ANSWER, "approval": {**as_object(INSTANCE_ANSWER["approval"]), "digest": "\x1b[2J"}}

    monkeypatch.setattr(operator_workflows, "call", made_up)
    said = failing_signpost(*APPROVE, "wf_1", "--url", URL, "--digest", "0" * 64, who="fay")
    assert r"has the digest \x1b[2J now: look at it again" in said


def _failure_of(act: Callable[[], object]) -> str:
    with pytest.raises(CommandFailed) as raised:
        act()
    return str(raised.value)


def test_the_help_names_the_credential_of_an_answer(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([*APPROVE, "--help"])
    printed = " ".join(capsys.readouterr().out.split())
    assert "SIGNPOST_AUTHORIZATION" in approvals.ANSWER_DESCRIPTION
    assert approvals.ANSWER_DESCRIPTION in printed
