"""What two implementations are compared by: everything a client decides on, and no wording."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from tests.support.memory_gateway import GatewayAnswer
from tests.support.oracle import parse_messages


@dataclass(frozen=True, slots=True)
class Sent:
    """A request before it is text."""

    document: Mapping[str, Any]
    headers: dict[str, str]

    @property
    def method(self) -> object:
        return self.document.get("method")

    @property
    def params(self) -> dict[str, Any]:
        return _object(self.document.get("params"))

    @property
    def meta(self) -> dict[str, Any]:
        return _object(self.params.get("_meta"))

    @property
    def version(self) -> str | None:
        """What the header says, as a server reads it."""
        return {name.lower(): value.strip(" \t") for name, value in self.headers.items()}.get("mcp-protocol-version")


@dataclass(frozen=True, slots=True)
class Outcome:
    status: int
    code: int | None = None
    keys: frozenset[str] = frozenset()
    id: object = None
    is_error: bool = False


def _object(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def outcome(status: int, message: Any) -> Outcome:
    """A failed call may carry structured content or not, as its tool pleases: that is no difference."""
    if message is None:
        return Outcome(status)
    if "error" in message:
        return Outcome(status, code=message["error"]["code"], id=message["id"])
    result = message["result"]
    failed = result.get("isError") is True
    keys = frozenset(result) - {"structuredContent"} if failed else frozenset(result)
    return Outcome(status, keys=keys, id=message["id"], is_error=failed)


def outcome_of(answer: GatewayAnswer) -> Outcome:
    messages = parse_messages(answer.headers, answer.text)
    return outcome(answer.status, messages[-1] if messages else None)
