"""`signpost workflow retry`: sends the wakes that the workflow worker gave up to the work queue again."""

import argparse
import json
from typing import TYPE_CHECKING

from signpost.cli import stack
from signpost.cli.dead_letters import DeadLetters, resend
from signpost.records import dataclass

if TYPE_CHECKING:
    from signpost.cli import Commands
    from signpost.content.ports import DeliveryQueue

RETRY_DESCRIPTION = (
    "Sends the runs that the worker gave up to the worker again. The worker carries out all that is due in them; no "
    "step is executed twice because of this command."
)


@dataclass(frozen=True, slots=True)
class WorkRetry:
    """The dead letters of the work queue, and the work queue."""

    failed: DeadLetters
    work: "DeliveryQueue"

    def run(self, *, dry: bool) -> int:
        """Send the wakes again, and return their number."""
        return resend(self.failed, self.work.put, dry=dry)


def register(actions: "Commands") -> None:
    retrying = actions.add_parser("retry", help="retry the runs that the worker gave up", description=RETRY_DESCRIPTION)
    retrying.add_argument("--dry-run", action="store_true", help="print their number, and send nothing")
    stack.add_option(retrying)
    retrying.set_defaults(handler=_retry)


def _retry(arguments: argparse.Namespace) -> int:
    with stack.open_adapters(arguments.stack) as adapters:
        retry = WorkRetry(adapters.dead_letters("FailedWorkUrl"), adapters.queue("WorkQueueUrl"))
        print(json.dumps({"runs": retry.run(dry=arguments.dry_run)}))
    return 0
