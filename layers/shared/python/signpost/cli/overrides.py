"""`signpost workflow resolve` and `signpost workflow cancel`: submit an override of a stopped step.

An override decides how a workflow instance goes on that cannot go on by itself. The gateway checks the permission."""

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

from signpost.adapters.source_files import MalformedSource
from signpost.adapters.source_json import parse_json_source
from signpost.cli import stack, terminal
from signpost.cli.failure import CommandFailed
from signpost.cli.runs import submission
from signpost.cli.runs.decision import STALE_VERSION
from signpost.model import Json, JsonObject, as_object
from signpost.workflow.authoring.source_tree import to_json
from signpost.workflow.engine.permissions import CANCEL, CLAIM, HAPPENED, OUTPUT, RESOLVE, RETRY

if TYPE_CHECKING:
    from signpost.cli import Commands
    from signpost.cli.mcp import RemoteTools

RESOLVE_DESCRIPTION = (
    "Decides how a run goes on after a step whose result is unknown: execute the step once more with the same "
    "idempotency key, or record its result. The decision is sent as the person who is logged in with `signpost login "
    "--url` with the server's URL, or with the token in SIGNPOST_AUTHORIZATION. It needs the permission "
    "workflow.resolve."
)
CANCEL_DESCRIPTION = (
    "Ends a run in its current state. This is refused while a step is being executed or is in doubt: wait for the "
    "step, or resolve it first. A caller who did not start the run needs the permission workflow.cancel."
)

FAILED = "EXECUTOR_FAILED"
SHORTEST_WAIT_SHOWN = 1_000
"""In milliseconds. A message does not mention a shorter wait before a retry."""


def register(actions: "Commands") -> None:
    resolving = actions.add_parser(
        "resolve", help="decide how to go on with a step that is in doubt", description=RESOLVE_DESCRIPTION
    )
    how = resolving.add_mutually_exclusive_group(required=True)
    how.add_argument("--retry", action="store_true", help="execute the step once more")
    how.add_argument("--happened", action="store_true", help="record that the step has happened")
    how.add_argument(
        "--did-not-happen",
        action="store_true",
        help="record that the step has not happened, so that it can be tried again",
    )
    resolving.add_argument(
        "--output", metavar="JSON", help="with --happened: the output that the executor would have returned"
    )
    resolving.set_defaults(handler=_resolve)
    cancelling = actions.add_parser("cancel", help="end a run in its current state", description=CANCEL_DESCRIPTION)
    cancelling.set_defaults(handler=_cancel)
    for action in (resolving, cancelling):
        action.add_argument("id", help="the id of the run, wf_…")
        action.add_argument("--yes", action="store_true", help="do not ask for confirmation (for scripts)")
        action.add_argument("--url", help="the server's MCP endpoint (default: McpUrl of the stack)")
        stack.add_option(action)


def _resolve(arguments: argparse.Namespace) -> int:
    payload = _order_arguments(arguments)
    tools = _connect_tools(arguments)
    status = tools.call("workflow.get", {"workflowId": arguments.id})
    doubt = as_object(status.get("inDoubt"))
    if not doubt:
        raise CommandFailed(_not_in_doubt_message(status))
    for line in _doubt_lines(status, doubt):
        print(line)
    transition = RETRY if arguments.retry else RESOLVE
    _submit_order(
        arguments, tools, status, transition, {CLAIM: doubt["claim"], **payload}, f"{_decision_text(arguments)}?"
    )
    return 0


def _cancel(arguments: argparse.Namespace) -> int:
    tools = _connect_tools(arguments)
    status = tools.call("workflow.get", {"workflowId": arguments.id})
    if error := as_object(status.get("error")):
        raise CommandFailed(terminal.make_printable(str(error.get("message"))))
    print(_state_sentence(status))
    _submit_order(arguments, tools, status, CANCEL, {}, "End this run?")
    return 0


