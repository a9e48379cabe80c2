"""What `signpost workflow`, `audit` and `approvals` print; `tests/e2e/test_workflow_commands.py` runs them deployed."""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from signpost.adapters.source_files import read_values
from signpost.catalogue.cache import CachedCatalogue, CatalogueView
from signpost.cli import stack
from signpost.model import CatalogueItem, JsonObject
from tests.support.example_workflows import EXAMPLES
from tests.support.gateway_workflows import TENANT
from tests.support.operator_workflows import (
    CLAIM,
    DEPLOY,
    EXPENSE,
    CommandRunner,
    OperatorWorkflows,
    start_expense_claim,
    start_workflow,
    submit_transition,
)

# What there is.


def test_the_whole_catalogue_is_listed_with_disabled_workflows(
    operator_workflows: OperatorWorkflows, signpost: CommandRunner
) -> None:
    small = {"title": "Small", "initialState": "done", "states": {"done": {"terminal": True}}}
    operator_workflows.publish("old", {**small, "title": "Old", "enabled": False}, enabled=False)
    operator_workflows.publish("off", {**small, "title": "Off\x1b[2J\u202e"}, switched_off=True)
    lines = signpost("workflow", "list").splitlines()
    assert [re.split(r"  +", line) for line in lines] == [
        ["ID", "KIND", "STATE", "TITLE"],
        ["deploy_pipeline", "workflow", "on", "Deploy a service"],
        ["expense_approval", "workflow", "on", "Approve an expense"],
        ["off", "workflow", "switched off", r"Off\x1b[2J\u202e"],
        ["old", "workflow", "disabled by its author", "Old"],
    ]
    assert len({line.index(word) for line, word in zip(lines, ["KIND", *["workflow"] * 4], strict=True)}) == 1
    rows = [json.loads(line) for line in signpost("workflow", "list", "--json").splitlines()]
    assert [(row["id"], row["state"]) for row in rows][2:] == [
        ("off", "switched off"),
        ("old", "disabled by its author"),
    ]
    assert rows[2]["title"] == "Off\x1b[2J\u202e"


def test_an_empty_catalogue_is_reported_with_the_command_to_publish(signpost: CommandRunner) -> None:
    assert "signpost publish" in signpost("workflow", "list", tenant="nobody")


def test_a_workflow_is_shown_with_actors_and_guards_of_its_transitions(signpost: CommandRunner) -> None:
    printed = signpost("workflow", "show", EXPENSE)
    assert printed.startswith("expense_approval: Approve an expense\nSmall expenses are paid at once")
    assert "\ndraft (initial state)\n" in printed
    assert "\npaid (final state)\n" in printed
    states = {part.split()[0]: part for part in printed.split("\n\n")[1:]}
    rows = [re.split(r"  +", line.strip()) for line in states["with_finance"].splitlines()]
    assert ["approve", "with_finance", "a person", "is finance, else", "approves the request"] in rows
    assert [
        "approve",
        "approved",
        "a person",
        "is finance, 2 distinct human_approval",
        "approves the request",
    ] in rows
    assert ["withdraw", "dropped", "any caller", "-", "-"] in rows
    assert ["medium", "with_manager", "automatic", "amount >= 50 and amount <= 1000", "human"] in [
        re.split(r"  +", line.strip()) for line in states["sorting"].splitlines()
    ]


def test_the_document_of_a_workflow_is_printed_in_its_written_order(signpost: CommandRunner) -> None:
    document = read_values(EXAMPLES["expense-approval"] / "manifest.yaml")["workflows"][EXPENSE]
    assert json.dumps(json.loads(signpost("workflow", "show", EXPENSE, "--json"))) == json.dumps(document)


