"""Has a deadline raised again that Python has dropped: no exception leaves a destructor or a callback of the garbage
collector or of a weak reference. Python reports such an exception to `sys.unraisablehook` instead."""

import sys
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Self

from signpost.errors import DeadlinePassed

if TYPE_CHECKING:
    from sys import UnraisableHookArgs


class DroppedDeadlines:
    """Receives the exceptions that Python drops in the block. A dropped DeadlinePassed is not reported: `raise_again`
    is called for it, and returns whether the deadline has passed. All other exceptions are reported as before."""

    def __init__(self, raise_again: Callable[[], bool]) -> None:
        self._raise_again = raise_again
        self._before = sys.unraisablehook

    def __enter__(self) -> Self:
        self._before = sys.unraisablehook
        sys.unraisablehook = self._receive
        return self

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, at: TracebackType | None) -> None:
        # The hook of an inner block stays where a deadline ended that block on its way out. A hook that other code has
        # installed in the block stays: it may call this one, which reports then as before.
        if isinstance(getattr(sys.unraisablehook, "__self__", None), DroppedDeadlines):
            sys.unraisablehook = self._before

    def _receive(self, dropped: "UnraisableHookArgs") -> None:
        if not (issubclass(dropped.exc_type, DeadlinePassed) and self._raise_again()):
            self._before(dropped)
