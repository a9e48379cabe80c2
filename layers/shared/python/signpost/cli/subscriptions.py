"""`signpost triggers` and `signpost webhooks`: who hears of changes, and the secret that a receiver checks."""

import argparse
import json
import sys
from typing import TYPE_CHECKING

from signpost.cli import remote, stack
from signpost.cli.failure import CommandFailed
from signpost.model import as_object
from signpost.policy.egress import destination_of
from signpost.policy.webhooks import shown, signing_key

if TYPE_CHECKING:
    from signpost.cli import Commands


def register(commands: "Commands") -> None:
    triggers = commands.add_parser("triggers", help="functions that are called after changes")
    actions = triggers.add_subparsers(required=True, metavar="ACTION")
    _add_list(actions, "triggers")
    webhooks = commands.add_parser("webhooks", help="addresses that are posted to after changes")
    actions = webhooks.add_subparsers(required=True, metavar="ACTION")
    _add_list(actions, "webhooks")
    secret = actions.add_parser("secret", help="the secret with which the receiver at a URL checks what comes")
    secret.add_argument("url", help="as it was published, to the letter")
    stack.add_tenant_option(secret)
    stack.add_option(secret)
    secret.set_defaults(handler=_secret)


def _add_list(actions: "Commands", kind: str) -> None:
    listing = actions.add_parser("list", help=f"the {kind} that were published, a line each")
    stack.add_option(listing)
    listing.add_argument("--url", help="endpoint of AWS, for a laptop cloud (default: AWS_ENDPOINT_URL)")
    listing.set_defaults(handler=_list, kind=kind)


def _list(arguments: argparse.Namespace) -> int:
    with remote.registry(arguments.stack, arguments.url, lambda line: print(line, file=sys.stderr)) as ask:
        listed = ask("manifest::subscriptions", {}).get(arguments.kind)
    for one in listed if isinstance(listed, list) else ():
        print(json.dumps(as_object(one)))
    return 0


def _secret(arguments: argparse.Namespace) -> int:
    """Worked out rather than looked up: it is there before the webhook is published."""
    destination = destination_of(arguments.url)
    if isinstance(destination, str):
        raise CommandFailed(destination)
    with stack.keys(arguments.stack) as held:
        print(shown(signing_key(held.stack.read().current, arguments.tenant, arguments.url)))
    return 0
