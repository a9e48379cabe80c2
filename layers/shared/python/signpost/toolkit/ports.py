"""Ports of the harness: the services of an executor's environment."""

from typing import Protocol

from signpost.contract import CallReply, FunctionCall
from signpost.model import Json, JsonObject


class TokenCheck(Protocol):
    def refusal(self, token: str, call: FunctionCall) -> str | None:
        """Check that the token allows the call. Return a code of `calling/failures.py` if it does not, else None."""
        ...


class NestedCallPort(Protocol):
    def call(self, token: str, parent: FunctionCall, function: str, arguments: JsonObject) -> CallReply:
        """Have the gateway call another function on behalf of the function that was called with this token."""
        ...


class ContextOperationPort(Protocol):
    def perform(self, token: str, call: FunctionCall, action: str, fields: JsonObject) -> CallReply:
        """Have the gateway perform a context operation for the function that was called with this token."""
        ...


class SecretTexts(Protocol):
    def read(self, secret: str) -> str:
        """Read the text of a secret by its ARN. Raises Unavailable, or PermanentlyUnavailable with the reason."""
        ...


class EventLog(Protocol):
    def write_event(self, level: str, message: str, **facts: Json) -> None:
        """Write a line to the log of the executor. Raises nothing."""
        ...


class KeptResults(Protocol):
    def keep(self, key: str, body: bytes) -> None:
        """Store a result that is too large to be sent at the key where the gateway reads it."""
        ...
