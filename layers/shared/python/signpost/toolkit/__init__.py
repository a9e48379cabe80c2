"""The public API for authors: declare functions as tools, and make a Lambda function the executor that hosts them."""

from importlib import import_module
from typing import TYPE_CHECKING

from signpost.model import InputRequired, Principal
from signpost.toolkit.answers import (
    Answer,
    CallEnded,
    CallFailed,
    EffectInDoubt,
    EffectRunning,
    HandleChanged,
    HandleMissing,
    QuestionRefused,
    ToolError,
)
from signpost.toolkit.context import Context
from signpost.toolkit.function import DeclarationError, Function
from signpost.toolkit.hosting import executor

if TYPE_CHECKING:
    from signpost.toolkit.content import Content, ToolResult
    from signpost.toolkit.handles import Handle, HandleKind
    from signpost.toolkit.kit import Toolkit
    from signpost.toolkit.messages import PromptResult, assistant, system, user
    from signpost.toolkit.questions import Elicit, ElicitAnswer, ElicitUrl, Root, Roots, Sample, SampleAnswer
    from signpost.toolkit.registration import registered

__all__ = [
    "Answer",
    "CallEnded",
    "CallFailed",
    "Content",
    "Context",
    "DeclarationError",
    "EffectInDoubt",
    "EffectRunning",
    "Elicit",
    "ElicitAnswer",
    "ElicitUrl",
    "Function",
    "Handle",
    "HandleChanged",
    "HandleKind",
    "HandleMissing",
    "InputRequired",
    "Principal",
    "PromptResult",
    "QuestionRefused",
    "Root",
    "Roots",
    "Sample",
    "SampleAnswer",
    "ToolError",
    "ToolResult",
    "Toolkit",
    "assistant",
    "executor",
    "registered",
    "system",
    "user",
]

_AT_FIRST_USE = {
    "Content": "content", "ToolResult": "content", "Toolkit": "kit", "Handle": "handles", "HandleKind": "handles",
    "PromptResult": "messages", "assistant": "messages", "system": "messages", "user": "messages",
    "registered": "registration",
    "Elicit": "questions", "ElicitAnswer": "questions", "ElicitUrl": "questions", "Root": "questions",
    "Roots": "questions", "Sample": "questions", "SampleAnswer": "questions",
}  # fmt: skip
"""The modules of names that are imported on first use: an executor of plain functions starts without them."""


def __getattr__(name: str) -> object:
    if name not in _AT_FIRST_USE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_AT_FIRST_USE[name]}"), name)
