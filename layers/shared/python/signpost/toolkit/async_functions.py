"""Runs `async def` functions of an author to their end, each call on an event loop of its own.

Executors without async functions import only this module, and not `event_loop`, which imports asyncio.
"""

from importlib import import_module
from inspect import iscoroutinefunction
from types import CoroutineType
from typing import Any, cast


def prepare_async(run: object) -> None:
    """Import the event loop for a callable that needs one. Called at init, where the full processor is available."""
    if iscoroutinefunction(run):
        import_module("signpost.toolkit.event_loop")


def finish(answer: object) -> object:
    """Return the answer of a callable. If the answer is a coroutine, run it to its end and return its result."""
    if not isinstance(answer, CoroutineType):
        return answer
    from signpost.toolkit.event_loop import run_to_end  # noqa: PLC0415 - it imports asyncio

    return run_to_end(cast("CoroutineType[Any, Any, object]", answer))
