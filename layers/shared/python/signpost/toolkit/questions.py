"""The questions that a function can ask the client of its call, and the answers as the function gets them.

A question is checked when it is built: one that stands in a module fails its import.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any, Protocol, cast

from signpost.calling.client_answers import AnswerSorter
from signpost.calling.questions import find_request_fault
from signpost.model import Json, JsonObject, as_object
from signpost.records import dataclass
from signpost.schema.validation import Validators
from signpost.toolkit.answers import ArgumentsRefused, QuestionRefused
from signpost.toolkit.content import Content
from signpost.toolkit.deadline import nested_alarm
from signpost.toolkit.fields import FieldSpecReader
from signpost.toolkit.json_text import NotJson, json_of
from signpost.toolkit.messages import Message, user
from signpost.toolkit.schemas import CastSchema, CastSchemaRefused, read_schema

ACCEPTED = "accept"
_SORTER = AnswerSorter(Validators(nested_alarm))
_UNSENT_MEMBERS = ("title", "description", "additionalProperties")
"""The members of a schema that forms do not have. A client fills in no other fields than those of the form."""


@dataclass(frozen=True, slots=True)
class ElicitAnswer:
    """The answer to a form or a page. It is true if the user accepted."""

    action: str
    """`accept`, `decline` or `cancel`."""
    content: Any = None
    """The content of an accepted form, cast as arguments are; None for a page, or if the user did not accept."""

    def __bool__(self) -> bool:
        return self.action == ACCEPTED


@dataclass(frozen=True, slots=True)
class SampleAnswer:
    """The message that the model of the client wrote."""

    content: Sequence[JsonObject]
    """Its content blocks."""
    model: str
    role: str
    stop_reason: str | None = None

    @property
    def text(self) -> str:
        """The texts of the message."""
        return "\n".join(str(block["text"]) for block in self.content if block.get("type") == "text")


@dataclass(frozen=True, slots=True)
class Root:
    """A folder or file that the client works on."""

    uri: str
    name: str | None = None


class Ask(Protocol):
    """A question of any kind."""

    @property
    def request(self) -> JsonObject:
        """The request to the client, in the form of MCP."""
        ...

    def read(self, answer: JsonObject) -> Any:
        """Read an answer that fits the request. Raises ArgumentsRefused if it has no form in the types of the author's
        code."""
        ...


@dataclass(frozen=True, slots=True)
class Elicit:
    """A form for the user. `fields` has any form in which tools declare their input."""

    message: str
    fields: object
    _form: CastSchema = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_form", _read_form(self.fields))
        _check_request(self.request)

    @property
    def request(self) -> JsonObject:
        schema = {name: value for name, value in self._form.schema.items() if name not in _UNSENT_MEMBERS}
        return {"method": "elicitation/create", "params": {"message": self.message, "requestedSchema": schema}}

    def read(self, answer: JsonObject) -> ElicitAnswer:
        action = str(answer["action"])
        return ElicitAnswer(action, self._form.deliver(answer.get("content")) if action == ACCEPTED else None)


@dataclass(frozen=True, slots=True)
class ElicitUrl:
    """A page that the user opens, such as one where a secret is entered. An accepting user agreed to open it, no
    more."""

    message: str
    url: str

    def __post_init__(self) -> None:
        _check_request(self.request)

    @property
    def request(self) -> JsonObject:
        return {"method": "elicitation/create", "params": {"mode": "url", "message": self.message, "url": self.url}}

    def read(self, answer: JsonObject) -> ElicitAnswer:
        return ElicitAnswer(str(answer["action"]))


@dataclass(frozen=True, slots=True)
class Sample:
    """A message for the model of the client."""

    messages: object
    """A text, Content, or messages of `user(…)` and `assistant(…)`; one, or a list of them."""
    max_tokens: int = 1000
    system: str | None = None
    options: Mapping[str, object] = field(default_factory=dict[str, object])
    """Further members in the terms of MCP, such as `temperature`, `stopSequences`, `modelPreferences` and `tools`."""

    def __post_init__(self) -> None:
        _check_request(self.request)

    @property
    def request(self) -> JsonObject:
        system = {} if self.system is None else {"systemPrompt": self.system}
        fixed = {"messages": _messages_of(self.messages), "maxTokens": self.max_tokens, **system}
        return {"method": "sampling/createMessage", "params": _json_object({**self.options, **fixed})}

    def read(self, answer: JsonObject) -> SampleAnswer:
        content, reason = answer["content"], answer.get("stopReason")
        blocks = content if isinstance(content, list) else [content]
        return SampleAnswer(
            [as_object(block) for block in blocks],
            str(answer["model"]),
            str(answer["role"]),
            reason if isinstance(reason, str) else None,
        )


@dataclass(frozen=True, slots=True)
class Roots:
    """A question for the folders and files that the client works on."""

    @property
    def request(self) -> JsonObject:
        return {"method": "roots/list", "params": {}}

    def read(self, answer: JsonObject) -> tuple[Root, ...]:
        roots = [as_object(root) for root in cast("Sequence[Json]", answer["roots"])]
        return tuple(Root(str(root["uri"]), _name_of(root)) for root in roots)


def read_answer(ask: Ask, answer: Json) -> tuple[Any] | None:
    """Read a recorded answer; None if there is none that fits this question."""
    fitting = _SORTER.sort({"": ask.request}, {"": answer}).accepted
    try:
        return (ask.read(fitting[""]),) if fitting else None
    except ArgumentsRefused:
        return None


def _read_form(fields: object) -> CastSchema:
    if local := [name for name, spec in _specs_of(fields) if spec == "local_datetime"]:
        raise QuestionRefused(f"the field {local[0]!r} of the form is a local_datetime, which forms do not have")
    try:
        return read_schema(fields, FieldSpecReader())
    except CastSchemaRefused as fault:
        raise QuestionRefused(f"the form is refused: {fault}") from fault


def _specs_of(fields: object) -> Iterator[tuple[str, object]]:
    """Yield the name and the type of each field that a field spec names."""
    if not isinstance(fields, Mapping):
        return
    for name, spec in cast("Mapping[str, object]", fields).items():
        yield name, cast("Mapping[str, object]", spec).get("type") if isinstance(spec, Mapping) else spec


def _check_request(request: JsonObject) -> None:
    """Check that a client may be asked this. Raises QuestionRefused."""
    try:
        fault = find_request_fault(as_object(json_of(request)))
    except NotJson as refused:
        raise QuestionRefused(f"the question has no form in JSON: {refused}") from refused
    if fault is not None:
        raise QuestionRefused(f"the question {fault}")


def _messages_of(messages: object) -> Sequence[JsonObject]:
    listed = cast("Sequence[object]", messages if isinstance(messages, list | tuple) else [messages])
    return [_message_object(message) for message in listed]


def _message_object(message: object) -> JsonObject:
    built = user(message) if isinstance(message, str | Content) else message
    if not isinstance(built, Message):
        raise QuestionRefused("the messages must be texts, Content, or messages of user(…) and assistant(…)")
    return {"role": built.role, "content": built.content}


def _json_object(members: object) -> JsonObject:
    try:
        return as_object(json_of(members))
    except NotJson as refused:
        raise QuestionRefused(f"the question has no form in JSON: {refused}") from refused


def _name_of(root: JsonObject) -> str | None:
    name = root.get("name")
    return name if isinstance(name, str) else None