def test_a_workflow_that_is_switched_off_is_shown_as_such(
    operator_workflows: OperatorWorkflows, signpost: CommandRunner
) -> None:
    states = {"done": {"terminal": True}}
    operator_workflows.publish("off", {"initialState": "done", "states": states, "enabled": False}, switched_off=True)
    printed = signpost("workflow", "show", "off")
    assert "signpost workflow enable" in printed
    assert "its author has disabled it" in printed


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("workflow", "show", "expense_aproval"), "Did you mean expense_approval?"),
        (("workflow", "show", "zzz"), "See `signpost workflow list --tenant acme`"),
        (("workflow", "graph", "deploy"), "Tenant 'acme' has no workflow 'deploy'"),
        (("workflow", "show", "a\x1b[2J"), r"has no workflow 'a\x1b[2J'"),
        (("workflow", "graph"), "Name a workflow"),
        (("workflow", "timeline", "wf_1"), "No run of a workflow in tenant 'acme' has the id 'wf_1'"),
        (("audit", "show", "expense_approval"), "wf_"),
        (("approvals", "show", "hr_1"), "`signpost approvals list --tenant acme`"),
    ],
)
def test_an_unknown_name_is_reported_with_the_next_step(
    failing_signpost: CommandRunner, arguments: tuple[str, ...], says: str
) -> None:
    assert says in failing_signpost(*arguments)


# What has happened.


def test_the_timeline_shows_principals_hops_and_refusals(
    operator_workflows: OperatorWorkflows, signpost: CommandRunner
) -> None:
    run, request = start_expense_claim(operator_workflows)
    submit_transition(operator_workflows, run, "approve", "ann")
    submit_transition(operator_workflows, run, "approve", "fay")
    submit_transition(operator_workflows, run, "approve", "finn")
    lines = signpost("workflow", "timeline", run).splitlines()
    assert lines[0].startswith(f"{run}: Approve an expense (expense_approval, definition ")
    assert lines[1] == "ended in paid, version 6"
    calls = "\n".join(lines[3:])
    headed = re.findall(r"^2027-01-15 08:00:00Z  (\S+)  cor_[0-9a-f]{32}$", calls, re.MULTILINE)
    assert headed == ["agent-1", "agent-1", "ann", "fay", "finn"]
    told = [line.strip() for line in lines[3:] if line.startswith(" ")]
    digest = operator_workflows.world.instances.load(TENANT, run).request.digest  # pyright: ignore[reportOptionalMemberAccess] - else the test fails
    assert told == [
        "1  started in draft",
        "2  claim: draft → sorting",
        f"request {request}: opened in the queue finance",
        "3  large: sorting → with_finance, automatically",
        f"evidence: human_request by agent-1 (id {request}, queue finance)",
        "refused: approve: GUARD_REJECTED. A guard of approve did not pass.",
        f"request {request}: approve",
        "4  approve: with_finance → with_finance",
        f"evidence: human_approval by fay (id {request}, digest {digest})",
        f"request {request}: approve",
        "5  approve: with_finance → approved",
        "6  pay: approved → paid, automatically",
        "ended in paid",
        f"evidence: human_approval by finn (id {request}, digest {digest})",
    ]


def test_the_timeline_shows_a_future_and_a_passed_deadline(
    operator_workflows: OperatorWorkflows, signpost: CommandRunner
) -> None:
    go = {"target": "over", "executor": {"kind": "nothing-like-it"}}
    document = {
        "timeoutMs": 60_000,
        "onTimeout": {"target": "over"},
        "initialState": "open",
        "states": {"open": {"transitions": {"go": go}}, "over": {"terminal": True}},
    }
    operator_workflows.publish("short", document)
    run = start_workflow(operator_workflows, "short")
    submit_transition(operator_workflows, run, "go")
    before = signpost("workflow", "timeline", run)
    assert "\ntimes out at 2027-01-15 08:01:00Z, and moves to over\n" in before
    message = "This deployment has no executor of the kind 'nothing-like-it'."
    assert f"refused: go: EXECUTOR_FAILED. {message}" in before
    operator_workflows.world.clock.advance(61)
    assert "\ntimed out at 2027-01-15 08:01:00Z, and moves to over\n" in signpost("workflow", "timeline", run)
    operator_workflows.call("workflow.get", {"workflowId": run}, "ann")
    after = signpost("workflow", "timeline", run)
    assert "timed out in open, after 61 s" in after
    assert "2  timeout: open → over" in after
    assert "ended in over, version 2" in after


def test_an_instance_is_shown_by_the_definition_that_it_was_started_with(
    operator_workflows: OperatorWorkflows, signpost: CommandRunner, tmp_path: Path
) -> None:
    run, _ = start_expense_claim(operator_workflows)
    operator_workflows.publish(
        EXPENSE, {"title": "Another", "initialState": "end", "states": {"end": {"terminal": True}}}
    )
    assert "Approve an expense" in signpost("workflow", "timeline", run)
    signpost("workflow", "graph", "--instance", run, "--out", str(tmp_path))
    assert "with_finance" in (tmp_path / f"{run}.mmd").read_text("utf-8")
    assert "with_finance" not in signpost("workflow", "show", EXPENSE)


