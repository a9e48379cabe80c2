"""`signpost approvals`: what people are asked to approve, and their answers."""

import argparse
import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from signpost.cli import decision, outline, stack, submission, terminal
from signpost.cli.failure import CommandFailed
from signpost.records import dataclass
from signpost.spelling import meant

if TYPE_CHECKING:
    from signpost.cli import Commands
    from signpost.cli.mcp import Tools
    from signpost.cli.runs import Runs
    from signpost.model import JsonObject
    from signpost.workflow.definition import Definition
    from signpost.workflow.instance import Instance, Request, Waiting

HEADINGS = ("REQUEST", "QUEUE", "WORKFLOW", "ASKED BY", "ASKED AT", "UNTIL", "APPROVED BY")
OF_A_RUN = "wf_"
"""What ids of runs begin with, and those of requests do not."""
ANSWERING = (
    "Shows what is asked and then, unless --yes is given, asks whether you mean it. What is sent holds for exactly "
    "what was shown; if anything has happened meanwhile, nothing is decided. It is sent as the person who is "
    "logged in with `signpost login --url` with the server's URL, or whose token is in SIGNPOST_AUTHORIZATION. "
    "AWS credentials find a request; who has none says --url and the id of the run, wf_…."
)


def register(commands: "Commands") -> None:
    parser = commands.add_parser("approvals", help="what people are asked to approve, and their answers")
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    listing = actions.add_parser("list", help="the requests that wait, the oldest first")
    listing.add_argument("--queue", help="of this queue only")
    listing.set_defaults(handler=_list)
    showing = actions.add_parser("show", help="what exactly is to be approved, by when, and who may")
    showing.set_defaults(handler=_show)
    for action in (listing, showing):
        action.add_argument("--json", action="store_true", help="print JSON")
    answers = [_answering(actions, "approve", "approve it"), _answering(actions, "reject", "reject it")]
    for action in (showing, *answers):
        action.add_argument("request", help="from `signpost approvals list`, or the id of the run, wf_…")
    for action in (listing, showing, *answers):
        stack.add_tenant_option(action)
        stack.add_option(action)


def _answering(actions: "Commands", name: "decision.Decision", purpose: str) -> argparse.ArgumentParser:
    action = actions.add_parser(name, help=purpose, description=ANSWERING)
    action.add_argument("--transition", metavar="NAME", help="which one, where several say it")
    action.add_argument("--argument", action="append", default=[], metavar="NAME=VALUE", help="may be repeated")
    action.add_argument("--digest", help="what `signpost approvals show` said: decide about nothing else")
    action.add_argument("--yes", action="store_true", help="do not ask again, for scripts")
    action.add_argument("--url", help="the server's MCP endpoint (default: McpUrl of the stack)")
    action.set_defaults(handler=_answer, decision=name)
    return action


def _list(arguments: argparse.Namespace) -> int:
    with stack.runs(arguments.stack) as runs:
        waiting, now = runs.instances.waiting(arguments.tenant), runs.clock.now()
    found = [one for one in waiting if arguments.queue in (None, one.request.queue)]
    if arguments.json:
        for one in found:
            print(json.dumps(_row(one), ensure_ascii=False))
    elif found:
        for line in terminal.table(HEADINGS, [_cells(one, now) for one in found]):
            print(line)
    else:
        print(_nothing(arguments.queue, {one.request.queue for one in waiting}))
    return 0


def _nothing(queue: str | None, queues: set[str]) -> str:
    if queue is None or not queues:
        return "Nobody is asked to approve anything."
    close = meant(queue, queues)
    advice = f"Did you mean {close}?" if close else f"Queues with requests: {', '.join(sorted(queues))}."
    return terminal.visible(f"Nothing waits in the queue {queue}. {advice}")


def _cells(waiting: "Waiting", now: float) -> Sequence[str]:
    request = waiting.request
    return (
        request.id,
        request.queue,
        waiting.definition_id,
        request.asked_by,
        terminal.moment(request.asked_at),
        _until(request, now),
        ", ".join(sorted(request.approved_by)) or "-",
    )


def _until(request: "Request", now: float) -> str:
    if request.expires_at is None:
        return "-"
    return f"{'expired ' if request.has_expired(now) else ''}{terminal.moment(request.expires_at)}"


def _row(waiting: "Waiting") -> "JsonObject":
    request = waiting.request
    return {
        "request": request.id,
        "queue": request.queue,
        "workflow": waiting.workflow_id,
        "definition": waiting.definition_id,
        "state": request.state,
        "askedBy": request.asked_by,
        "askedAt": terminal.moment(request.asked_at),
        "expiresAt": terminal.moment(request.expires_at) if request.expires_at is not None else None,
        "approvedBy": sorted(request.approved_by),
        "shows": list(request.shown),
        "digest": request.digest,
    }


