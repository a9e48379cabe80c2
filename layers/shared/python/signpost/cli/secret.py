"""`signpost secret rotate`: new master keys, the previous ones still recognised."""

import argparse
import secrets
import sys
from typing import TYPE_CHECKING

from signpost.cli import stack
from signpost.model import MasterKeys

if TYPE_CHECKING:
    from signpost.cli import Commands


def rotated(keys: MasterKeys) -> MasterKeys:
    return MasterKeys(current=secrets.token_hex(32), previous=keys.current)


def register(commands: "Commands") -> None:
    parser = commands.add_parser("secret", help="rotate the master keys of a stack")
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    rotating = actions.add_parser("rotate", help="sign with new keys; what the current ones signed stays valid")
    stack.add_option(rotating)
    rotating.set_defaults(handler=_rotate)


def _rotate(arguments: argparse.Namespace) -> int:
    """Executors get their keys first: the stack signs with none that they do not have. And once more, for one that
    was placed meanwhile."""
    with stack.keys(arguments.stack) as held:
        keys = rotated(held.stack.read())
        held.placer.hand_out(keys)
        held.stack.write(keys)
        lost = held.placer.hand_out(keys)
    print("Rotated. What was signed before stays valid until the next rotation.")
    for arn in lost:
        advice = "Place it again, or take it away by `signpost executors remove`."
        print(f"signpost: the secret of {arn} is gone, so it cannot be called. {advice}", file=sys.stderr)
    return 0
