"""`signpost keys`: create, list and revoke the API keys of a tenant."""

import argparse
import json
import re
import secrets
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from signpost.cli import stack
from signpost.cli.failure import CommandFailed
from signpost.identity.api_keys import SUBJECT_PREFIX, PresentedKey, digest_of_secret
from signpost.identity.claims import LONGEST_SUBJECT
from signpost.identity.credentials import ApiKey

if TYPE_CHECKING:
    from signpost.cli import Commands

SECONDS_PER_UNIT = {"h": 3600, "d": 86400}


def new_key(tenant: str) -> PresentedKey:
    """Make a key for a client to send. The stack stores only a digest, so the key cannot be shown again."""
    return PresentedKey(tenant=tenant, key_id=secrets.token_hex(6), secret=secrets.token_hex(32))


def stored_key(
    presented: PresentedKey,
    name: str,
    *,
    created_at: float,
    roles: Sequence[str] = (),
    permissions: Sequence[str] = (),
    lifetime: float | None = None,
    owner: str = "",
) -> ApiKey:
    """Build the row that is stored for a key. `lifetime` is in seconds; without one the key does not expire."""
    return ApiKey(
        tenant=presented.tenant,
        key_id=presented.key_id,
        name=name,
        secret_digest=digest_of_secret(presented.secret),
        roles=frozenset(roles),
        permissions=frozenset(permissions),
        created_at=created_at,
        expires_at=created_at + lifetime if lifetime else None,
        owner=owner,
    )


def register(commands: "Commands") -> None:
    parser = commands.add_parser("keys", help="create, list and revoke API keys")
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    _register_create(actions)
    listing = actions.add_parser("list", help="list the keys of a tenant, without their secrets")
    listing.set_defaults(handler=_list)
    revoking = actions.add_parser("revoke", help="refuse a key from now on (everywhere within two seconds)")
    revoking.add_argument("id", help="from `signpost keys list`")
    revoking.set_defaults(handler=_revoke)
    for action in actions.choices.values():
        stack.add_tenant_option(action)
        stack.add_option(action)


def _register_create(actions: "Commands") -> None:
    creating = actions.add_parser("create", help="create a key and print it; it cannot be shown again")
    creating.add_argument("name", help="a name for the key, for example its user")
    creating.add_argument("--role", action="append", default=[], help="a role of the key; may be repeated")
    creating.add_argument(
        "--permission", action="append", default=[], help="for example signpost.admin; may be repeated"
    )
    creating.add_argument(
        "--expires-in", type=_parse_duration, metavar="30d", help="hours (h) or days (d); default: never"
    )
    creating.add_argument(
        "--owner",
        type=_parse_owner,
        metavar="SUBJECT",
        help="the `sub` of the tokens of the person to whom the key belongs: both count as one person in approvals",
    )
    creating.set_defaults(handler=_create)


def _create(arguments: argparse.Namespace) -> int:
    presented = new_key(arguments.tenant)
    stored = stored_key(
        presented,
        arguments.name,
        created_at=time.time(),
        roles=arguments.role,
        permissions=arguments.permission,
        lifetime=arguments.expires_in,
        owner=arguments.owner or "",
    )
    with stack.open_adapters(arguments.stack) as adapters:
        if not adapters.api_keys.add(stored):
            raise CommandFailed("A key with this id exists already. Try again.")
    print(presented)
    print(f"Key {stored.key_id} of tenant {stored.tenant}. It is shown only now; keep it safe.", file=sys.stderr)
    return 0


def _list(arguments: argparse.Namespace) -> int:
    now = time.time()
    with stack.open_adapters(arguments.stack) as adapters:
        api_keys = adapters.api_keys.of_tenant(arguments.tenant)
    for key in api_keys:
        print(json.dumps(_row(key, now), ensure_ascii=False))
    return 0


def _revoke(arguments: argparse.Namespace) -> int:
    with stack.open_adapters(arguments.stack) as adapters:
        key = adapters.api_keys.revoke(arguments.tenant, arguments.id, time.time())
    if key is None:
        raise CommandFailed(f"Tenant {arguments.tenant!r} has no key {arguments.id!r}. See `signpost keys list`.")
    print(json.dumps(_row(key, time.time()), ensure_ascii=False))
    return 0


def _row(key: ApiKey, now: float) -> dict[str, object]:
    return {
        "id": key.key_id,
        "name": key.name,
        **({"owner": key.owner} if key.owner else {}),
        "state": _state(key, now),
        "roles": sorted(key.roles),
        "permissions": sorted(key.permissions),
        "created": _date(key.created_at),
        "expires": _date(key.expires_at),
        "revoked": _date(key.revoked_at),
    }


def _state(key: ApiKey, now: float) -> str:
    if key.revoked_at is not None:
        return "revoked"
    return "expired" if key.expires_at is not None and key.expires_at <= now else "valid"


def _date(at: float | None) -> str | None:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds") if at is not None else None


def _parse_owner(text: str) -> str:
    if not text.strip() or len(text) > LONGEST_SUBJECT or text.startswith(SUBJECT_PREFIX):
        raise argparse.ArgumentTypeError(
            f"write the `sub` of a person's tokens, with at most {LONGEST_SUBJECT} characters, not {text!r}"
        )
    return text


def _parse_duration(text: str) -> float:
    match = re.fullmatch(r"([1-9][0-9]{0,4})([hd])", text)
    if match is None:
        raise argparse.ArgumentTypeError(f"write a duration as 12h or 30d, not {text!r}")
    return int(match[1]) * SECONDS_PER_UNIT[match[2]]