@dataclass(frozen=True, slots=True)
class _Open:
    """A request, where it is asked."""

    waiting: "Waiting"
    instance: "Instance"
    definition: "Definition"

    @property
    def values(self) -> "JsonObject":
        return {name: self.instance.context.get(name) for name in self.waiting.request.shown}


def _show(arguments: argparse.Namespace) -> int:
    with stack.runs(arguments.stack) as runs:
        found, now = _open(runs, arguments.tenant, arguments.request), runs.clock.now()
    if arguments.json:
        values = {"version": found.instance.version, "values": found.values}
        print(json.dumps({**_row(found.waiting), **values}, indent=2, ensure_ascii=False))
        return 0
    for line in _described(found, now):
        print(line)
    return 0


def _open(runs: "Runs", tenant: str, name: str) -> _Open:
    waiting = _waiting(runs, tenant, name)
    instance = runs.instance(tenant, waiting.workflow_id)
    request = instance.waits_for
    if request is None or request.id != waiting.request.id:
        message = f"{waiting.request.id} was answered this moment. See `signpost approvals list`."
        raise CommandFailed(terminal.visible(message))
    return _Open(waiting, instance, runs.pinned(tenant, instance))


def _waiting(runs: "Runs", tenant: str, name: str) -> "Waiting":
    waiting = runs.instances.waiting(tenant)
    by_name = {one.workflow_id if name.startswith(OF_A_RUN) else one.request.id: one for one in waiting}
    if name in by_name:
        return by_name[name]
    close = meant(name, by_name)
    advice = (
        f"Did you mean {terminal.visible(close)}?"
        if close
        else f"`signpost approvals list --tenant {tenant}` says what does."
    )
    raise CommandFailed(f"Nothing waits for people as {name!r} in tenant {tenant!r}. {advice}")


def _described(found: _Open, now: float) -> Iterator[str]:
    request, instance = found.instance.request or found.waiting.request, found.instance
    where = f"{instance.definition_id}, {instance.id}: stands in {instance.state}, version {instance.version}"
    yield terminal.visible(where)
    yield from decision.request_lines(request.id, request.queue, request.digest, sorted(request.approved_by))
    yield terminal.visible(f"asked by {request.asked_by} at {terminal.moment(request.asked_at)}")
    if instance.ends_at is not None:
        late = "has timed out" if instance.is_overdue(now) else "times out"
        yield f"the run {late} at {terminal.moment(instance.ends_at)}"
    if request.expires_at is not None:
        over = ", which is over" if request.has_expired(now) else ""
        yield f"to be answered until {terminal.moment(request.expires_at)}{over}"
    yield ""
    yield from (line for name, value in found.values.items() for line in terminal.value(name, value))
    if not request.is_about(instance.context):
        yield "This is not what people were asked to approve: it was changed since, and has to be asked for again."
    yield ""
    offered = found.definition.states[instance.state].transitions.values()
    yield from outline.transitions(one for one in offered if one.actor == "human")


def _answer(arguments: argparse.Namespace) -> int:
    tools, run, request = _place(arguments)
    asked = decision.asked_in(tools.call("workflow.get", {"workflowId": run}), request)
    if arguments.digest not in (None, asked.digest):
        now = f"What is to be approved now has the digest {asked.digest}: look at it again"
        raise CommandFailed(terminal.visible(f"Nothing was decided. {now}."))
    link = decision.chosen(asked, arguments.decision, arguments.transition)
    said = decision.submission(asked, link, arguments.argument)
    for line in decision.shown(asked, link, said):
        print(line)
    if not arguments.yes:
        submission.confirm(f"{arguments.decision.capitalize()} this?", "Nothing was decided")
    for line in decision.outcome(asked, link, submission.submitted(tools, said, "It may have been decided")):
        print(line)
    return 0


def _place(arguments: argparse.Namespace) -> "tuple[Tools, str, str | None]":
    """Where to answer, which run, and which request of it."""
    from signpost.cli.mcp import tools_of  # noqa: PLC0415 - HTTP and TLS take long to import

    name: str = arguments.request
    if arguments.url is not None and name.startswith(OF_A_RUN):
        return tools_of(arguments.url, submission.say), name, None
    with stack.runs(arguments.stack) as runs:
        found = _waiting(runs, arguments.tenant, name)
        url = arguments.url or runs.mcp_url
    return tools_of(url, submission.say), found.workflow_id, found.request.id
