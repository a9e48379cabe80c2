"""`signpost executors`: which Lambda functions host functions for a stack.

Operators place and remove them, in the table; administrators of a tenant load and unload them, by the registry
function."""

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from signpost.cli import executor_folders, remote, stack
from signpost.cli.failure import CommandFailed
from signpost.errors import Unavailable
from signpost.execution.placement import PlacementRefused

if TYPE_CHECKING:
    from collections.abc import Sequence

    from signpost.cli import Commands
    from signpost.contract import Hosted


LOADING = {
    "load": "make its functions the tenant's own; one that is loaded is replaced by a higher version",
    "unload": "its functions cannot be called any more (within two seconds)",
    "reload": "ask a loaded one again what it hosts",
}


def register(commands: "Commands") -> None:
    parser = commands.add_parser(
        "executors", help="deploy, load, place and list executors of other stacks, take them away"
    )
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    listing = actions.add_parser("list", help="executors and what they host, for tenants and (tenant null) for all")
    listing.set_defaults(handler=_list)
    placing = actions.add_parser("place", help="ask an executor what it hosts, and let the tenant call it")
    placing.add_argument("function", help="name or ARN of the Lambda function; the stack must allow it")
    placing.set_defaults(handler=_place)
    removing = actions.add_parser("remove", help="its functions cannot be called any more (within two seconds)")
    removing.add_argument("arn", help="from `signpost executors list`")
    removing.set_defaults(handler=_remove)
    deploying = actions.add_parser("deploy", help="deploy a folder with an app.py by the SAM CLI, and place it")
    deploying.set_defaults(handler=_deploy)
    for action in (placing, removing, deploying):
        stack.add_tenant_option(action)
    _register_loading(actions)
    for action in actions.choices.values():
        stack.add_option(action)
    writing = actions.add_parser("template", help="write the template that a folder with an app.py is deployed from")
    writing.set_defaults(handler=_template)
    for action in (deploying, writing):
        action.add_argument("folder", type=Path, help="its name is that of the executor")


def _register_loading(actions: "Commands") -> None:
    for operation, says in LOADING.items():
        loading = actions.add_parser(operation, help=says)
        loading.add_argument("function", help="name or ARN of the Lambda function; the stack must allow it")
        loading.add_argument("--url", help="endpoint of AWS, for a laptop cloud (default: AWS_ENDPOINT_URL)")
        loading.set_defaults(handler=_loading, operation=operation)


def _list(arguments: argparse.Namespace) -> int:
    with stack.registry(arguments.stack) as registry:
        listed = registry.directory.placed()
    for placed in listed:
        row = {"tenant": placed.tenant, "executor": placed.executor.arn, "functions": placed.functions}
        if placed.terms is not None and placed.terms.version is not None:
            row["version"] = placed.terms.version
        print(json.dumps(row))
    return 0


def _place(arguments: argparse.Namespace) -> int:
    hosted = _placed(arguments.stack, arguments.function, arguments.tenant)
    print(json.dumps({"tenant": arguments.tenant, "functions": sorted(one.function for one in hosted)}))
    return 0


def _placed(beside: str, function: str, tenant: str) -> "Sequence[Hosted]":
    try:
        with stack.keys(beside) as keys:
            return keys.placer.place(function, tenant)
    except PlacementRefused as refused:
        raise CommandFailed(str(refused)) from refused


def _template(arguments: argparse.Namespace) -> int:
    written = executor_folders.write_template(arguments.folder)
    path = arguments.folder / executor_folders.TEMPLATE
    print(f"+ {path}" if written else f"= {path} is there already; it is yours.")
    return 0


def _deploy(arguments: argparse.Namespace) -> int:
    folder = arguments.folder
    name = executor_folders.stack_name(folder, arguments.stack)
    parameters = dict(stack.beside(arguments.stack))
    url, allowed = parameters.pop("McpUrl"), parameters.pop("ExecutorFunctions")
    executor_folders.check_allowed(name, parameters["GatewayFunctionArn"], allowed)
    if executor_folders.write_template(folder):
        _tell(f"+ {folder / executor_folders.TEMPLATE}, which is yours from now on")
    _tell(f"deploying the stack {name}")
    executor_folders.deploy(folder, name, parameters, _tell)
    hosted = _placed(arguments.stack, name, arguments.tenant)
    print(json.dumps({"tenant": arguments.tenant, "functions": sorted(one.function for one in hosted)}))
    _tell(f"Its tools are at {url}/flat within two seconds.")
    return 0


def _tell(words: str) -> None:
    """Beside what programs read."""
    print(words, file=sys.stderr)


def _loading(arguments: argparse.Namespace) -> int:
    with remote.answers(arguments.stack, arguments.url, _tell) as answer:
        try:
            done = answer(f"skills::{arguments.operation}", {"executor": arguments.function})
        except Unavailable as fault:  # a second load of what has been loaded would be refused
            reason = str(fault).rstrip(".")
            raise CommandFailed(f"{reason}. `signpost executors list` says whether it has happened.") from fault
    print(json.dumps(done, ensure_ascii=False))
    return 0


def _remove(arguments: argparse.Namespace) -> int:
    with stack.registry(arguments.stack) as registry:
        if not registry.directory.remove(arguments.tenant, arguments.arn):
            raise CommandFailed(
                f"{arguments.arn} hosts nothing for tenant {arguments.tenant!r}. See `signpost executors list`."
            )
    print(json.dumps({"tenant": arguments.tenant, "executor": arguments.arn, "functions": []}))
    return 0
