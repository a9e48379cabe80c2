"""The `signpost` command."""

import argparse
import sys
from collections.abc import Sequence

from signpost import __version__
from signpost.cli import (
    approvals,
    audit,
    breakers,
    call,
    check,
    deliveries,
    events,
    executors,
    functions,
    grants,
    keys,
    policy,
    schedules,
    secret,
    settings,
    subscriptions,
    workflow,
)
from signpost.cli.doctor import doctor_command
from signpost.cli.failure import CommandFailed
from signpost.cli.login import login_command
from signpost.cli.pipes import end_quietly
from signpost.cli.publish import publish_command

# argparse has no public name for the type that add_subparsers returns.
type Commands = "argparse._SubParsersAction[argparse.ArgumentParser]"  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="signpost", description="Operate a Signpost gateway, and connect to one.")
    parser.add_argument("--version", action="version", version=f"signpost {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for group in (
        doctor_command,
        keys,
        settings,
        executors,
        breakers,
        grants,
        events,
        secret,
        login_command,
        functions,
        call,
        check,
        publish_command,
        policy,
        workflow,
        schedules,
        approvals,
        audit,
        subscriptions,
        deliveries,
    ):
        group.register(commands)
    return end_quietly(lambda: _run(parser, arguments))


def _run(parser: argparse.ArgumentParser, arguments: Sequence[str] | None) -> int:
    parsed = parser.parse_args(arguments)
    try:
        return parsed.handler(parsed)
    except CommandFailed as failure:
        print(f"signpost: {failure}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
