"""Hosts functions in a harness without AWS, with one valid token and a log in memory."""

import json
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from awslambdaric.lambda_runtime_marshaller import (  # pyright: ignore[reportMissingTypeStubs] - it has none
    LambdaMarshaller,
)

from signpost.adapters.alarm import alarm
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
from signpost.toolkit.ports import ContextOperationPort, KeptResults, NestedCallPort
from signpost.toolkit.secrets import Secrets

type HostedCallable = Callable[[], Any] | Callable[[Any], Any] | Callable[[Any, Context], Any]
TOKEN = "the-token"
PRINCIPAL = Principal("agent", "acme", "signpost:api-key", frozenset({"writer"}), frozenset({"mail", "read"}))


class MemoryLog(Log):
    def __init__(self) -> None:
        super().__init__("executor")
        self.lines: list[dict[str, Any]] = []

    def write_event(self, level: str, message: str, **facts: Json) -> None:
        self.lines.append(json.loads(json.dumps({"level": level, "message": message, **facts})))

    def find_lines(self, message: str) -> Sequence[Mapping[str, Any]]:
        return [line for line in self.lines if line["message"] == message]


class SingleTokenCheck:
    """Replaces the check of tokens, which has its own tests, and accepts one token."""

    def __init__(self, says: Callable[[], str | None] = lambda: None) -> None:
        self._says = says

    def refusal(self, token: str, call: FunctionCall) -> str | None:
        del call
        return self._says() if token == TOKEN else "invalid_token"


@dataclass(frozen=True)
class MemorySecrets:
    """Replaces Secrets Manager."""

    texts: Mapping[str, str]

    def read(self, secret: str) -> str:
        return self.texts[secret]


def build_secrets(texts: Mapping[str, str]) -> Secrets:
    return Secrets({name: name for name in texts}, MemorySecrets(texts), SystemClock())


class MemoryKeptResults:
    def __init__(self) -> None:
        self.results: dict[str, bytes] = {}

    def keep(self, key: str, body: bytes) -> None:
        self.results[key] = body


def encode_reply(answer: JsonObject) -> bytes:
    text, _ = LambdaMarshaller().marshal_response(answer)
    assert isinstance(text, str)
    sent = text.encode()
    assert len(sent) <= 6_291_556
    return sent


def build_call(function: str, arguments: JsonObject | None = None, seconds: float = 60, **more: Any) -> FunctionCall:
    return FunctionCall("call-1", function, arguments or {}, PRINCIPAL, time.time() + seconds, **more)


@dataclass
class FunctionHost:
    functions: Sequence[Function] | Mapping[str, Function]
    tokens: SingleTokenCheck = field(default_factory=SingleTokenCheck)
    kept_results: KeptResults | None = None
    nested: NestedCallPort | None = None
    operations: ContextOperationPort | None = None
    version: str | None = None
    secrets: Mapping[str, str] = field(default_factory=dict[str, str])

    def __post_init__(self) -> None:
        self.log = MemoryLog()
        self.harness = Harness(
            ExecutorFunctions(
                self.functions if isinstance(self.functions, Mapping) else functions_by_id(self.functions), self.version
            ),
            tokens=self.tokens,
            clock=SystemClock(),
            validators=Validators(alarm),
            services=ContextServices(self.nested, build_secrets(self.secrets), self.log, operations=self.operations),
            kept_results=self.kept_results,
        )

    def handle(self, event: Any, remaining_ms: float = 60_000) -> CallReply:
        return parse_reply(encode_reply(self.harness.handle(event, remaining_ms)))

    def call(self, function: str, arguments: JsonObject | None = None, seconds: float = 60, **more: Any) -> CallReply:
        """Call a function as a gateway does that knows its manifest."""
        hosted = self.functions if isinstance(self.functions, Mapping) else functions_by_id(self.functions)
        declared = {"callees": hosted[function].hosted.callees} if function in hosted else {}
        return self.handle(call_message(build_call(function, arguments, seconds, **{**declared, **more}), TOKEN))


def host_callable(
    run: HostedCallable, *, isolate: bool = False, calls: Collection[str] = (), **world: Any
) -> FunctionHost:
    """Host this callable as the function `f`."""
    return FunctionHost([Function("f", run, isolate=isolate, calls=calls)], **world)


def list_child_processes() -> set[str]:
    """Return the ids of the running child processes. Fixtures of the whole run have some too."""
    found = " ".join(path.read_text() for path in Path("/proc/self/task").glob("*/children")).split()
    return {pid for pid in found if _state(pid) not in ("Z", "")}


def _state(pid: str) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][:1]
    except OSError:
        return ""


def is_process_alive(pid: int) -> bool:
    return _state(str(pid)) not in ("Z", "")


def list_open_descriptors() -> frozenset[int]:
    """Return the open file descriptors."""
    return frozenset(int(entry.name) for entry in Path("/proc/self/fd").iterdir() if entry.is_symlink())
