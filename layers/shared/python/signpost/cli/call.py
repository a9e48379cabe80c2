"""`signpost call`: calls a function of the registry by its id."""

import argparse
import json
import sys
from typing import TYPE_CHECKING

from signpost.cli import remote, stack, terminal
from signpost.cli.failure import CommandFailed
from signpost.errors import Unavailable
from signpost.model import Json

if TYPE_CHECKING:
    from signpost.cli import Commands

FROM_INPUT = "-"


def register(commands: "Commands") -> None:
    parser = commands.add_parser(
        "call",
        help="call a function of the registry",
        description="Calls a function from the list of `signpost functions`, and prints its answer.",
    )
    parser.add_argument("function_id", help="for example skills::list")
    parser.add_argument(
        "payload", nargs="?", default="{}", help=f"a JSON object; {FROM_INPUT} reads it from standard input"
    )
    stack.add_option(parser)
    parser.add_argument("--url", help="endpoint of AWS, for a laptop cloud (default: AWS_ENDPOINT_URL)")
    parser.set_defaults(handler=_call)


def _call(arguments: argparse.Namespace) -> int:
    payload = _parse_payload(sys.stdin.read() if arguments.payload == FROM_INPUT else arguments.payload)
    with remote.connect_registry_once(arguments.stack, arguments.url, terminal.print_progress) as call_registry:
        try:
            answer = call_registry(arguments.function_id, payload)
        except Unavailable as fault:  # the function may have effects: only the operator can know if a retry is safe
            advice = "The call was not retried, because it may have taken effect. Check this before you repeat it."
            raise CommandFailed(f"{str(fault).rstrip('.')}. {advice}") from fault
    print(answer if isinstance(answer, str) else json.dumps(answer, indent=2, ensure_ascii=False))
    return 0


def _parse_payload(text: str) -> Json:
    """Parse the payload as JSON. The function itself checks everything else."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as fault:
        example = '{"id": "resend"}'
        raise CommandFailed(f"The payload is not valid JSON ({fault}). Write it like '{example}'.") from fault
