"""`signpost events redrive`: sends change events that did not reach the bus again."""

import argparse
import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from signpost.cli import stack, terminal
from signpost.cli.failure import CommandFailed
from signpost.cli.redrive import OutboxRecovery, Redrive, RedriveRelay, StreamRecovery

if TYPE_CHECKING:
    from signpost.adapters.undelivered_batches import UndeliveredBatch
    from signpost.cli import Commands
    from signpost.wiring.operator import OperatorAdapters


def register(commands: "Commands") -> None:
    parser = commands.add_parser("events", help="send change events again that did not reach the event bus")
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    redriving = actions.add_parser("redrive", help="send the events again that the relays gave up")
    redriving.add_argument("--dry-run", action="store_true", help="print the numbers of changes, and send nothing")
    redriving.add_argument(
        "--forget-lost",
        action="store_true",
        help="discard batches that are too old to be sent whole: changes after seven days, workflow steps after one",
    )
    stack.add_option(redriving)
    redriving.set_defaults(handler=_redrive)


def _build_redrive(adapters: "OperatorAdapters") -> "Redrive[UndeliveredBatch]":
    outbox = adapters.outbox_times
    changes: OutboxRecovery[UndeliveredBatch] = OutboxRecovery(outbox, retention=outbox.retention, clock=adapters.clock)
    steps = StreamRecovery(adapters.workflow_stream.read_batch)
    return Redrive(
        queue=adapters.undelivered_batches,
        relays=[
            RedriveRelay(adapters.output("RelayFunctionName"), changes),
            RedriveRelay(adapters.output("HeraldFunctionName"), steps),
        ],
        link=adapters.link,
        clock=adapters.clock,
    )


def _redrive(arguments: argparse.Namespace) -> int:
    with stack.open_adapters(arguments.stack) as adapters:
        result = _build_redrive(adapters).run(
            terminal.print_progress, dry=arguments.dry_run, forget=arguments.forget_lost
        )
    print(json.dumps(asdict(result)))
    if result.too_old and not (arguments.dry_run or arguments.forget_lost):
        raise CommandFailed(
            f"{result.too_old} batches are too old. Changes older than seven days were sent if the outbox still had "
            "them; the others are lost, and subscribers see a gap in the sequence numbers. Workflow steps older than "
            "one day were not sent; `signpost audit show` has them. Run the command again with --forget-lost to "
            "remove these batches from the queue."
        )
    return 0
