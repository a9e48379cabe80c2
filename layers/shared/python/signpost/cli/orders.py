"""`signpost workflow resolve` and `cancel`: what somebody who may says of a run that cannot go on by itself."""

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

from signpost.adapters.written_files import Misread
from signpost.adapters.written_json import written_json
from signpost.cli import stack, submission, terminal
from signpost.cli.failure import CommandFailed
from signpost.model import Json, JsonObject, as_object
from signpost.workflow.permissions import CANCEL, CLAIM, HAPPENED, OUTPUT, RESOLVE, RETRY
from signpost.workflow.written import plain

if TYPE_CHECKING:
    from signpost.cli import Commands
    from signpost.cli.mcp import Tools

RESOLVING = (
    "A step was executed and nobody knows what came of it. Says how to go on: execute it once more with the same "
    "idempotency key, or what came of it. It is sent as the person who is logged in with `signpost login --url` with "
    "the server's URL, or whose token is in SIGNPOST_AUTHORIZATION; they need the permission workflow.resolve."
)
CANCELLING = (
    "Ends a run where it stands. While something is executed in it, or in doubt, that is refused: it has to be settled "
    "first. Whoever did not start the run needs the permission workflow.cancel."
)

STALE, FAILED = "STALE_WORKFLOW_VERSION", "EXECUTOR_FAILED"
WORTH_SAYING = 1_000
"""Milliseconds."""


def register(actions: "Commands") -> None:
    resolving = actions.add_parser(
        "resolve", help="say how to go on with a step that is in doubt", description=RESOLVING
    )
    how = resolving.add_mutually_exclusive_group(required=True)
    how.add_argument("--retry", action="store_true", help="execute it once more")
    how.add_argument("--happened", action="store_true", help="it has happened")
    how.add_argument("--did-not-happen", action="store_true", help="it has not: leave it, so that it can be tried anew")
    resolving.add_argument("--output", metavar="JSON", help="with --happened: what the executor would have answered")
    resolving.set_defaults(handler=_resolve)
    cancelling = actions.add_parser("cancel", help="end a run where it stands", description=CANCELLING)
    cancelling.set_defaults(handler=_cancel)
    for action in (resolving, cancelling):
        action.add_argument("id", help="of the run, wf_…")
        action.add_argument("--yes", action="store_true", help="do not ask again, for scripts")
        action.add_argument("--url", help="the server's MCP endpoint (default: McpUrl of the stack)")
        stack.add_option(action)


def _resolve(arguments: argparse.Namespace) -> int:
    said = _said(arguments)
    tools = _tools(arguments)
    stand = tools.call("workflow.get", {"workflowId": arguments.id})
    doubt = as_object(stand.get("inDoubt"))
    if not doubt:
        raise CommandFailed(_not_in_doubt(stand))
    for line in _shown(stand, doubt):
        print(line)
    transition = RETRY if arguments.retry else RESOLVE
    _order(arguments, tools, stand, transition, {CLAIM: doubt["claim"], **said}, f"{_words(arguments)}?")
    return 0


def _cancel(arguments: argparse.Namespace) -> int:
    tools = _tools(arguments)
    stand = tools.call("workflow.get", {"workflowId": arguments.id})
    if error := as_object(stand.get("error")):
        raise CommandFailed(terminal.visible(str(error.get("message"))))
    print(_standing(stand))
    _order(arguments, tools, stand, CANCEL, {}, "End it here?")
    return 0


def _order(
    arguments: argparse.Namespace, tools: "Tools", stand: JsonObject, transition: str, said: JsonObject, question: str
) -> None:
    if not arguments.yes:
        submission.confirm(question, "Nothing was changed")
    order: JsonObject = {
        "workflowId": arguments.id,
        "expectedVersion": stand["version"],
        "transition": transition,
        "arguments": said,
    }
    answer = submission.submitted(tools, order, "It may have been done")
    if answer.get("timedOut"):
        raise CommandFailed(f"Nothing was changed by this: the time of the run was over before. {_standing(answer)}")
    if error := as_object(answer.get("error")):
        raise CommandFailed(_failed(stand, answer, error))
    print(_standing(answer))
    if pending := as_object(answer.get("pending")):
        print(terminal.visible(f"{pending['transition']} is under way. {_see(answer)} what comes of it."))


def _failed(stand: JsonObject, answer: JsonObject, error: JsonObject) -> str:
    why = terminal.visible(f"{str(error.get('message')).rstrip('.')}.")
    if answer.get("version") != stand.get("version") and error.get("code") != STALE:
        return f"It is recorded. What follows it failed: {why} {_standing(answer)}"
    if error.get("code") == FAILED and answer.get("inDoubt"):
        return f"It was executed, and is in doubt again: {why}"
    wait = error.get("retryAfterMs")
    return f"{why} Come back in {wait / 1000:.0f} seconds." if isinstance(wait, int) and wait >= WORTH_SAYING else why


def _said(arguments: argparse.Namespace) -> JsonObject:
    if arguments.output is not None and not arguments.happened:
        raise CommandFailed("--output says what came of it: it goes with --happened.")
    if arguments.retry:
        return {}
    output: dict[str, Json] = {} if arguments.output is None else {OUTPUT: _json(arguments.output)}
    return {HAPPENED: bool(arguments.happened), **output}


def _json(written: str) -> Json:
    try:
        return plain(written_json(written, "--output"))
    except Misread as fault:
        raise CommandFailed(f"--output is no JSON ({fault.fault}). A text needs quotation marks of its own.") from fault


def _words(arguments: argparse.Namespace) -> str:
    if arguments.retry:
        return "Execute it once more"
    return "Say that it has happened" if arguments.happened else "Say that it has not happened"


def _tools(arguments: argparse.Namespace) -> "Tools":
    from signpost.cli.mcp import tools_of  # noqa: PLC0415 - HTTP and TLS take long to import

    if arguments.url is not None:
        return tools_of(arguments.url, submission.say)
    with stack.runs(arguments.stack) as runs:
        return tools_of(runs.mcp_url, submission.say)


def _not_in_doubt(stand: JsonObject) -> str:
    if error := as_object(stand.get("error")):
        return terminal.visible(str(error.get("message")))
    pending = as_object(stand.get("pending"))
    if pending:
        return terminal.visible(f"{pending['transition']} is still under way. Look again in a moment.")
    return terminal.visible(f"Nothing is in doubt there: it stands in {stand.get('state')}.")


def _shown(stand: JsonObject, doubt: JsonObject) -> Iterator[str]:
    yield _standing(stand)
    yield terminal.visible(f"in doubt: {doubt['transition']}. {doubt['message']}")


def _see(stand: JsonObject) -> str:
    return f"`signpost workflow timeline {stand.get('workflowId')}` says"


def _standing(stand: JsonObject) -> str:
    state, version = stand.get("state"), stand.get("version")
    ended = ", cancelled" if stand.get("cancelled") else ", which is its end" if stand.get("terminal") else ""
    return terminal.visible(f"{stand.get('workflowId')} stands in {state}, version {version}{ended}.")
