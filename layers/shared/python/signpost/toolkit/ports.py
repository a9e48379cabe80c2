"""What the harness needs from the world."""

from typing import Protocol

from signpost.contract import FunctionCall, Reply
from signpost.model import Json, JsonObject


class TokenCheck(Protocol):
    def refusal(self, token: str, call: FunctionCall) -> str | None:
        """Why the token does not allow the call, as a code of `execution/failures.py`; None if it does."""
        ...


class NestedCalls(Protocol):
    def call(self, token: str, parent: FunctionCall, function: str, arguments: JsonObject) -> Reply:
        """Has the gateway call a function for the one that was called with this token."""
        ...


class SecretTexts(Protocol):
    def read(self, secret: str) -> str:
        """The text of a secret, by its ARN. Raises Unavailable, or Withheld with the reason."""
        ...


class Events(Protocol):
    def event(self, level: str, message: str, **facts: Json) -> None:
        """Writes a line into the log of the executor. Raises nothing."""
        ...


class KeptResults(Protocol):
    def keep(self, key: str, body: bytes) -> None:
        """Puts a result that is too long to be sent where whoever called reads it."""
        ...
