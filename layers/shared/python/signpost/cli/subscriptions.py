"""`signpost triggers` and `signpost webhooks`: list the subscriptions to changes, and show the secret of a webhook."""

import argparse
import json
from typing import TYPE_CHECKING

from signpost.cli import remote, stack, terminal
from signpost.cli.failure import CommandFailed
from signpost.model import as_object
from signpost.policy.egress import parse_destination
from signpost.signing.webhook_signatures import derive_signing_key, format_key

if TYPE_CHECKING:
    from signpost.cli import Commands


def register(commands: "Commands") -> None:
    triggers = commands.add_parser("triggers", help="list triggers (functions that are called after changes)")
    actions = triggers.add_subparsers(required=True, metavar="ACTION")
    _add_list(actions, "triggers")
    webhooks = commands.add_parser("webhooks", help="list webhooks (URLs that receive changes), and show their secrets")
    actions = webhooks.add_subparsers(required=True, metavar="ACTION")
    _add_list(actions, "webhooks")
    secret = actions.add_parser("secret", help="show the secret with which the receiver at a URL verifies requests")
    secret.add_argument("url", help="the URL, exactly as it was published")
    stack.add_tenant_option(secret)
    stack.add_option(secret)
    secret.set_defaults(handler=_secret)


def _add_list(actions: "Commands", kind: str) -> None:
    listing = actions.add_parser("list", help=f"list the published {kind}, one per line")
    stack.add_option(listing)
    listing.add_argument("--url", help="endpoint of AWS, for a laptop cloud (default: AWS_ENDPOINT_URL)")
    listing.set_defaults(handler=_list, kind=kind)


def _list(arguments: argparse.Namespace) -> int:
    with remote.connect_registry(arguments.stack, arguments.url, terminal.print_progress) as call_registry:
        subscriptions = call_registry("manifest::subscriptions", {}).get(arguments.kind)
    for subscription in subscriptions if isinstance(subscriptions, list) else ():
        print(json.dumps(as_object(subscription)))
    return 0


def _secret(arguments: argparse.Namespace) -> int:
    """Print the secret of a webhook. It is derived from its URL, so it exists before the webhook is published."""
    destination = parse_destination(arguments.url)
    if isinstance(destination, str):
        raise CommandFailed(destination)
    with stack.open_adapters(arguments.stack) as adapters:
        print(format_key(derive_signing_key(adapters.stack_keys.read().current, arguments.tenant, arguments.url)))
    return 0
