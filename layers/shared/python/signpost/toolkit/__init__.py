"""What an author needs to make a Lambda function an executor: functions, and one line that hosts them."""

from signpost.model import InputRequired
from signpost.toolkit.answers import Answer, CallEnded, CallFailed, ToolError
from signpost.toolkit.context import Context
from signpost.toolkit.function import DeclarationError, Function
from signpost.toolkit.hosting import executor

__all__ = [
    "Answer",
    "CallEnded",
    "CallFailed",
    "Context",
    "DeclarationError",
    "Function",
    "InputRequired",
    "ToolError",
    "executor",
]
