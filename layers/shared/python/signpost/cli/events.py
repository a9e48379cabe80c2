"""`signpost events`: change events that did not reach the bus."""

import argparse
import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

from signpost.cli import stack
from signpost.cli.failure import CommandFailed

if TYPE_CHECKING:
    from signpost.cli import Commands


def register(commands: "Commands") -> None:
    parser = commands.add_parser("events", help="change events that did not reach the bus")
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    redriving = actions.add_parser("redrive", help="send what the relay and the herald gave up after all")
    redriving.add_argument("--dry-run", action="store_true", help="say what would be sent, and send nothing")
    redriving.add_argument(
        "--forget-lost",
        action="store_true",
        help="give up what is too old to be sent whole: changes after seven days, steps of workflows after one",
    )
    stack.add_option(redriving)
    redriving.set_defaults(handler=_redrive)


def _redrive(arguments: argparse.Namespace) -> int:
    with stack.redrive(arguments.stack) as redrive:
        done = redrive.run(_say, dry=arguments.dry_run, forget=arguments.forget_lost)
    print(json.dumps(asdict(done)))
    if done.too_old and not (arguments.dry_run or arguments.forget_lost):
        raise CommandFailed(
            f"{done.too_old} batches are too old. What the outbox still had of changes of more than seven days ago was "
            "sent; the rest is lost, and subscribers see a gap in the sequence numbers. Steps of more than a day ago "
            "were not sent; the audits have them. With --forget-lost the batches leave the queue."
        )
    return 0


def _say(progress: str) -> None:
    print(progress, file=sys.stderr)
