"""`signpost workflow runs`: lists runs of workflows, newest first."""

import argparse
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from signpost.cli import stack, terminal
from signpost.cli.failure import CommandFailed
from signpost.model import WAITING_FOR, Json, JsonObject
from signpost.workflow.run_filter import RunFilter, split_query

if TYPE_CHECKING:
    from signpost.cli import Commands
    from signpost.cli.runs.item_pages import ItemPage

HEADINGS = ("RUN", "WORKFLOW", "STATE", "WAITS FOR", "STARTED AT", "CHANGED AT", "TITLE")
USUAL_LENGTH = 50
DESCRIPTION = (
    "Lists runs, newest first. With --url the list has the runs that you may see, as the person who is logged in with "
    "`signpost login --url` or as the principal of the credential in SIGNPOST_AUTHORIZATION; that needs no AWS "
    "credentials. Without --url it has all runs of a tenant, and is read from the stack with AWS credentials."
)


def register(actions: "Commands") -> None:
    action = actions.add_parser("runs", help="list runs of workflows, newest first", description=DESCRIPTION)
    action.add_argument("words", nargs="*", help="only runs with one of these words in id, workflow, title or state")
    action.add_argument("--state", help="only runs in this state")
    action.add_argument("--definition", metavar="ID", help="only runs of this workflow or capability")
    action.add_argument("--waiting", choices=WAITING_FOR, help="only runs that wait for this")
    faults = action.add_mutually_exclusive_group()
    faults.add_argument("--fault", action="store_true", default=None, help="only runs that a fault has stopped")
    faults.add_argument("--no-fault", dest="fault", action="store_false", help="only runs without a fault")
    action.add_argument("--mine", action="store_true", help="only runs that you have started; needs --url")
    action.add_argument("--limit", type=_parse_limit, default=USUAL_LENGTH, help="runs to list (default: %(default)s)")
    action.add_argument("--cursor", help="where a list goes on, from the end of the list before")
    action.add_argument("--json", action="store_true", help="print each run as a line of JSON")
    action.add_argument("--url", help="the server's MCP endpoint: list as yourself, without AWS credentials")
    stack.add_tenant_option(action)
    stack.add_option(action)
    action.set_defaults(handler=_list)


def _parse_limit(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"not a number of runs: {text!r}; use 1 or more")
    return int(text)


def _list(arguments: argparse.Namespace) -> int:
    page = _fetch_runs(arguments) if arguments.url is not None else _read_runs(arguments)
    if arguments.json:
        for item in page.items:
            print(json.dumps({name: value for name, value in item.items() if name != "links"}, ensure_ascii=False))
    elif page.items:
        for line in terminal.format_table(HEADINGS, [_cells(item) for item in page.items]):
            print(line)
    else:
        print("There are no such runs." if page.cursor is None else "There are no such runs in this part of the list.")
    if page.cursor is not None:
        terminal.print_progress(f"The list goes on: repeat the command with --cursor {page.cursor}")
    return 0


def _fetch_runs(arguments: argparse.Namespace) -> "ItemPage":
    from signpost.cli.mcp import connect_tools  # noqa: PLC0415 - HTTP and TLS take long to import
    from signpost.cli.runs import item_pages  # noqa: PLC0415 - comes with the workflow engine

    filters: dict[str, Json] = {
        "query": " ".join(arguments.words) or None,
        "state": arguments.state,
        "definition": arguments.definition,
        "waiting": arguments.waiting,
        "fault": arguments.fault,
        "mine": arguments.mine or None,
    }
    asked: JsonObject = {"kind": "run", **{name: value for name, value in filters.items() if value is not None}}
    tools = connect_tools(arguments.url, terminal.print_progress)
    return item_pages.fetch_items(tools, asked, arguments.limit, arguments.cursor)


def _read_runs(arguments: argparse.Namespace) -> "ItemPage":
    from signpost.cli.runs import item_pages  # noqa: PLC0415 - as above

    if arguments.mine:
        raise CommandFailed("--mine needs --url: AWS credentials do not say which runs are yours.")
    chosen = RunFilter(
        state=arguments.state,
        definition=arguments.definition,
        waiting=arguments.waiting,
        fault=arguments.fault,
        words=split_query(" ".join(arguments.words)),
    )
    with stack.open_workflows(arguments.stack) as reader:
        return item_pages.read_runs(reader.run_lists, arguments.tenant, chosen, arguments.limit, arguments.cursor)


def _cells(item: JsonObject) -> Sequence[str]:
    waiting = str(item.get("waitingFor", "-"))
    return (
        str(item.get("id")),
        str(item.get("definitionId")),
        str(item.get("state")),
        f"{waiting}, fault" if "fault" in item else waiting,
        str(item.get("startedAt")),
        str(item.get("changedAt")),
        str(item.get("title")),
    )
