"""The registry functions on stores in memory, with executors that are functions of the test."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, override

from hypothesis import strategies as st

from signpost.adapters.memory import (
    FunctionTable,
    MemoryBodies,
    MemoryContentStore,
    MemoryDirectory,
    MemoryFunctionStates,
    MemoryPlacedFunctions,
    MemoryRevisionRows,
    MemoryRuntimeSettings,
)
from signpost.content import Layers, Skill, StoredPrompt
from signpost.contract import Executor, Failure, Hosted, KeptResult, Reply, Request, Result
from signpost.execution.failures import failure
from signpost.execution.function_access import FunctionAccess
from signpost.execution.functions import FunctionLists, FunctionView
from signpost.execution.revisions import RevisionView
from signpost.model import InputRequired, Json, JsonObject, Principal
from signpost.policy.access import Unrestricted
from signpost.registry.callers import Caller
from signpost.registry.functions import RegistryFunctions
from signpost.registry.handlers import Handlers
from signpost.registry.prompts import Prompts
from signpost.registry.refusals import Refused
from signpost.registry.skills import Skills
from signpost.registry.view import ContentView
from tests.support.memory_gateway import SetClock

type Answers = Callable[[JsonObject], Json] | Reply | Json
TENANT = "acme"
SOMEBODY = Principal("agent", TENANT, "signpost:api-key")
TIME = 20.0
"""Seconds a caller has."""
SEGMENTS = st.text("abfnz09-_", min_size=1, max_size=64)
SKILL_IDS = st.lists(SEGMENTS, min_size=1, max_size=8).map("/".join).filter(lambda text: text.split("/")[0] != "fn")


class CountedContent(MemoryContentStore):
    """Counts what it is asked."""

    def __init__(self, table: FunctionTable) -> None:
        super().__init__(table)
        self.asked: list[str] = []

    @override
    def versions(self, tenant: str) -> tuple[int, int, str | None, str | None]:
        self.asked.append("versions")
        return super().versions(tenant)

    @override
    def skill(self, tenant: str, skill_id: str) -> Layers[Skill]:
        self.asked.append("skill")
        return super().skill(tenant, skill_id)

    @override
    def prompt(self, tenant: str, name: str) -> Layers[StoredPrompt]:
        self.asked.append("prompt")
        return super().prompt(tenant, name)

    @override
    def skills(self, tenant: str | None) -> Any:
        self.asked.append(f"skills of {tenant}")
        return super().skills(tenant)

    @override
    def prompts(self, tenant: str | None) -> Any:
        self.asked.append(f"prompts of {tenant}")
        return super().prompts(tenant)

    @override
    def apply(self, tenant: str | None, changes: Any) -> Any:
        self.asked.append("apply")
        return super().apply(tenant, changes)


class CountedBodies(MemoryBodies):
    def __init__(self) -> None:
        super().__init__()
        self.kept: list[str] = []
        self.reads: list[str] = []

    @override
    def keep(self, tenant: str | None, digest: str, body: bytes) -> None:
        self.kept.append(digest)
        super().keep(tenant, digest, body)

    @override
    def read(self, tenant: str | None, digest: str) -> bytes:
        self.reads.append(digest)
        return super().read(tenant, digest)


@dataclass
class RecordingExecutors:
    functions: dict[str, Answers]
    requests: list[Request]

    def invoke(self, request: Request) -> Reply:
        if request.function not in self.functions:
            return failure("unknown_function", request.function)
        self.requests.append(request)
        answers = self.functions[request.function]
        answer = answers(request.arguments) if callable(answers) else answers
        return answer if isinstance(answer, Result | KeptResult | InputRequired | Failure) else Result(answer)


class CountingTimestamps:
    def __init__(self) -> None:
        self._given = 0

    def now(self) -> str:
        self._given += 1
        return f"2026-11-18T12:00:00.{self._given:06}+00:00"


class Registry:
    def __init__(self) -> None:
        table = FunctionTable()
        self.clock = SetClock()
        self.content = CountedContent(table)
        self.bodies = CountedBodies()
        self.executors = RecordingExecutors({}, [])
        self.settings = MemoryRuntimeSettings(table)
        self._directory = MemoryDirectory(table)
        revisions = RevisionView(rows=MemoryRevisionRows(self.content), clock=self.clock)
        self.view = ContentView(content=self.content, revisions=revisions)
        functions = FunctionView(states=MemoryFunctionStates(table), clock=self.clock)
        everybody = Unrestricted()
        lists = FunctionLists(placed=MemoryPlacedFunctions(table), revisions=revisions)
        access = FunctionAccess(accesses=everybody, lists=lists)
        handlers = Handlers(functions=functions, executors=self.executors, access=access, clock=self.clock)
        timestamps = CountingTimestamps()
        self.skills = Skills(
            content=self.content,
            bodies=self.bodies,
            view=self.view,
            handlers=handlers,
            accesses=everybody,
            timestamps=timestamps,
        )
        self.prompts = Prompts(
            content=self.content, view=self.view, handlers=handlers, accesses=everybody, timestamps=timestamps
        )
        self.functions = RegistryFunctions(skills=self.skills, prompts=self.prompts)

    def caller(self, tenant: str | None = TENANT, *, fresh: bool = True, seconds: float = TIME) -> Caller:
        principal = Principal("agent", tenant or TENANT, "signpost:api-key")
        return Caller(tenant, principal, self.clock.now() + seconds, fresh=fresh)

    def host(self, function: str, answers: Answers, *, readable: bool = True, tenant: str | None = TENANT) -> None:
        self.executors.functions[function] = answers
        executor = Executor(f"arn:{function}", "arn:keys", 900_000)
        self._directory.place(tenant, executor, [Hosted(function, readable=readable)])

    def call(self, function: str, payload: Json = None, tenant: str | None = TENANT) -> Any:
        """The answer of a call that succeeds."""
        answer = self.functions.call(function, {} if payload is None else payload, self.caller(tenant))
        assert not isinstance(answer, Refused), answer
        return answer

    def refusal(self, function: str, payload: Json = None, tenant: str | None = TENANT) -> Refused:
        answer = self.functions.call(function, {} if payload is None else payload, self.caller(tenant))
        assert isinstance(answer, Refused), answer
        return answer

    def read(self, uri: str, tenant: str | None = TENANT) -> str:
        return self.call("skills::resources-read", {"uri": uri}, tenant)["contents"][0]["text"]

    def called(self) -> list[tuple[str, JsonObject]]:
        return [(request.function, request.arguments) for request in self.executors.requests]
