"""Run the cases of events/ by SAM's own local commands, and compare the answers with the expected ones.

    python -m local.sam_local [--function NAME] [--case NAME] | --shell | --remove

The commands are those of docs/local-invoke.md. They use Docker, or podman if no Docker engine answers, and a stack of
their own on an emulator that is deleted afterwards.
"""

import argparse
import sys
from collections.abc import Iterator

from local.errors import CloudError
from local.interruption import STOPPING, Interruption
from local.intrinsics import TemplateError
from local.invoke import CaseResult, report, run_cases
from local.json_values import NotAnObjectError
from local.progress import Progress
from local.sam_local.cases import CommandInvoker, api_cases, generated_case
from local.sam_local.page import Page
from local.sam_local.podman import remove
from local.sam_local.session import SamSession, open_session

_INTERRUPTED = 130
_SHELL = """\
In this shell SAM's local commands reach a stack of their own. Its variables are in "$ENV_VARS".
The commands are in docs/local-invoke.md. The stack is deleted when the shell ends."""


def main() -> int:
    arguments = _arguments()
    progress = Progress(sys.stdout)
    try:
        if arguments.remove:
            remove(progress)
            return 0
        with Interruption(progress, STOPPING), open_session(progress) as session:
            return _use(session, arguments, progress)
    except KeyboardInterrupt:
        return _INTERRUPTED
    except (OSError, ValueError, TemplateError, NotAnObjectError, CloudError) as error:
        print(f"sam local cannot be run: {error}", file=sys.stderr)
        return 2


def _use(session: SamSession, arguments: argparse.Namespace, progress: Progress) -> int:
    progress.say(f"containers: {session.engine.name}")
    if arguments.shell:
        progress.say(_SHELL)
        return session.open_shell()
    return 1 if report(_results(session, arguments.function, arguments.case)) else 0


def _results(session: SamSession, function: str | None, case: str | None) -> Iterator[CaseResult]:
    """Run the chosen cases; without a choice, all of them and the page's other commands."""
    page = Page.read(session.project.root)
    yield from run_cases(session.project, CommandInvoker(session, page), function, case)
    if function is None and case is None:
        yield generated_case(session, page)
        yield from api_cases(session, page)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m local.sam_local", description="Runs events/ by SAM's commands.")
    parser.add_argument("--function", help="a folder in functions/")
    parser.add_argument("--case", help="a file in events/<function>/, without .json")
    parser.add_argument("--shell", action="store_true", help="open a shell for SAM's local commands instead")
    parser.add_argument("--remove", action="store_true", help="delete podman's image of functions")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
