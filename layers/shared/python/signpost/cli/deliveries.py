"""`signpost deliveries retry`: sends failed changes and failed deliveries to their queues again."""

import argparse
import json
from typing import TYPE_CHECKING

from signpost.cli import stack, terminal
from signpost.cli.dead_letters import DeadLetters, resend
from signpost.records import dataclass

if TYPE_CHECKING:
    from signpost.cli import Commands
    from signpost.content.ports import DeliveryQueue


@dataclass(frozen=True, slots=True)
class DeliveryRetry:
    """The queues from which and to which failed changes and failed deliveries are sent again."""

    failed_changes: DeadLetters
    """Changes that did not reach their queue, or that the change fan-out function gave up."""
    failed_deliveries: DeadLetters
    """Deliveries that have used up their attempts."""
    changes: "DeliveryQueue"
    deliveries: "DeliveryQueue"

    def run(self, show_line: terminal.ShowLine, *, dry: bool) -> tuple[int, int]:
        """Send both again, and return the number of changes and of deliveries.

        Messages that could not be sent again stay in their dead-letter queue."""
        changes = resend(self.failed_changes, self.changes.put, dry=dry)
        show_line(f"{changes} changes {'to be ' if dry else ''}sent again")
        deliveries = resend(self.failed_deliveries, self.deliveries.put, dry=dry)
        show_line(f"{deliveries} deliveries {'to be ' if dry else ''}sent again")
        return changes, deliveries


def register(commands: "Commands") -> None:
    parser = commands.add_parser("deliveries", help="retry failed deliveries to triggers and webhooks")
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    retrying = actions.add_parser("retry", help="send failed changes and deliveries again")
    retrying.add_argument("--dry-run", action="store_true", help="print their numbers, and send nothing")
    stack.add_option(retrying)
    retrying.set_defaults(handler=_retry)


def _retry(arguments: argparse.Namespace) -> int:
    with stack.open_adapters(arguments.stack) as adapters:
        retry = DeliveryRetry(
            failed_changes=adapters.dead_letters("UnheardChangesUrl"),
            failed_deliveries=adapters.dead_letters("FailedDeliveriesUrl"),
            changes=adapters.queue("ChangesUrl"),
            deliveries=adapters.queue("DeliveryQueueUrl"),
        )
        changes, deliveries = retry.run(terminal.print_progress, dry=arguments.dry_run)
    print(json.dumps({"changes": changes, "deliveries": deliveries}))
    return 0
