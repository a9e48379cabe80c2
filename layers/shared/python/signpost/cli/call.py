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
        description="Calls one of the functions that `signpost functions` names, and prints what it answers.",
    )
    parser.add_argument("function_id", help="as skills::list")
    parser.add_argument("payload", nargs="?", default="{}", help=f"a JSON object; {FROM_INPUT} reads it from the input")
    stack.add_option(parser)
    parser.add_argument("--url", help="endpoint of AWS, for a laptop cloud (default: AWS_ENDPOINT_URL)")
    parser.set_defaults(handler=_call)


def _call(arguments: argparse.Namespace) -> int:
    payload = _parse_payload(sys.stdin.read() if arguments.payload == FROM_INPUT else arguments.payload)
    with remote.connect_registry_once(arguments.stack, arguments.url, terminal.print_progress) as call_registry:
        try:
            answer = call_registry(arguments.function_id, payload)
        except Unavailable as fault:  # the function may have effects: only the operator can know if a retry is safe
            raise CommandFailed(f"{str(fault).rstrip('.')}. It was called once.") from fault
    print(answer if isinstance(answer, str) else json.dumps(answer, indent=2, ensure_ascii=False))
    return 0


def _parse_payload(text: str) -> Json:
    """Parse the payload as JSON. The function itself checks everything else."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as fault:
        raise CommandFailed(f'The payload is no JSON ({fault}). Write it like \'{{"id": "resend"}}\'.') from fault
