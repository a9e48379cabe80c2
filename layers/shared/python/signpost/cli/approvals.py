"""`signpost approvals`: lists, shows and answers approval requests."""

import argparse
import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from signpost.cli import stack, terminal
from signpost.cli.failure import CommandFailed
from signpost.cli.runs import decision, outline, submission
from signpost.model import RUN_ID_PREFIX
from signpost.records import dataclass
from signpost.spelling import suggest_name

if TYPE_CHECKING:
    from signpost.cli import Commands
    from signpost.cli.mcp import RemoteTools
    from signpost.cli.runs.store import WorkflowReader
    from signpost.model import JsonObject
    from signpost.workflow.definition import Definition
    from signpost.workflow.instance import Instance, OpenApproval

EXPIRED = "expired"
"""The member of a row that the table shows beside the time, and JSON leaves out."""
HEADINGS = ("REQUEST", "QUEUE", "WORKFLOW", "ASKED BY", "ASKED AT", "UNTIL", "APPROVED BY")
ANSWER_DESCRIPTION = (
    "Shows the approval request and then, unless --yes is given, asks you to confirm. The answer applies only to the "
    "values that were shown: if the run has changed since, nothing is decided. The answer is sent as the person who is "
    "logged in with `signpost login --url` with the server's URL, or with the token in SIGNPOST_AUTHORIZATION. "
    "Without AWS credentials, give --url with the server's URL."
)
LIST_DESCRIPTION = (
    "With --url the command asks the server, as the person who is logged in with `signpost login --url` or as the "
    "principal of the credential in SIGNPOST_AUTHORIZATION: it finds the requests that you may answer or have asked "
    "for, and needs no AWS credentials. Without --url it reads all requests of a tenant from the stack, with AWS "
    "credentials."
)


def register(commands: "Commands") -> None:
    parser = commands.add_parser("approvals", help="list, show and answer approval requests")
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    listing = actions.add_parser(
        "list", help="list the open approval requests, oldest first", description=LIST_DESCRIPTION
    )
    listing.add_argument("--queue", help="only requests in this queue")
    listing.set_defaults(handler=_list)
    showing = actions.add_parser(
        "show", help="show the values to approve, the deadline and the transitions", description=LIST_DESCRIPTION
    )
    showing.set_defaults(handler=_show)
    for action in (listing, showing):
        action.add_argument("--json", action="store_true", help="print JSON")
        action.add_argument("--url", help="the server's MCP endpoint: ask as yourself, without AWS credentials")
    answering = [
        _add_answer_command(actions, "approve", "approve a request"),
        _add_answer_command(actions, "reject", "reject a request"),
    ]
    for action in (showing, *answering):
        action.add_argument("request", help="its id from `signpost approvals list`, or the id of the run, wf_…")
    for action in (listing, showing, *answering):
        stack.add_tenant_option(action)
        stack.add_option(action)


def _add_answer_command(
    actions: "Commands", name: "decision.ApprovalDecision", purpose: str
) -> argparse.ArgumentParser:
    action = actions.add_parser(name, help=purpose, description=ANSWER_DESCRIPTION)
    action.add_argument("--transition", metavar="NAME", help=f"the transition to take, if several {name}")
    action.add_argument(
        "--argument", action="append", default=[], metavar="NAME=VALUE", help="of the transition; may be repeated"
    )
    action.add_argument("--digest", help="from `signpost approvals show`: decide only if it is still the same")
    action.add_argument("--yes", action="store_true", help="do not ask for confirmation (for scripts)")
    action.add_argument("--url", help="the server's MCP endpoint (default: McpUrl of the stack)")
    action.set_defaults(handler=_send_answer, decision=name)
    return action


def _list(arguments: argparse.Namespace) -> int:
    rows = _fetch_rows(arguments.url) if arguments.url is not None else _read_rows(arguments)
    selected = [row for row in rows if arguments.queue in (None, row["queue"])]
    if arguments.json:
        for row in selected:
            print(json.dumps({name: value for name, value in row.items() if name != EXPIRED}, ensure_ascii=False))
    elif selected:
        for line in terminal.format_table(HEADINGS, [_cells(row) for row in selected]):
            print(line)
    else:
        print(_explain_no_requests(arguments.queue, {str(row["queue"]) for row in rows}))
    return 0