def _submit_order(
    arguments: argparse.Namespace,
    tools: "RemoteTools",
    status: JsonObject,
    transition: str,
    payload: JsonObject,
    question: str,
) -> None:
    if not arguments.yes:
        submission.confirm(question, "Nothing was changed")
    order: JsonObject = {
        "workflowId": arguments.id,
        "expectedVersion": status["version"],
        "transition": transition,
        "arguments": payload,
    }
    answer = submission.submit(tools, order, "The change may have been made")
    if answer.get("timedOut"):
        raise CommandFailed(f"This changed nothing: the run had timed out before. {_state_sentence(answer)}")
    if error := as_object(answer.get("error")):
        raise CommandFailed(_failure_message(status, answer, error))
    print(_state_sentence(answer))
    if pending := as_object(answer.get("pending")):
        print(terminal.make_printable(f"{_describe_pending(pending)} {_timeline_hint(answer)} for its result."))


def _describe_pending(pending: JsonObject) -> str:
    if pending["on"] == "answers":
        return f"{pending['transition']} waits for answers to its questions."
    return f"{pending['transition']} is under way."


def _failure_message(status: JsonObject, answer: JsonObject, error: JsonObject) -> str:
    reason = terminal.make_printable(f"{str(error.get('message')).rstrip('.')}.")
    if answer.get("version") != status.get("version") and error.get("code") != STALE_VERSION:
        return f"Your decision is recorded, but a later step failed: {reason} {_state_sentence(answer)}"
    if error.get("code") == FAILED and answer.get("inDoubt"):
        return f"The step was executed again, and is in doubt again: {reason}"
    wait = error.get("retryAfterMs")
    return (
        f"{reason} Try again in {wait / 1000:.0f} seconds."
        if isinstance(wait, int) and wait >= SHORTEST_WAIT_SHOWN
        else reason
    )


def _order_arguments(arguments: argparse.Namespace) -> JsonObject:
    if arguments.output is not None and not arguments.happened:
        raise CommandFailed("--output gives the result of the step, and needs --happened.")
    if arguments.retry:
        return {}
    output: dict[str, Json] = {} if arguments.output is None else {OUTPUT: _parse_output(arguments.output)}
    return {HAPPENED: bool(arguments.happened), **output}


def _parse_output(text: str) -> Json:
    try:
        return to_json(parse_json_source(text, "--output"))
    except MalformedSource as fault:
        advice = """Write a text with its quotation marks, as in '"sent"'."""
        raise CommandFailed(f"--output is not valid JSON ({fault.fault}). {advice}") from fault


def _decision_text(arguments: argparse.Namespace) -> str:
    if arguments.retry:
        return "Execute the step once more"
    return f"Record that the step has {'' if arguments.happened else 'not '}happened"


def _connect_tools(arguments: argparse.Namespace) -> "RemoteTools":
    from signpost.cli.mcp import connect_tools  # noqa: PLC0415 - HTTP and TLS take long to import

    if arguments.url is not None:
        return connect_tools(arguments.url, terminal.print_progress)
    with stack.open_workflows(arguments.stack) as reader:
        return connect_tools(reader.mcp_url, terminal.print_progress)


def _not_in_doubt_message(status: JsonObject) -> str:
    if error := as_object(status.get("error")):
        return terminal.make_printable(str(error.get("message")))
    pending = as_object(status.get("pending"))
    if pending and pending["on"] == "answers":
        return terminal.make_printable(_describe_pending(pending))
    if pending:
        return terminal.make_printable(f"{pending['transition']} is still under way. Try again in a moment.")
    return terminal.make_printable(f"No step of this run is in doubt; it is in state {status.get('state')}.")


def _doubt_lines(status: JsonObject, doubt: JsonObject) -> Iterator[str]:
    yield _state_sentence(status)
    yield terminal.make_printable(f"in doubt: {doubt['transition']}. {doubt['message']}")


def _timeline_hint(status: JsonObject) -> str:
    return f"See `signpost workflow timeline {status.get('workflowId')}`"


def _state_sentence(status: JsonObject) -> str:
    state, version = status.get("state"), status.get("version")
    ending = ", cancelled" if status.get("cancelled") else ", and has ended" if status.get("terminal") else ""
    return terminal.make_printable(f"{status.get('workflowId')} is in state {state}, version {version}{ending}.")