def test_a_long_call_has_a_timeline_and_a_picture(
    operator_workflows: OperatorWorkflows, signpost: CommandRunner, tmp_path: Path
) -> None:
    run = operator_workflows.start_long_call("yard::build", "agent")
    lines = signpost("workflow", "timeline", run).splitlines()
    assert lines[0] == f"{run}: Capabilities (proxy_default, call:once:yard::build)"
    signpost("workflow", "graph", "--instance", run, "--out", str(tmp_path))
    assert "yard::build" in (tmp_path / f"{run}.svg").read_text("utf-8")


def test_control_characters_in_stored_texts_are_escaped(
    operator_workflows: OperatorWorkflows, signpost: CommandRunner
) -> None:
    run, request = start_expense_claim(operator_workflows, purpose="nice\n| amount: 1\x1b[2J\u202e")
    submit_transition(operator_workflows, run, "send_back\x07", "fay")
    shown = signpost("approvals", "show", request)
    assert "purpose:\n  | nice\n  | | amount: 1\\x1b[2J\\u202e\n" in shown
    for printed in (
        shown,
        signpost("workflow", "timeline", run),
        signpost("audit", "show", run),
        signpost("approvals", "list"),
    ):
        assert all(character.isprintable() or character == "\n" for character in printed)
    assert r"send_back\x07" in signpost("workflow", "timeline", run)


def test_every_audit_event_is_shown_in_order_with_its_correlation_id(
    operator_workflows: OperatorWorkflows, signpost: CommandRunner
) -> None:
    run, request = start_expense_claim(operator_workflows)
    submit_transition(operator_workflows, run, "approve", "ann")
    events = [json.loads(line) for line in signpost("audit", "show", run, "--json").splitlines()]
    assert [event["event_type"] for event in events] == [
        "workflow.started",
        "transition.requested",
        "workflow.transitioned",
        "human.approval.requested",
        "chain.step",
        "workflow.transitioned",
        "chain.completed",
        "transition.requested",
        "guard.evaluated",
        "transition.rejected",
    ]
    assert [event["actor"] for event in events] == ["agent-1"] * 7 + ["ann"] * 3
    correlations = [event["correlation_id"] for event in events]
    assert [correlations.count(one) for one in dict.fromkeys(correlations)] == [1, 6, 3]
    assert events[3]["payload"] == {"queue": "finance", "requestId": request, "transition": "large"}
    assert {event["workflow_id"] for event in events} == {run}
    assert events[0]["timestamp"] == "2027-01-15T08:00:00.000+00:00"
    lines = signpost("audit", "show", run).splitlines()
    assert lines[0].split() == ["TIME", "CORRELATION", "ACTOR", "EVENT", "PAYLOAD"]
    assert [line.split()[3] for line in lines[1:]] == [event["event_type"] for event in events]


# Pictures.


def test_a_picture_is_written_as_mermaid_and_as_svg(signpost: CommandRunner, tmp_path: Path) -> None:
    printed = signpost("workflow", "graph", EXPENSE, "--out", str(tmp_path / "pictures"))
    files = [tmp_path / "pictures" / f"expense_approval.{suffix}" for suffix in ("mmd", "svg")]
    assert printed.splitlines() == list(map(str, files))
    example = EXAMPLES["expense-approval"]
    assert files[0].read_text("utf-8") in (example / "README.md").read_text("utf-8")
    assert files[1].read_text("utf-8") == (example / "picture.svg").read_text("utf-8")


def test_a_picture_of_an_instance_marks_its_state_and_its_hops(
    operator_workflows: OperatorWorkflows, signpost: CommandRunner, tmp_path: Path
) -> None:
    run, _ = start_expense_claim(operator_workflows)
    submit_transition(operator_workflows, run, "approve", "fay")
    signpost("workflow", "graph", EXPENSE, "--instance", run, "--out", str(tmp_path))
    lines = (tmp_path / f"{run}.mmd").read_text("utf-8").splitlines()
    ids = {found[1]: found[2] for line in lines if (found := re.fullmatch(r' +state "(.*)" as (\w+)', line))}
    current = ids["with_finance, a person decides, now"]
    classes = {found[2]: found[1].split(",") for line in lines if (found := re.fullmatch(r" +class (\S+) (\w+)", line))}
    assert classes["current"] == [current]
    assert classes["visited"] == [ids["draft"], ids["sorting, automatic"]]
    taken = [line.split(" : ")[1] for line in lines if "✓" in line]
    assert [one.split(",")[0] for one in taken] == ["✓ 1", "✓ 2", "✓ 3"]
    drawn = ET.fromstring((tmp_path / f"{run}.svg").read_text("utf-8"))  # noqa: S314 - our own
    marked = [group for group in drawn.iter() if group.get("class", "").startswith("pointer")]
    assert len(marked) == 1


