"""The end of a task: the last status that its client was or will be shown. It is written once and never changes."""

from typing import Literal

from signpost.model import JsonObject
from signpost.records import dataclass

type TaskEnding = Literal["completed", "failed", "cancelled"]


@dataclass(frozen=True, slots=True)
class TaskReply:
    """The reply of a function as its client is shown it."""

    message: JsonObject
    """The reply in the form of the executor contract."""
    has_output_schema: bool = False
    """Whether lists show an output schema of the function, which the presentation has to satisfy."""


@dataclass(frozen=True, slots=True)
class TaskEnd:
    status: TaskEnding
    at: float
    message: str = ""
    """A sentence for the client; empty for a completed task."""
    reply: TaskReply | None = None
    """The reply of the function; only for a completed task."""
    code: str = ""
    """The code of the failure in `calling/failures.py`, if the task failed by one."""
    is_effect_unknown: bool = False
    """Whether the function may have taken effect although the task failed."""
