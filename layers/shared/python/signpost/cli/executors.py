"""`signpost executors`: which Lambda functions host functions for a stack."""

import argparse
import json
from typing import TYPE_CHECKING

from signpost.cli import stack
from signpost.cli.failure import CommandFailed
from signpost.execution.placement import PlacementRefused

if TYPE_CHECKING:
    from signpost.cli import Commands


def register(commands: "Commands") -> None:
    parser = commands.add_parser("executors", help="place executors of other stacks, list and remove them")
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    listing = actions.add_parser("list", help="executors and what they host, for tenants and (tenant null) for all")
    listing.set_defaults(handler=_list)
    placing = actions.add_parser("place", help="ask an executor what it hosts, and let the tenant call it")
    placing.add_argument("function", help="name or ARN of the Lambda function; the stack must allow it")
    placing.set_defaults(handler=_place)
    removing = actions.add_parser("remove", help="its functions cannot be called any more (within two seconds)")
    removing.add_argument("arn", help="from `signpost executors list`")
    removing.set_defaults(handler=_remove)
    for action in (placing, removing):
        stack.add_tenant_option(action)
    for action in actions.choices.values():
        stack.add_option(action)


def _list(arguments: argparse.Namespace) -> int:
    with stack.registry(arguments.stack) as registry:
        listed = registry.directory.placed()
    for placed in listed:
        row = {"tenant": placed.tenant, "executor": placed.executor.arn, "functions": placed.functions}
        print(json.dumps(row))
    return 0


def _place(arguments: argparse.Namespace) -> int:
    try:
        with stack.keys(arguments.stack) as keys:
            hosted = keys.placer.place(arguments.function, arguments.tenant)
    except PlacementRefused as refused:
        raise CommandFailed(str(refused)) from refused
    print(json.dumps({"tenant": arguments.tenant, "functions": sorted(one.function for one in hosted)}))
    return 0


def _remove(arguments: argparse.Namespace) -> int:
    with stack.registry(arguments.stack) as registry:
        if not registry.directory.remove(arguments.tenant, arguments.arn):
            raise CommandFailed(
                f"{arguments.arn} hosts nothing for tenant {arguments.tenant!r}. See `signpost executors list`."
            )
    print(json.dumps({"tenant": arguments.tenant, "executor": arguments.arn, "functions": []}))
    return 0