def _read_rows(arguments: argparse.Namespace) -> "Sequence[JsonObject]":
    with stack.open_workflows(arguments.stack) as reader:
        approvals, now = reader.instances.list_open_approvals(arguments.tenant), reader.clock.now()
    return [{**_row(approval), EXPIRED: approval.request.has_expired(now)} for approval in approvals]


def _fetch_rows(url: str) -> "Sequence[JsonObject]":
    from signpost.cli.mcp import connect_tools  # noqa: PLC0415 - HTTP and TLS take long to import
    from signpost.cli.runs import request_rows  # noqa: PLC0415 - comes with the workflow engine

    return request_rows.fetch_rows(connect_tools(url, terminal.print_progress))


def _explain_no_requests(queue: str | None, queues: set[str]) -> str:
    if queue is None or not queues:
        return "There are no open approval requests."
    close = suggest_name(queue, queues)
    advice = f"Did you mean {close}?" if close else f"Queues with requests: {', '.join(sorted(queues))}."
    return terminal.make_printable(f"There are no open requests in the queue {queue}. {advice}")


def _cells(row: "JsonObject") -> Sequence[str]:
    until = "-" if row["expiresAt"] is None else f"{'expired ' if row.get(EXPIRED) else ''}{row['expiresAt']}"
    approvers = row["approvedBy"]
    names = ", ".join(map(str, approvers)) if isinstance(approvers, list) else ""
    columns = (row[name] for name in ("request", "queue", "definition", "askedBy", "askedAt"))
    return (*map(str, columns), until, names or "-")


def _row(approval: "OpenApproval") -> "JsonObject":
    request = approval.request
    return {
        "request": request.id,
        "queue": request.queue,
        "workflow": approval.workflow_id,
        "definition": approval.definition_id,
        "state": request.state,
        "askedBy": request.asked_by,
        "askedAt": terminal.format_time(request.asked_at),
        "expiresAt": terminal.format_time(request.expires_at) if request.expires_at is not None else None,
        "approvedBy": sorted(request.approved_by),
        "shows": list(request.shown),
        "digest": request.digest,
    }


@dataclass(frozen=True, slots=True)
class _LoadedApproval:
    """An open approval request, with its workflow instance and the definition of the instance."""

    approval: "OpenApproval"
    instance: "Instance"
    definition: "Definition"

    @property
    def values(self) -> "JsonObject":
        return self.approval.request.select_values(self.instance.context)


def _show(arguments: argparse.Namespace) -> int:
    if arguments.url is not None:
        return _show_remote(arguments)
    with stack.open_workflows(arguments.stack) as reader:
        loaded, now = _load_approval(reader, arguments.tenant, arguments.request), reader.clock.now()
    if arguments.json:
        values = {"version": loaded.instance.version, "values": loaded.values}
        row = {**_row(loaded.approval), "shows": list(loaded.values)}
        print(json.dumps({**row, **values}, indent=2, ensure_ascii=False))
        return 0
    for line in _describe_request(loaded, now):
        print(line)
    return 0


def _show_remote(arguments: argparse.Namespace) -> int:
    """Show the request as the server shows it to the person at the terminal."""
    tools, workflow_id, request_id = _find_answer_target(arguments)
    question = decision.parse_approval(tools.call("workflow.get", {"workflowId": workflow_id}), request_id)
    if arguments.json:
        print(json.dumps(decision.question_row(question), indent=2, ensure_ascii=False))
        return 0
    for line in decision.describe_question(question):
        print(line)
    return 0


def _load_approval(reader: "WorkflowReader", tenant: str, name: str) -> _LoadedApproval:
    approval = _find_open_approval(reader, tenant, name)
    instance = reader.find_instance(tenant, approval.workflow_id)
    request = instance.open_request
    if request is None or request.id != approval.request.id:
        message = f"{approval.request.id} was answered a moment ago. See `signpost approvals list`."
        raise CommandFailed(terminal.make_printable(message))
    return _LoadedApproval(approval, instance, reader.load_pinned(tenant, instance))


