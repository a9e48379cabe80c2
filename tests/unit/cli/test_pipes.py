"""Commands whose output nothing reads any more."""

import os
import subprocess
import sys
from collections.abc import Sequence

import pytest

from signpost.cli.pipes import PIPE_CLOSED

PROGRAM = "import sys; from signpost.cli import main; sys.exit(main(sys.argv[1:]))"


def run_into_a_closed_pipe(program: str, arguments: Sequence[str] = ()) -> tuple[int, str]:
    """Run a program whose standard output has no reader, and return its exit code and its standard error."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        ended = subprocess.run(
            [sys.executable, "-c", program, *arguments], stdout=writer, stderr=subprocess.PIPE, text=True, check=False
        )
    finally:
        os.close(writer)
    return ended.returncode, ended.stderr


def test_a_command_ends_quietly_when_its_pipe_is_closed() -> None:
    assert run_into_a_closed_pipe(PROGRAM, ["check", "--schema"]) == (PIPE_CLOSED, "")


@pytest.mark.parametrize("arguments", [["--help"], ["workflow", "--help"]])
def test_a_help_text_ends_quietly_when_its_pipe_is_closed(arguments: Sequence[str]) -> None:
    code, said = run_into_a_closed_pipe(PROGRAM, arguments)
    assert (code in (0, PIPE_CLOSED), said) == (True, "")


def test_output_that_is_still_buffered_at_the_end_is_discarded_quietly() -> None:
    program = (
        "import sys\nfrom signpost.cli.pipes import end_quietly\n"
        "def run():\n    print('x')\n    return 0\n"
        "sys.exit(end_quietly(run))\n"
    )
    assert run_into_a_closed_pipe(program) == (PIPE_CLOSED, "")


def test_a_fault_that_is_no_closed_pipe_is_not_hidden() -> None:
    program = (
        "import sys\nfrom signpost.cli.pipes import end_quietly\n"
        "def run():\n    raise ConnectionResetError('reset')\n"
        "sys.exit(end_quietly(run))\n"
    )
    code, said = run_into_a_closed_pipe(program)
    assert (code, "ConnectionResetError: reset" in said) == (1, True)
