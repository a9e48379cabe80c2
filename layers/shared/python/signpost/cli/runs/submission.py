"""Submits a transition or an override of a workflow instance, after the person at the terminal has confirmed it."""

import sys
from typing import TYPE_CHECKING

from signpost.cli.failure import CommandFailed, NoServerAnswer

if TYPE_CHECKING:
    from signpost.cli.mcp import RemoteTools
    from signpost.model import JsonObject


def confirm(question: str, refusal: str) -> None:
    """Ask the person at the terminal. Raises CommandFailed without a terminal, or if the answer is not yes.

    `refusal` begins the message of the error: it says that nothing was changed."""
    print()
    if not sys.stdin.isatty():
        raise CommandFailed(f"{refusal}: there is no terminal to confirm on. Use --yes to confirm in a script.")
    try:
        reply = input(f"{question} [y/N] ")
    except EOFError:
        reply = ""
    if reply.strip().lower() not in ("y", "yes"):
        raise CommandFailed(f"{refusal}.")


def submit(tools: "RemoteTools", submission: "JsonObject", possible_effect: str) -> "JsonObject":
    """Return the answer of `workflow.submit`.

    Raises CommandFailed if no answer comes. `possible_effect` begins its advice: the submission may have been carried
    out."""
    try:
        return tools.call("workflow.submit", submission)
    except NoServerAnswer as fault:
        message = f"{possible_effect} nevertheless: see `signpost workflow timeline`"
        raise CommandFailed(f"{str(fault).rstrip('.')}. {message}.") from fault
