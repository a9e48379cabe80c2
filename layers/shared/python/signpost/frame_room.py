"""Room for the frames of Python functions.

CPython keeps these frames in chunks of 16 KiB. It maps a chunk at the call that needs one, and unmaps the chunk when
that call returns. A loop whose calls cross the end of a chunk therefore asks the operating system for memory at every
call, and no setting of malloc changes that. Which loop this is depends on the depth of the stack alone, so a cold start
can become slower when a function is moved.
"""

from collections.abc import Callable
from functools import wraps

_STACK_SLOTS = 65_536
"""The size of the large frame. CPython maps its chunk with a power of two, so 512 KiB remain for the calls below."""


def with_frame_room[**P, R](function: Callable[P, R]) -> Callable[P, R]:
    """Returns the function, called from a large frame, in whose chunk there is room for the frames of all calls below.

    The frame uses no memory but the pages that the calls below touch.
    """

    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        return function(*args, **kwargs)

    call.__code__ = call.__code__.replace(co_stacksize=_STACK_SLOTS)
    return wraps(function)(call)
