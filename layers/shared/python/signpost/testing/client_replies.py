"""The replies that a test client gets, and the questions that were asked on the way."""

from collections.abc import Mapping, Sequence

from signpost.model import Json, JsonObject, as_object
from signpost.records import dataclass

CONTENT_MEMBERS = ("content", "messages", "contents")
"""What the results of tools, of prompts and of resources hold; a result has one of them."""


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A question that a client was asked, with its answer."""

    key: str
    method: str
    """Such as `elicitation/create`."""
    params: JsonObject
    round: int
    """1 for the questions of the first answer to a request."""
    answer: Json
    """What the client answered; None if it left the question open."""

    @property
    def message(self) -> str:
        """The sentence of a form or a page that the client shows to its user."""
        return str(self.params.get("message", ""))


@dataclass(frozen=True, slots=True)
class ClientReply:
    """The last reply to a request of a client, after all rounds of questions."""

    method: str
    params: JsonObject
    """The request, without answers to questions."""
    status: int
    """The HTTP status."""
    message: JsonObject
    """The JSON-RPC message; empty if the body was empty."""
    notifications: Sequence[JsonObject] = ()
    """The notifications before it, those of all rounds."""
    asked: Sequence[AskedQuestion] = ()
    """The questions of all rounds that were followed by another one."""
    rounds: int = 1
    """The number of times that the request was sent."""
    fault: str = ""
    """The fault that the log of the executor shows: the exception of a function, or where its result departs from its
    schema. No client sees it."""

    @property
    def error(self) -> JsonObject | None:
        """The JSON-RPC error: `code`, `message`, `data`."""
        return as_object(self.message["error"]) if "error" in self.message else None

    @property
    def is_input_required(self) -> bool:
        return self._result.get("resultType") == "input_required"

    @property
    def questions(self) -> Mapping[str, JsonObject]:
        """The open questions by their keys, each with `method` and `params`."""
        return {key: as_object(question) for key, question in as_object(self._result.get("inputRequests")).items()}

    @property
    def result(self) -> JsonObject:
        """The result. Raises AssertionError if the reply is an error or asks a question first."""
        if self.error is not None:
            raise AssertionError(f"{self.method} failed: {self.error.get('code')} {self.error.get('message')}")
        if self.is_input_required:
            raise AssertionError(f"{self.method} asked for {', '.join(self.questions) or 'another try'} first.")
        return self._result

    @property
    def is_error(self) -> bool:
        """Whether the request failed: by a result that is an error, or by a JSON-RPC error."""
        return self.error is not None or self._result.get("isError") is True

    @property
    def structured(self) -> JsonObject | None:
        """The structured content of a tool."""
        value = self.result.get("structuredContent")
        return value if isinstance(value, Mapping) else None

    @property
    def content(self) -> Sequence[JsonObject]:
        """The content blocks of a tool, the messages of a prompt or the contents of a resource."""
        return [item for member in CONTENT_MEMBERS for item in objects_in(self.result, member)]

    @property
    def text(self) -> str:
        """All texts that the client shows to its user, or the message of an error."""
        if self.error is not None:
            return str(self.error.get("message"))
        return "\n".join(str(text) for item in self.content if (text := _find_text(item)) is not None)

    @property
    def progress(self) -> Sequence[JsonObject]:
        """The progress that the client was notified of: `progress`, `total`, `message`."""
        return [_without(params, "progressToken") for params in self._notified("notifications/progress")]

    @property
    def logs(self) -> Sequence[JsonObject]:
        """The log messages that the client was notified of: `level`, `logger`, `data`."""
        return self._notified("notifications/message")

    @property
    def _result(self) -> JsonObject:
        return as_object(self.message.get("result"))

    def _notified(self, method: str) -> Sequence[JsonObject]:
        return [as_object(sent.get("params")) for sent in self.notifications if sent.get("method") == method]


def objects_in(message: JsonObject, member: str) -> Sequence[JsonObject]:
    """Return the objects of a list in a message; none if there is no such list."""
    found = message.get(member)
    return [as_object(item) for item in found] if isinstance(found, Sequence) and not isinstance(found, str) else []


def _find_text(item: JsonObject) -> Json:
    return item.get("text", as_object(item.get("content")).get("text"))


def _without(members: JsonObject, name: str) -> JsonObject:
    return {key: value for key, value in members.items() if key != name}