def test_a_picture_of_another_workflow_is_refused_and_files_stay_in_the_folder(
    operator_workflows: OperatorWorkflows, signpost: CommandRunner, failing_signpost: CommandRunner, tmp_path: Path
) -> None:
    run, _ = start_expense_claim(operator_workflows)
    wrong = failing_signpost("workflow", "graph", DEPLOY, "--instance", run)
    assert f"{run} is a run of expense_approval, not of deploy_pipeline." in wrong
    operator_workflows.publish("../../up", {"initialState": "end", "states": {"end": {"terminal": True}}})
    signpost("workflow", "graph", "../../up", "--out", str(tmp_path / "in"))
    assert sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.*")) == [
        "in/__.._up.mmd",
        "in/__.._up.svg",
    ]
    (tmp_path / "file").touch()
    assert "Choose another one with --out" in failing_signpost(
        "workflow", "graph", EXPENSE, "--out", str(tmp_path / "file")
    )


# What people are asked.


def test_open_approval_requests_are_listed_by_queue(
    operator_workflows: OperatorWorkflows, signpost: CommandRunner
) -> None:
    assert signpost("approvals", "list") == "There are no open approval requests.\n"
    run, request = start_expense_claim(operator_workflows)
    submit_transition(operator_workflows, run, "approve", "fay")
    heading, row = signpost("approvals", "list", "--queue", "finance").splitlines()
    assert re.split(r"  +", heading) == ["REQUEST", "QUEUE", "WORKFLOW", "ASKED BY", "ASKED AT", "UNTIL", "APPROVED BY"]
    assert re.split(r"  +", row) == [request, "finance", EXPENSE, "agent-1", "2027-01-15 08:00:00Z", "-", "fay"]
    assert "Did you mean finance?" in signpost("approvals", "list", "--queue", "finanse")
    assert "Queues with requests: finance." in signpost("approvals", "list", "--queue", "x")
    (waiting,) = map(json.loads, signpost("approvals", "list", "--json").splitlines())
    assert (waiting["workflow"], waiting["approvedBy"], waiting["state"]) == (run, ["fay"], "with_finance")
    submit_transition(operator_workflows, run, "withdraw")
    assert signpost("approvals", "list") == "There are no open approval requests.\n"


def test_an_approval_request_shows_its_deadline(operator_workflows: OperatorWorkflows, signpost: CommandRunner) -> None:
    run = start_workflow(operator_workflows, DEPLOY, service="billing", revision="0a1b2c3")
    build: Mapping[str, Any] = {"lint": "clean", "failedTests": 0, "coverage": 91}
    submit_transition(operator_workflows, run, "report_build", service="billing", revision="0a1b2c3", **build)
    request = submit_transition(operator_workflows, run, "ask_for_release", notes="Invoices")["approval"]["requestId"]
    until = "2027-01-15 12:00:00Z"
    assert f"  {until}  " in signpost("approvals", "list")
    assert f"\nto be answered until {until}\n" in signpost("approvals", "show", request)
    operator_workflows.world.clock.advance(4 * 3600)
    assert f"  expired {until}  " in signpost("approvals", "list")
    assert f"\nto be answered until {until} (expired)\n" in signpost("approvals", "show", request)


def test_an_approval_request_shows_exactly_the_values_to_approve(
    operator_workflows: OperatorWorkflows, signpost: CommandRunner
) -> None:
    run, request = start_expense_claim(operator_workflows)
    printed = signpost("approvals", "show", request)
    assert printed == signpost("approvals", "show", run)
    described = json.loads(signpost("approvals", "show", request, "--json"))
    assert described["values"] == CLAIM
    assert printed.startswith(
        f"expense_approval, {run}: in state with_finance, version 3\n"
        f"request {request} in the queue finance\n"
        f"digest {described['digest']}\n"
        "not approved yet\n"
        "asked by agent-1 at 2027-01-15 08:00:00Z\n"
        "\n"
        "amount: 2000\n"
        'purpose: "Train to the customer"\n'
        'receipt: "R-20311"\n'
    )
    assert [line.split()[0] for line in printed.split("\n\n")[2].splitlines()] == [
        "TRANSITION",
        "approve",
        "approve",
        "refuse",
        "send_back",
    ]


