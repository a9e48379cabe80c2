"""Silences the log of thousands of requests, which a failing test would print."""

import io
import logging
from collections.abc import Generator
from contextlib import contextmanager, redirect_stdout


class _Nowhere(io.StringIO):
    def write(self, text: str, /) -> int:
        return len(text)


@contextmanager
def silence_logs() -> Generator[None]:
    """Discard log output in the block. Loggers made in it stay silent, because a logger keeps the stream that it was
    made with. Lines are still formatted, since formatting hostile input may fail too."""
    root = logging.getLogger()
    handlers, root.handlers = root.handlers, []
    try:
        with redirect_stdout(_Nowhere()):
            yield
    finally:
        root.handlers = handlers