def _find_open_approval(reader: "WorkflowReader", tenant: str, name: str) -> "OpenApproval":
    approvals = reader.instances.list_open_approvals(tenant)
    by_name = {
        approval.workflow_id if name.startswith(RUN_ID_PREFIX) else approval.request.id: approval
        for approval in approvals
    }
    if name in by_name:
        return by_name[name]
    close = suggest_name(name, by_name)
    advice = (
        f"Did you mean {terminal.make_printable(close)}?"
        if close
        else f"See `signpost approvals list --tenant {tenant}`."
    )
    raise CommandFailed(f"Tenant {tenant!r} has no open approval request {name!r}. {advice}")


def _describe_request(loaded: _LoadedApproval, now: float) -> Iterator[str]:
    request, instance = loaded.instance.request or loaded.approval.request, loaded.instance
    position = f"{instance.definition_id}, {instance.id}: in state {instance.state}, version {instance.version}"
    yield terminal.make_printable(position)
    yield from decision.request_lines(request.id, request.queue, request.digest, sorted(request.approved_by))
    yield terminal.make_printable(f"asked by {request.asked_by} at {terminal.format_time(request.asked_at)}")
    if instance.next_deadline is not None:
        deadline_text = "timed out" if instance.is_overdue(now) else "times out"
        yield f"the run {deadline_text} at {terminal.format_time(instance.next_deadline)}"
    if request.expires_at is not None:
        expiry_note = " (expired)" if request.has_expired(now) else ""
        yield f"to be answered until {terminal.format_time(request.expires_at)}{expiry_note}"
    yield ""
    yield from (line for name, value in loaded.values.items() for line in terminal.format_value(name, value))
    if not request.is_about(instance.context):
        yield "The values have changed since approval was requested, so no approval counts. Request approval again."
    yield ""
    transitions = loaded.definition.states[instance.state].transitions.values()
    yield from outline.transition_lines(transition for transition in transitions if transition.actor == "human")


def _send_answer(arguments: argparse.Namespace) -> int:
    tools, workflow_id, request_id = _find_answer_target(arguments)
    question = decision.parse_approval(tools.call("workflow.get", {"workflowId": workflow_id}), request_id)
    if arguments.digest not in (None, question.digest):
        problem = f"The request has the digest {question.digest} now: look at it again"
        raise CommandFailed(terminal.make_printable(f"Nothing was decided. {problem}."))
    link = decision.choose_link(question, arguments.decision, arguments.transition)
    payload = decision.build_submission(question, link, arguments.argument)
    for line in decision.describe_decision(question, link, payload):
        print(line)
    if not arguments.yes:
        submission.confirm(f"{arguments.decision.capitalize()} this?", "Nothing was decided")
    answer = submission.submit(tools, payload, "Your decision may have been recorded")
    for line in decision.describe_outcome(question, link, answer):
        print(line)
    return 0


def _find_answer_target(arguments: argparse.Namespace) -> "tuple[RemoteTools, str, str | None]":
    """Return the tools of the gateway, the id of the workflow instance, and the id of the approval request.

    With a URL no AWS credentials are needed. The request id is None then if the approver named the instance."""
    from signpost.cli.mcp import connect_tools  # noqa: PLC0415 - HTTP and TLS take long to import
    from signpost.cli.runs.request_rows import find_run_of  # noqa: PLC0415 - comes with the workflow engine

    name: str = arguments.request
    if arguments.url is not None:
        tools = connect_tools(arguments.url, terminal.print_progress)
        return (tools, name, None) if name.startswith(RUN_ID_PREFIX) else (tools, find_run_of(tools, name), name)
    with stack.open_workflows(arguments.stack) as reader:
        approval = _find_open_approval(reader, arguments.tenant, name)
        url = reader.mcp_url
    return connect_tools(url, terminal.print_progress), approval.workflow_id, approval.request.id
