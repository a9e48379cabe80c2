"""An event loop for one call of an async function.

The deadline timer raises DeadlinePassed in the loop or in the code that it runs. The tasks of the call are then
cancelled. The timer raises again a moment later, so a task that resists its cancellation does not keep the executor.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any

from signpost.errors import DeadlinePassed


def run_to_end[Answer](coroutine: Coroutine[Any, Any, Answer]) -> Answer:
    """Run a coroutine on a new event loop and return its answer. Raises its exceptions, and DeadlinePassed.

    Tasks that it left running are cancelled. Threads that it left running are not waited for, as for plain functions.
    """
    if is_loop_running():
        coroutine.close()
        raise RuntimeError("An async function of a toolkit was called on an event loop. Call it from a plain function.")
    loop = asyncio.new_event_loop()
    try:
        return _run_on(loop, coroutine)
    except BaseExceptionGroup as group:
        # A task group wraps the exceptions of its tasks.
        if group.subgroup(DeadlinePassed) is None:
            raise
        raise DeadlinePassed from group
    finally:
        loop.close()


def _run_on[Answer](loop: asyncio.AbstractEventLoop, coroutine: Coroutine[Any, Any, Answer]) -> Answer:
    try:
        return loop.run_until_complete(coroutine)
    finally:
        _cancel_tasks(loop)
        loop.run_until_complete(loop.shutdown_asyncgens())


def _cancel_tasks(loop: asyncio.AbstractEventLoop) -> None:
    tasks = asyncio.all_tasks(loop)
    for task in tasks:
        task.cancel()
    if tasks:
        loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))


def is_loop_running() -> bool:
    """Tell whether the caller runs on an event loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
