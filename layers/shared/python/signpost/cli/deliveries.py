"""`signpost deliveries retry`: what triggers and webhooks did not hear, told once more."""

import argparse
import json
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from signpost.cli import stack
from signpost.cli.set_aside import GivenUp, sent_again
from signpost.records import dataclass

if TYPE_CHECKING:
    from signpost.cli import Commands
    from signpost.ports import DeliveryQueue

type Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Retry:
    unheard: GivenUp
    """Changes that did not get into their queue, or that the subscriber function gave up."""
    failed: GivenUp
    """Deliveries whose attempts are used up."""
    changes: "DeliveryQueue"
    deliveries: "DeliveryQueue"

    def run(self, say: Say, *, dry: bool) -> tuple[int, int]:
        """How many changes and how many deliveries. What could not be sent again stays where it was."""
        changes = sent_again(self.unheard, self.changes.put, dry=dry)
        say(f"{changes} changes {'to be ' if dry else ''}told again")
        deliveries = sent_again(self.failed, self.deliveries.put, dry=dry)
        say(f"{deliveries} deliveries {'to be ' if dry else ''}tried again")
        return changes, deliveries


def register(commands: "Commands") -> None:
    parser = commands.add_parser("deliveries", help="what triggers and webhooks did not hear")
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    retrying = actions.add_parser("retry", help="tell it once more")
    retrying.add_argument("--dry-run", action="store_true", help="say how much there is, and send nothing")
    stack.add_option(retrying)
    retrying.set_defaults(handler=_retry)


def _retry(arguments: argparse.Namespace) -> int:
    with stack.retry(arguments.stack) as retry:
        changes, deliveries = retry.run(lambda line: print(line, file=sys.stderr), dry=arguments.dry_run)
    print(json.dumps({"changes": changes, "deliveries": deliveries}))
    return 0
