"""`signpost grants`: lists the grants that functions gave to callers, and takes them back."""

import argparse
import json
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from signpost.calling.grants import GrantHolder, HeldGrant, drop_expired
from signpost.cli import stack
from signpost.cli.failure import CommandFailed
from signpost.model import Principal

if TYPE_CHECKING:
    from signpost.cli import Commands


def register(commands: "Commands") -> None:
    parser = commands.add_parser("grants", help="list and revoke the grants that functions gave to callers")
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    listing = actions.add_parser("list", help="list the grants of a tenant that have not expired")
    listing.add_argument("--subject", help="only those of this principal")
    listing.set_defaults(handler=_list)
    revoking = actions.add_parser("revoke", help="take a grant from a principal (everywhere within two seconds)")
    revoking.add_argument("grant", help="from `signpost grants list`")
    revoking.add_argument("--subject", required=True, help="the principal that holds it")
    revoking.add_argument("--issuer", help="needed if principals of several issuers have this subject")
    revoking.set_defaults(handler=_revoke)
    for action in actions.choices.values():
        stack.add_tenant_option(action)
        stack.add_option(action)


def _list(arguments: argparse.Namespace) -> int:
    now = time.time()
    with stack.open_adapters(arguments.stack) as adapters:
        holders = adapters.grants.of_tenant(arguments.tenant)
    for holder in sorted(holders, key=lambda holder: (holder.subject, holder.issuer)):
        if arguments.subject in (None, holder.subject):
            for _, grant in sorted(drop_expired(holder.grants, now).items()):
                print(json.dumps(_row(holder, grant)))
    return 0


def _revoke(arguments: argparse.Namespace) -> int:
    with stack.open_adapters(arguments.stack) as adapters:
        holder = _find_holder(adapters.grants.of_tenant(arguments.tenant), arguments)
        principal = Principal(holder.subject, arguments.tenant, holder.issuer)
        was_held = adapters.grants.take(principal, arguments.grant, time.time())
    print(
        json.dumps(
            {
                "grant": arguments.grant,
                "subject": holder.subject,
                "issuer": holder.issuer,
                "was_held": was_held,
            }
        )
    )
    return 0


def _find_holder(holders: Sequence[GrantHolder], arguments: argparse.Namespace) -> GrantHolder:
    found = [
        holder
        for holder in holders
        if holder.subject == arguments.subject and arguments.issuer in (None, holder.issuer)
    ]
    if not found:
        raise CommandFailed(f"No principal {arguments.subject} of tenant {arguments.tenant} holds a grant.")
    if len(found) > 1:
        issuers = ", ".join(sorted(holder.issuer for holder in found))
        raise CommandFailed(f"Principals of several issuers are called {arguments.subject}. Add --issuer: {issuers}.")
    return found[0]


def _row(holder: GrantHolder, grant: HeldGrant) -> dict[str, object]:
    return {
        "grant": grant.name,
        "subject": holder.subject,
        "issuer": holder.issuer,
        "by": grant.granted_by,
        "at": _time_text(grant.granted_at),
        "until": None if grant.expires_at is None else _time_text(grant.expires_at),
    }


def _time_text(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
