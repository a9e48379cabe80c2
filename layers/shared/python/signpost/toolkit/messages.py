"""What a prompt answers: messages, and how they are put into words of MCP."""

from collections.abc import Sequence
from typing import cast

from signpost.model import InputRequired, JsonObject
from signpost.records import dataclass
from signpost.toolkit.answers import Rich
from signpost.toolkit.content import Content
from signpost.toolkit.json_text import NotJson


@dataclass(frozen=True, slots=True)
class Message(Rich):
    """One of a prompt, made by the function that is named for who says it."""

    role: str
    content: JsonObject


@dataclass(frozen=True, slots=True)
class PromptResult(Rich):
    """A whole answer of a prompt, for what its messages do not say."""

    messages: Sequence[Message | Content | str]
    description: str | None = None
    """In the place of the one that its author gave it."""


def user(said: str | Content) -> Message:
    return Message("user", _block(said))


def assistant(said: str | Content) -> Message:
    return Message("assistant", _block(said))


def system(said: str | Content) -> Message:
    """As the user's: MCP has no role for it."""
    return user(said)


def prompt_value(answer: object) -> JsonObject | InputRequired:
    """What goes over the wire. Raises NotJson."""
    if isinstance(answer, InputRequired):
        return answer
    result = answer if isinstance(answer, PromptResult) else PromptResult(_several(answer))
    messages = [_message(one) for one in _several(result.messages)]
    if result.description is None:
        return {"messages": messages}
    if not isinstance(cast("object", result.description), str):
        raise NotJson("the description of its result is no text")
    return {"messages": messages, "description": result.description}


def _several(answer: object) -> Sequence[Message]:
    return cast("Sequence[Message]", answer if isinstance(answer, list | tuple) else (answer,))


def _message(said: object) -> JsonObject:
    message = user(said) if isinstance(said, str | Content) else said
    if not isinstance(message, Message):
        raise NotJson("a prompt answers text, Content, messages of user(…) and assistant(…), or a PromptResult of them")
    return {"role": message.role, "content": message.content}


def _block(said: object) -> JsonObject:
    if isinstance(said, Content):
        return said.block
    if not isinstance(said, str):
        raise ValueError("a message says a text, or Content")  # noqa: TRY004 - as what Content refuses
    return Content.text(said).block
