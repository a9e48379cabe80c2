"""Messages of prompts, and their encoding in the form of MCP."""

from collections.abc import Sequence
from typing import cast

from signpost.model import InputRequired, JsonObject
from signpost.records import dataclass
from signpost.toolkit.answers import RichValue
from signpost.toolkit.content import Content
from signpost.toolkit.json_text import NotJson


@dataclass(frozen=True, slots=True)
class Message(RichValue):
    """A message of a prompt, built by the function named for its role: `user`, `assistant` or `system`."""

    role: str
    content: JsonObject


@dataclass(frozen=True, slots=True)
class PromptResult(RichValue):
    """A complete answer of a prompt, for answers that have a description beside the messages."""

    messages: Sequence[Message | Content | str]
    description: str | None = None
    """Replaces the description of the prompt's declaration."""


def user(content: str | Content) -> Message:
    return Message("user", _content_block(content))


def assistant(content: str | Content) -> Message:
    return Message("assistant", _content_block(content))


def system(content: str | Content) -> Message:
    """Build a message of the user: MCP has no role `system`."""
    return user(content)


def prompt_value(answer: object) -> JsonObject | InputRequired:
    """Encode the answer of a prompt in the form of MCP. Raises NotJson."""
    if isinstance(answer, InputRequired):
        return answer
    result = answer if isinstance(answer, PromptResult) else PromptResult(_as_sequence(answer))
    messages = [_message_object(message) for message in _as_sequence(result.messages)]
    if result.description is None:
        return {"messages": messages}
    if not isinstance(cast("object", result.description), str):
        raise NotJson("the description of the PromptResult must be a text")
    return {"messages": messages, "description": result.description}


def _as_sequence(answer: object) -> Sequence[Message]:
    return cast("Sequence[Message]", answer if isinstance(answer, list | tuple) else (answer,))


def _message_object(value: object) -> JsonObject:
    message = user(value) if isinstance(value, str | Content) else value
    if not isinstance(message, Message):
        raise NotJson("a prompt must answer text, Content, messages of user(…) and assistant(…), or a PromptResult")
    return {"role": message.role, "content": message.content}


def _content_block(content: object) -> JsonObject:
    if isinstance(content, Content):
        return content.block
    if not isinstance(content, str):
        raise ValueError("a message must be a text or Content")  # noqa: TRY004 - as the refusals of Content
    return Content.text(content).block
