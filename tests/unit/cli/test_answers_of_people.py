"""`signpost approvals approve|reject`: what is sent is what was shown, and a refusal says what to do."""

from collections.abc import Callable, Mapping
from io import StringIO
from typing import Any, override

import pytest

from signpost.cli import approvals, main, stack
from signpost.cli.failure import CommandFailed, NoServerAnswer
from signpost.cli.runs.decision import choose_link, describe_outcome, parse_approval, request_lines
from signpost.model import JsonObject, as_object
from tests.support.operated_workflows import CLAIM, URL, OperatedWorkflows, Printed, claimed, started, take

APPROVE, REJECT = ("approvals", "approve"), ("approvals", "reject")


class Terminal(StringIO):
    """Somebody sits at it, and types this."""

    @override
    def isatty(self) -> bool:
        return True


def state_of(operated: OperatedWorkflows, run: str) -> str:
    return operated.call("workflow.get", {"workflowId": run}, "ann")["state"]


def test_two_people_approve_what_they_were_shown(operated: OperatedWorkflows, signpost: Printed) -> None:
    run, request = claimed(operated)
    digest = operated.call("workflow.get", {"workflowId": run}, "fay")["approval"]["digest"]
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


def test_whoever_has_no_aws_credentials_names_the_server_and_the_run(
    operated: OperatedWorkflows, signpost: Printed, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, _ = claimed(operated)
    monkeypatch.setattr(stack, "open_workflows", None)
    signpost(*APPROVE, run, "--yes", "--url", "https://elsewhere.test/mcp", who="fay")
    assert state_of(operated, run) == "with_finance"
    assert operated.urls == ["https://elsewhere.test/mcp"]


def test_the_stack_says_where_the_server_is(operated: OperatedWorkflows, signpost: Printed) -> None:
    run, _ = claimed(operated)
    signpost(*APPROVE, run, "--yes", who="fay")
    assert operated.urls == [URL]


def test_several_ways_to_reject_are_named_and_one_is_chosen_with_its_arguments(
    operated: OperatedWorkflows, signpost: Printed, refused: Printed
) -> None:
    run, request = claimed(operated)
    said = refused(*REJECT, request, "--yes", who="fay")
    assert "refuse (Refuse the expense), send_back (Send it back with a question)" in said
    assert "--transition" in said
    assert "Did you mean send_back?" in refused(*REJECT, request, "--transition", "sendback", who="fay")
    assert "approve approves the request" in refused(*REJECT, request, "--transition", "approve", who="fay")
    assert "withdraw does not answer the request" in refused(*APPROVE, request, "--transition", "withdraw", who="fay")
    send_back = ("--transition", "send_back", "--yes")
    assert "send_back needs --argument reason=…" in refused(*REJECT, request, *send_back, who="fay")
    assert "NAME=VALUE, not 'reason'" in refused(*REJECT, request, *send_back, "--argument", "reason", who="fay")
    assert state_of(operated, run) == "with_finance"
    printed = signpost(*REJECT, request, *send_back, "--argument", "reason=123", who="fay")
    assert 'send_back rejects this: Send it back with a question\n  reason: "123"\n' in printed
    assert printed.endswith("The run is in state draft now, version 4.\n")
    assert operated.call("workflow.get", {"workflowId": run}, "fay")["context"]["reason"] == "123"


def test_arguments_that_are_no_texts_are_read_as_json(operated: OperatedWorkflows, signpost: Printed) -> None:
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
    operated.publish("small", {"initialState": "open", "states": states})
    run = operated.call("workflow.start", {"definitionId": "small"}, "agent")["workflowId"]
    take(operated, run, "ask")
    given = ("--argument", "amount=12", "--argument", 'tags=["a"]', "--argument", "other=some text")
    signpost(*APPROVE, run, "--yes", *given, who="ann")
    context = operated.call("workflow.get", {"workflowId": run}, "ann")["context"]
    assert context["all"] == {"amount": 12, "tags": ["a"], "other": "some text"}


@pytest.mark.invariant(49)
def test_nothing_is_approved_that_has_changed_since_it_was_shown(
    operated: OperatedWorkflows, refused: Printed, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, request = claimed(operated)
    monkeypatch.setattr("sys.stdin", Terminal())

    def meanwhile(_prompt: str) -> str:
        """Somebody sends it back, and a larger sum is asked for, while another one thinks about it."""
        take(operated, run, "send_back", "finn", reason="Why so little?")
        claim: Mapping[str, Any] = {**CLAIM, "amount": 90_000}
        take(operated, run, "claim", **claim)
        return "y"

    monkeypatch.setattr("builtins.input", meanwhile)
    said = refused(*APPROVE, request, who="fay")
    assert "Nothing was decided." in said
    assert "Look at it again" in said
    stand = operated.call("workflow.get", {"workflowId": run}, "fay")
    assert (stand["state"], stand["approval"]["approvedBy"]) == ("with_finance", [])


def test_a_script_approves_what_it_has_seen_and_nothing_else(operated: OperatedWorkflows, refused: Printed) -> None:
    run, request = claimed(operated)
    seen = operated.call("workflow.get", {"workflowId": run}, "fay")["approval"]["digest"]
    take(operated, run, "send_back", "finn", reason="Why so little?")
    claim: Mapping[str, Any] = {**CLAIM, "amount": 90_000}
    take(operated, run, "claim", **claim)
    said = refused(*APPROVE, run, "--yes", "--digest", seen, who="fay")
    assert "The request has the digest" in said
    assert f"has no open approval request {request!r}" in refused(*APPROVE, request, "--yes", who="fay")
    assert operated.call("workflow.get", {"workflowId": run}, "fay")["approval"]["approvedBy"] == []


STAND: JsonObject = {
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


def test_what_is_not_what_was_asked_can_be_rejected_but_not_approved() -> None:
    asked = parse_approval(STAND, "hr_1")
    with pytest.raises(CommandFailed, match="Request approval again"):
        choose_link(asked, "approve", None)
    assert choose_link(asked, "reject", None)["title"] == "No"


def test_a_request_that_is_answered_is_not_taken_for_the_one_that_is_open_now() -> None:
    with pytest.raises(CommandFailed, match=r"hr_0 was answered already\. The open request of this run is hr_1"):
        parse_approval(STAND, "hr_0")


@pytest.mark.parametrize(
    ("who", "arguments", "says"),
    [
        ("ann", APPROVE, "None of the transitions that you may take approves it (you may take: withdraw)"),
        ("agent", APPROVE, "log in with `signpost login"),
        ("fay", (*REJECT, "--transition", "refuse", "--argument", "reason=x"), "Give it with `--argument NAME=VALUE`"),
    ],
)
def test_a_refusal_says_what_to_do_and_changes_nothing(
    operated: OperatedWorkflows, refused: Printed, who: str, arguments: tuple[str, ...], says: str
) -> None:
    run, _ = claimed(operated)
    assert says in refused(*arguments, run, "--yes", who=who)
    stand = operated.call("workflow.get", {"workflowId": run}, "fay")
    assert (stand["version"], stand["approval"]["approvedBy"]) == (3, [])


def test_where_nothing_is_asked_that_is_said(operated: OperatedWorkflows, refused: Printed) -> None:
    run, _ = claimed(operated)
    take(operated, run, "withdraw")
    url = ("--url", URL)
    assert "it is in state dropped" in refused(*APPROVE, run, *url, "--yes", who="fay")
    assert "wf_nowhere" in refused(*APPROVE, "wf_nowhere", *url, "--yes", who="fay")


@pytest.mark.parametrize("typed", ["n", "", "yess", EOFError()])
def test_without_a_yes_nothing_is_decided(
    operated: OperatedWorkflows, refused: Printed, monkeypatch: pytest.MonkeyPatch, typed: str | EOFError
) -> None:
    run, request = claimed(operated)

    def answered(_prompt: str) -> str:
        if isinstance(typed, EOFError):
            raise typed
        return typed

    monkeypatch.setattr("sys.stdin", Terminal())
    monkeypatch.setattr("builtins.input", answered)
    assert "Nothing was decided." in refused(*APPROVE, request, who="fay")
    assert operated.call("workflow.get", {"workflowId": run}, "fay")["version"] == 3


def test_a_yes_at_the_terminal_decides(
    operated: OperatedWorkflows, signpost: Printed, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, request = claimed(operated)
    monkeypatch.setattr("sys.stdin", Terminal())
    asked: list[str] = []

    def answered(prompt: str) -> str:
        asked.append(prompt)
        return "Y"

    monkeypatch.setattr("builtins.input", answered)
    signpost(*APPROVE, request, who="fay")
    assert operated.call("workflow.get", {"workflowId": run}, "fay")["version"] == 4
    assert asked == ["Approve this? [y/N] "]


def test_where_nobody_sits_a_yes_has_to_be_said_before(operated: OperatedWorkflows, refused: Printed) -> None:
    _, request = claimed(operated)
    assert "--yes" in refused(*APPROVE, request, who="fay")


def test_an_answer_that_got_lost_may_have_counted(
    operated: OperatedWorkflows, refused: Printed, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, request = claimed(operated)
    call = operated.call

    def lost(tool: str, arguments: Any, who: str) -> Any:
        answer = call(tool, arguments, who)
        if tool == "workflow.submit":
            raise NoServerAnswer("The connection broke.")
        return answer

    monkeypatch.setattr(operated, "call", lost)
    assert "signpost workflow timeline" in refused(*APPROVE, request, "--yes", who="fay")
    assert call("workflow.get", {"workflowId": run}, "fay")["approval"]["approvedBy"] == ["fay"]


SMALL: JsonObject = {
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


def asked_of(operated: OperatedWorkflows, document: JsonObject) -> tuple[str, JsonObject]:
    """A run in which people are asked, and what they are asked."""
    operated.publish("small", document)
    run = started(operated, "small")
    return run, take(operated, run, "ask")["approval"]


@pytest.mark.parametrize(("command", "decided"), [(APPROVE, "Your approval of {}"), (REJECT, "Your rejection")])
def test_a_decision_counts_though_what_follows_it_fails(
    operated: OperatedWorkflows, refused: Printed, command: tuple[str, ...], decided: str
) -> None:
    run, asked = asked_of(operated, SMALL)
    said = refused(*command, run, "--yes", who="ann")
    assert said == (
        f"signpost: {decided.format(asked['digest'])} is recorded. A later step failed: The state sorting continues "
        "only if exactly one transition is possible. Possible now: left, right. The run is in state sorting now, "
        f"version 3. See `signpost workflow timeline {run}`.\n"
    )
    assert state_of(operated, run) == "sorting"


@pytest.mark.parametrize("command", [APPROVE, REJECT])
def test_a_decision_that_comes_after_the_deadline_is_none(
    operated: OperatedWorkflows, refused: Printed, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    run, _ = asked_of(operated, SMALL)
    monkeypatch.setattr("sys.stdin", Terminal())

    def thought_about_for_long(_prompt: str) -> str:
        operated.world.clock.advance(61)
        return "y"

    monkeypatch.setattr("builtins.input", thought_about_for_long)
    assert refused(*command, run, who="ann") == (
        "signpost: Nothing was decided: the run timed out before your decision arrived. "
        "The run is in state over now, version 3, and has ended.\n"
    )
    assert state_of(operated, run) == "over"


@pytest.mark.parametrize("command", [APPROVE, REJECT])
def test_who_finds_the_time_over_is_asked_nothing_more(
    operated: OperatedWorkflows, refused: Printed, command: tuple[str, ...]
) -> None:
    run, asked = asked_of(operated, SMALL)
    operated.world.clock.advance(61)
    said = refused(*command, str(asked["requestId"]), who="ann")
    assert "Nothing was decided: the run timed out before your decision arrived. The run is in state over now" in said
    assert run not in said


def test_a_deadline_goes_before_what_failed_after_it(operated: OperatedWorkflows, refused: Printed) -> None:
    run, _ = asked_of(operated, {**SMALL, "onTimeout": {"target": "sorting"}})
    operated.world.clock.advance(61)
    said = refused(*APPROVE, run, "--yes", who="ann")
    assert "timed out before your decision arrived. A step after the timeout failed: The state sorting" in said
    assert "The run is in state sorting now, version 3." in said
    assert "recorded" not in said


def test_who_approves_again_is_told_that_they_had(operated: OperatedWorkflows, signpost: Printed) -> None:
    run, request = claimed(operated)
    digest = operated.call("workflow.get", {"workflowId": run}, "fay")["approval"]["digest"]
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
def test_an_approval_of_which_the_answer_has_no_evidence_is_not_called_recorded(
    evidence: list[JsonObject], error: JsonObject
) -> None:
    answer: JsonObject = {"state": "over", "version": 3, "terminal": True, "evidence": evidence, **error}
    with pytest.raises(CommandFailed) as raised:
        list(describe_outcome(parse_approval(STAND, "hr_1"), LINK, answer))
    said = str(raised.value)
    assert said.startswith("The answer does not confirm your approval.")
    assert "The run is in state over now, version 3, and has ended. See `signpost workflow timeline wf_1`." in said
    assert ("Two may." in said) is bool(error)


def test_what_a_server_writes_gives_the_terminal_no_orders() -> None:
    evil = "\x1b[2J\x07\n\u202e"
    approval = {**as_object(STAND["approval"]), "requestId": f"hr{evil}", "digest": evil, "queue": evil}
    stand: JsonObject = {**STAND, "approval": approval, "workflowId": f"wf{evil}"}
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


def test_a_digest_that_a_server_made_up_gives_the_terminal_no_orders(
    operated: OperatedWorkflows, refused: Printed, monkeypatch: pytest.MonkeyPatch
) -> None:
    def made_up(_tool: str, _arguments: Any, _who: str) -> JsonObject:
        return {**STAND, "approval": {**as_object(STAND["approval"]), "digest": "\x1b[2J"}}

    monkeypatch.setattr(operated, "call", made_up)
    said = refused(*APPROVE, "wf_1", "--url", URL, "--digest", "0" * 64, who="fay")
    assert r"has the digest \x1b[2J now: look at it again" in said


def _failure_of(act: Callable[[], object]) -> str:
    with pytest.raises(CommandFailed) as raised:
        act()
    return str(raised.value)


def test_the_help_says_as_whom_it_is_answered(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([*APPROVE, "--help"])
    printed = " ".join(capsys.readouterr().out.split())
    assert "SIGNPOST_AUTHORIZATION" in approvals.ANSWER_DESCRIPTION
    assert approvals.ANSWER_DESCRIPTION in printed
