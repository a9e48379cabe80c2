"""Hosts functions in a harness without AWS, with one valid token and a log in memory."""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from awslambdaric.lambda_runtime_marshaller import (  # pyright: ignore[reportMissingTypeStubs] - it has none
    LambdaMarshaller,
)

from signpost.adapters.clock import SystemClock
from signpost.calling.wire import call_message, parse_reply
from signpost.contract import CallReply, FunctionCall
from signpost.model import Json, JsonObject, Principal
from signpost.schema.validation import Validators
from signpost.toolkit import Context, Function
from signpost.toolkit.context import ContextServices
from signpost.toolkit.function import ExecutorFunctions
from signpost.toolkit.harness import Harness
from signpost.toolkit.hosting import functions_by_id
from signpost.toolkit.log import Log
from signpost.toolkit.ports import KeptResults, NestedCallPort
from signpost.toolkit.secrets import Secrets

type Run = Callable[[], Any] | Callable[[Any], Any] | Callable[[Any, Context], Any]
TOKEN = "the-token"
SOMEBODY = Principal("agent", "acme", "signpost:api-key", frozenset({"writer"}), frozenset({"mail", "read"}))


class KeptLog(Log):
    def __init__(self) -> None:
        super().__init__("executor")
        self.lines: list[dict[str, Any]] = []

    def write_event(self, level: str, message: str, **facts: Json) -> None:
        self.lines.append(json.loads(json.dumps({"level": level, "message": message, **facts})))

    def of(self, message: str) -> Sequence[Mapping[str, Any]]:
        return [line for line in self.lines if line["message"] == message]


class OneToken:
    """Replaces the check of tokens, which has its own tests, and accepts one token."""

    def __init__(self, says: Callable[[], str | None] = lambda: None) -> None:
        self._says = says

    def refusal(self, token: str, call: FunctionCall) -> str | None:
        del call
        return self._says() if token == TOKEN else "invalid_token"


@dataclass(frozen=True)
class SecretsAt:
    """Replaces Secrets Manager."""

    texts: Mapping[str, str]

    def read(self, secret: str) -> str:
        return self.texts[secret]


def secrets_of(texts: Mapping[str, str]) -> Secrets:
    return Secrets({name: name for name in texts}, SecretsAt(texts), SystemClock())


class MemoryKeptResults:
    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}

    def keep(self, key: str, body: bytes) -> None:
        self.kept[key] = body


def as_lambda_sends(answer: JsonObject) -> bytes:
    text, _ = LambdaMarshaller().marshal_response(answer)
    assert isinstance(text, str)
    sent = text.encode()
    assert len(sent) <= 6_291_556
    return sent


def call_of(function: str, arguments: JsonObject | None = None, seconds: float = 60, **more: Any) -> FunctionCall:
    return FunctionCall("call-1", function, arguments or {}, SOMEBODY, time.time() + seconds, **more)


@dataclass
class Hosted:
    functions: Sequence[Function] | Mapping[str, Function]
    tokens: OneToken = field(default_factory=OneToken)
    kept_results: KeptResults | None = None
    nested: NestedCallPort | None = None
    version: str | None = None
    secrets: Mapping[str, str] = field(default_factory=dict[str, str])

    def __post_init__(self) -> None:
        self.log = KeptLog()
        self.harness = Harness(
            ExecutorFunctions(
                self.functions if isinstance(self.functions, Mapping) else functions_by_id(self.functions), self.version
            ),
            tokens=self.tokens,
            clock=SystemClock(),
            validators=Validators(),
            services=ContextServices(self.nested, secrets_of(self.secrets), self.log),
            kept_results=self.kept_results,
        )

    def handle(self, event: Any, remaining_ms: float = 60_000) -> CallReply:
        return parse_reply(as_lambda_sends(self.harness.handle(event, remaining_ms)))

    def call(self, function: str, arguments: JsonObject | None = None, seconds: float = 60, **more: Any) -> CallReply:
        return self.handle(call_message(call_of(function, arguments, seconds, **more), TOKEN))


def running(run: Run, *, isolate: bool = False, **world: Any) -> Hosted:
    """Host this callable as the function `f`."""
    return Hosted([Function("f", run, isolate=isolate)], **world)


def children() -> set[str]:
    """Return the ids of the running child processes. Fixtures of the whole run have some too."""
    found = " ".join(path.read_text() for path in Path("/proc/self/task").glob("*/children")).split()
    return {pid for pid in found if _state(pid) not in ("Z", "")}


def _state(pid: str) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][:1]
    except OSError:
        return ""


def lives(pid: int) -> bool:
    return _state(str(pid)) not in ("Z", "")


def descriptors() -> frozenset[int]:
    """Return the open file descriptors."""
    return frozenset(int(entry.name) for entry in Path("/proc/self/fd").iterdir() if entry.is_symlink())
