"""`signpost workflow retry`: runs that could not be gone on with, looked at once more."""

import argparse
import json
from typing import TYPE_CHECKING

from signpost.cli import stack
from signpost.cli.set_aside import GivenUp, sent_again
from signpost.records import dataclass

if TYPE_CHECKING:
    from signpost.cli import Commands
    from signpost.ports import DeliveryQueue

RETRYING = (
    "Has the worker look once more at the runs that it has given up. What is due in them happens; nothing is done "
    "twice by looking twice."
)


@dataclass(frozen=True, slots=True)
class FailedWork:
    failed: GivenUp
    work: "DeliveryQueue"

    def run(self, *, dry: bool) -> int:
        return sent_again(self.failed, self.work.put, dry=dry)


def register(actions: "Commands") -> None:
    retrying = actions.add_parser(
        "retry", help="look again at runs that could not be gone on with", description=RETRYING
    )
    retrying.add_argument("--dry-run", action="store_true", help="say how many there are, and send nothing")
    stack.add_option(retrying)
    retrying.set_defaults(handler=_retry)


def _retry(arguments: argparse.Namespace) -> int:
    with stack.failed_work(arguments.stack) as failed:
        print(json.dumps({"runs": failed.run(dry=arguments.dry_run)}))
    return 0
