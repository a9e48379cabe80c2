"""`signpost executors`: lists, places, removes, deploys and loads the executors of a stack.

An executor is a Lambda function that hosts functions. Operators place and remove executors in the registry table.
Administrators of a tenant load and unload them through the registry function."""

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from signpost.cli import executor_deploy, executor_folders, remote, stack
from signpost.cli.executor_placing import place_executor
from signpost.cli.failure import CommandFailed
from signpost.cli.terminal import print_progress
from signpost.errors import Unavailable

if TYPE_CHECKING:
    from signpost.cli import Commands
    from signpost.model import JsonObject


LOAD_COMMANDS = {
    "load": "add the functions of an executor to the tenant; a higher version replaces a loaded one",
    "unload": "remove the functions of a loaded executor from the tenant (takes effect within two seconds)",
    "reload": "read the functions of a loaded executor again",
}


def register(commands: "Commands") -> None:
    parser = commands.add_parser("executors", help="deploy, list, place, remove and load executors of other stacks")
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    listing = actions.add_parser("list", help="list executors and their functions; tenant null means all tenants")
    listing.set_defaults(handler=_list)
    placing = actions.add_parser("place", help="read the functions of an executor, and let the tenant call them")
    placing.add_argument("function", help="name or ARN of the Lambda function; the stack must allow it")
    placing.set_defaults(handler=_place)
    removing = actions.add_parser("remove", help="remove an executor from the tenant (takes effect within two seconds)")
    removing.add_argument("arn", help="from `signpost executors list`")
    removing.set_defaults(handler=_remove)
    deploying = executor_deploy.register(actions)
    _add_strict_option(placing)
    for action in (placing, removing, deploying):
        stack.add_tenant_option(action)
    _register_loading(actions)
    for action in actions.choices.values():
        stack.add_option(action)
    writing = actions.add_parser("template", help="write the SAM template of a folder with an app.py")
    writing.set_defaults(handler=_write_template)
    for action in (deploying, writing):
        action.add_argument("folder", type=Path, help="the folder; its name is the name of the executor")


def _register_loading(actions: "Commands") -> None:
    for operation, purpose in LOAD_COMMANDS.items():
        loading = actions.add_parser(operation, help=purpose)
        loading.add_argument("function", help="name or ARN of the Lambda function; the stack must allow it")
        loading.add_argument("--url", help="endpoint of AWS, for a laptop cloud (default: AWS_ENDPOINT_URL)")
        _add_strict_option(loading)
        loading.set_defaults(handler=_change_load, operation=operation)


def _add_strict_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--strict", action="store_true", help="refuse functions with warnings")


def _list(arguments: argparse.Namespace) -> int:
    with stack.open_adapters(arguments.stack) as adapters:
        placements = adapters.directory.list_placed()
    for placement in placements:
        row = {"tenant": placement.tenant, "executor": placement.executor.arn, "functions": placement.functions}
        if placement.terms is not None and placement.terms.version is not None:
            row["version"] = placement.terms.version
        print(json.dumps(row))
    return 0


def _place(arguments: argparse.Namespace) -> int:
    functions = place_executor(arguments.stack, arguments.function, arguments.tenant, strict=arguments.strict)
    print(json.dumps({"tenant": arguments.tenant, "functions": sorted(hosted.function for hosted in functions)}))
    return 0


def _write_template(arguments: argparse.Namespace) -> int:
    is_new = executor_folders.write_template(arguments.folder)
    path = arguments.folder / executor_folders.TEMPLATE
    print(f"+ {path}" if is_new else f"= {path} exists already and was not changed.")
    return 0


def _change_load(arguments: argparse.Namespace) -> int:
    with remote.connect_registry_once(arguments.stack, arguments.url, print_progress) as call_registry:
        try:
            strict: JsonObject = {"strict": True} if arguments.strict else {}
            answer = call_registry(f"skills::{arguments.operation}", {"executor": arguments.function, **strict})
        except Unavailable as fault:  # no retry: a second load of a loaded executor is refused
            reason = str(fault).rstrip(".")
            raise CommandFailed(
                f"{reason}. It is not known whether this took effect: see `signpost executors list`."
            ) from fault
    print(json.dumps(answer, ensure_ascii=False))
    return 0


def _remove(arguments: argparse.Namespace) -> int:
    with stack.open_adapters(arguments.stack) as adapters:
        if not adapters.directory.remove(arguments.tenant, arguments.arn):
            raise CommandFailed(
                f"{arguments.arn} is not placed for tenant {arguments.tenant!r}. See `signpost executors list`."
            )
    print(json.dumps({"tenant": arguments.tenant, "executor": arguments.arn, "functions": []}))
    return 0