def test_a_mistyped_request_gets_a_suggestion(
    operator_workflows: OperatorWorkflows, failing_signpost: CommandRunner
) -> None:
    run, request = start_expense_claim(operator_workflows)
    assert f"Did you mean {request}?" in failing_signpost("approvals", "show", request[:-1])
    assert f"Did you mean {run}?" in failing_signpost("workflow", "timeline", run[:-1])


def test_a_capability_is_shown_as_a_transition_of_proxy_default(
    operator_workflows: OperatorWorkflows, signpost: CommandRunner, failing_signpost: CommandRunner
) -> None:
    ready = {"transitions": {"tickets.close": {"title": "Close a ticket", "target": "ready"}}}
    operator_workflows.expose({"title": "Capabilities", "initialState": "ready", "states": {"ready": ready}})
    assert re.search(r"tickets\.close +capability +on", signpost("workflow", "list"))
    assert "capabilities are transitions of proxy_default" in failing_signpost("workflow", "show", "tickets.close")
    assert re.search(r"tickets\.close +ready +any caller", signpost("workflow", "show", "proxy_default"))


def test_a_capability_of_the_same_name_is_not_switched_off_with_a_workflow(
    operator_workflows: OperatorWorkflows, signpost: CommandRunner
) -> None:
    end: JsonObject = {"initialState": "end", "states": {"end": {"terminal": True}}}
    operator_workflows.publish("tickets.close", end, switched_off=True)
    ready = {"transitions": {"tickets.close": {"title": "Close a ticket", "target": "ready"}}}
    operator_workflows.expose({"title": "Capabilities", "initialState": "ready", "states": {"ready": ready}})
    listed = [json.loads(line) for line in signpost("workflow", "list", "--json").splitlines()]
    states = {one["kind"]: one["state"] for one in listed if one["id"] == "tickets.close"}
    assert states == {"workflow": "switched off", "capability": "on"}
    printed = signpost("workflow", "list")
    assert re.search(r"tickets\.close +workflow +switched off", printed)
    assert re.search(r"tickets\.close +capability +on ", printed)


def test_the_state_of_a_capability_is_not_that_of_a_workflow_of_its_name(
    operator_workflows: OperatorWorkflows, signpost: CommandRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    end: JsonObject = {"initialState": "end", "states": {"end": {"terminal": True}}}
    operator_workflows.publish("both", end)
    with stack.open_workflows("any") as runs:
        published = runs.read_snapshot(TENANT).snapshot
    capability = CatalogueItem("both", "capability", "Both", switched_off=True)

    def with_one(capability: CatalogueItem) -> None:
        items, discovery = [capability, *published.items], {"include": ["workflows"]}
        snapshot = CachedCatalogue("1", replace(published, items=items, discovery=discovery))

        def of_any_tenant(_view: CatalogueView, _tenant: str) -> CachedCatalogue:
            return snapshot

        monkeypatch.setattr(CatalogueView, "load", of_any_tenant)

    with_one(capability)
    assert "switched off" not in signpost("workflow", "show", "both")
    with_one(replace(capability, switched_off=False))
    listed = signpost("workflow", "list")
    assert re.search(r"both +capability +on, not listed", listed)
    assert re.search(r"both +workflow +on  ", listed)


def test_control_characters_in_suggestions_are_escaped(
    operator_workflows: OperatorWorkflows, failing_signpost: CommandRunner
) -> None:
    operator_workflows.publish("evil\x1b[2J", {"initialState": "end", "states": {"end": {"terminal": True}}})
    assert r"Did you mean evil\x1b[2J?" in failing_signpost("workflow", "show", "evil[2J")
    run = start_workflow(operator_workflows, "evil\x1b[2J")
    assert rf"{run} is a run of evil\x1b[2J, not of" in failing_signpost(
        "workflow", "graph", EXPENSE, "--instance", run
    )
