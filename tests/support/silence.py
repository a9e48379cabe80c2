"""Runs of thousands of requests, without the thousands of log lines a failing test would then print."""

import io
import logging
from collections.abc import Generator
from contextlib import contextmanager, redirect_stdout


class _Nowhere(io.StringIO):
    def write(self, text: str, /) -> int:
        return len(text)


@contextmanager
def silence() -> Generator[None]:
    """What is made within keeps its silence: a logger writes to the output it was made for. The lines are made all
    the same, since making one of hostile input may fail too; only nobody keeps them."""
    root = logging.getLogger()
    handlers, root.handlers = root.handlers, []
    try:
        with redirect_stdout(_Nowhere()):
            yield
    finally:
        root.handlers = handlers
