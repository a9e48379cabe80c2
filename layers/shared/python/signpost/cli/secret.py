"""`signpost secret rotate`: makes new master keys, and keeps the previous ones valid."""

import argparse
import secrets
import sys
from typing import TYPE_CHECKING

from signpost.cli import stack
from signpost.model import MasterKeys

if TYPE_CHECKING:
    from signpost.cli import Commands


def rotate_keys(keys: MasterKeys) -> MasterKeys:
    return MasterKeys(current=secrets.token_hex(32), previous=keys.current)


def register(commands: "Commands") -> None:
    parser = commands.add_parser("secret", help="rotate the master keys of a stack")
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    rotating = actions.add_parser("rotate", help="sign with new keys; data signed with the current keys stays valid")
    stack.add_option(rotating)
    rotating.set_defaults(handler=_rotate)


def _rotate(arguments: argparse.Namespace) -> int:
    """Hand the new keys to the executors, then to the stack, then to the executors again.

    Executors come first because the stack must not sign with keys that an executor does not have. The second time
    reaches an executor that was placed meanwhile."""
    with stack.open_adapters(arguments.stack) as adapters:
        keys = rotate_keys(adapters.stack_keys.read())
        adapters.placer.hand_out(keys)
        adapters.stack_keys.write(keys)
        unreachable = adapters.placer.hand_out(keys)
    print("The keys are rotated. Data signed with the previous keys stays valid until the next rotation.")
    for arn in unreachable:
        advice = "Place the executor again, or remove it with `signpost executors remove`."
        print(f"signpost: the secret of {arn} is gone, so it cannot be called. {advice}", file=sys.stderr)
    return 0
