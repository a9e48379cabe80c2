"""What a person submits to a run: shown first, asked whether it is meant, and said honestly if no answer came."""

import sys
from typing import TYPE_CHECKING

from signpost.cli.failure import CommandFailed, Unanswered

if TYPE_CHECKING:
    from signpost.cli.mcp import Tools
    from signpost.model import JsonObject


def confirm(question: str, nothing: str) -> None:
    """Raises CommandFailed unless somebody is there and means it; `nothing` says what then has happened."""
    print()
    if not sys.stdin.isatty():
        raise CommandFailed(f"{nothing}: there is nobody to ask. --yes says that what is shown is meant.")
    try:
        said = input(f"{question} [y/N] ")
    except EOFError:
        said = ""
    if said.strip().lower() not in ("y", "yes"):
        raise CommandFailed(f"{nothing}.")


def submitted(tools: "Tools", submission: "JsonObject", maybe: str) -> "JsonObject":
    """What `workflow.submit` answers; `maybe` says what may have happened if it does not."""
    try:
        return tools.call("workflow.submit", submission)
    except Unanswered as fault:
        message = f"{maybe} all the same: `signpost workflow timeline` says whether it was"
        raise CommandFailed(f"{str(fault).rstrip('.')}. {message}.") from fault


def say(line: str) -> None:
    """What is said by the way; the answer itself goes to standard output."""
    print(line, file=sys.stderr)
