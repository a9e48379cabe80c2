"""Ends a command whose output nothing reads any more, as `signpost publish --manifest | head` does."""

import os
import sys
from collections.abc import Callable

PIPE_CLOSED = 141
"""The exit code that a shell gives a program which the closed pipe has ended."""


def end_quietly(run: Callable[[], int]) -> int:
    """Run the command and return its exit code. If the reader of its output has gone, end without a message."""
    try:
        try:
            return run()
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        _discard_further_output()
        return PIPE_CLOSED


def _discard_further_output() -> None:
    """Redirect both outputs to the null device: the interpreter writes their buffers when it ends, and would fail
    again."""
    null_device = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        os.dup2(null_device, stream.fileno())
