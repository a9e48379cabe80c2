"""The registry functions on stores in memory, with callables of the test as executors."""

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
from signpost.calling.failures import failure
from signpost.calling.function_access import FunctionAccess
from signpost.calling.lookup import FunctionLists, FunctionView
from signpost.content.api.errors import RegistryRefusal
from signpost.content.api.functions import RegistryFunctions
from signpost.content.cache import ContentView
from signpost.content.callers import Caller
from signpost.content.document_access import DocumentAccess
from signpost.content.documents import Skills
from signpost.content.handlers import Handlers
from signpost.content.model import Layers, Skill, StoredPrompt
from signpost.content.prompts import Prompts
from signpost.contract import CallReply, CallRequest, Executor, Failure, HostedFunction, KeptResult, Result
from signpost.list_revisions import RevisionView
from signpost.model import InputRequired, Json, JsonObject, Principal
from signpost.policy.access import UnrestrictedAccess
from tests.support.memory_gateway import ManualClock

type FunctionAnswer = Callable[[JsonObject], Json] | CallReply | Json
TENANT = "acme"
PRINCIPAL = Principal("agent", TENANT, "signpost:api-key")
CALLER_SECONDS = 20.0
"""Seconds until the deadline of a caller."""
SEGMENTS = st.text("abfnz09-_", min_size=1, max_size=64)
SKILL_IDS = st.lists(SEGMENTS, min_size=1, max_size=8).map("/".join).filter(lambda text: text.split("/")[0] != "fn")


class RecordingContent(MemoryContentStore):
    """Records the names of the methods that are called."""

    def __init__(self, table: FunctionTable) -> None:
        super().__init__(table)
        self.called_methods: list[str] = []

    @override
    def versions(self, tenant: str) -> tuple[int, int, str | None, str | None]:
        self.called_methods.append("versions")
        return super().versions(tenant)

    @override
    def skill(self, tenant: str, skill_id: str) -> Layers[Skill]:
        self.called_methods.append("skill")
        return super().skill(tenant, skill_id)

    @override
    def prompt(self, tenant: str, name: str) -> Layers[StoredPrompt]:
        self.called_methods.append("prompt")
        return super().prompt(tenant, name)

    @override
    def skills(self, tenant: str | None) -> Any:
        self.called_methods.append(f"skills of {tenant}")
        return super().skills(tenant)

    @override
    def prompts(self, tenant: str | None) -> Any:
        self.called_methods.append(f"prompts of {tenant}")
        return super().prompts(tenant)

    @override
    def apply(self, tenant: str | None, changes: Any) -> Any:
        self.called_methods.append("apply")
        return super().apply(tenant, changes)


class RecordingBodies(MemoryBodies):
    def __init__(self) -> None:
        super().__init__()
        self.kept_digests: list[str] = []
        self.read_digests: list[str] = []

    @override
    def keep(self, tenant: str | None, digest: str, body: bytes) -> None:
        self.kept_digests.append(digest)
        super().keep(tenant, digest, body)

    @override
    def read(self, tenant: str | None, digest: str) -> bytes:
        self.read_digests.append(digest)
        return super().read(tenant, digest)


@dataclass
class RecordingExecutors:
    functions: dict[str, FunctionAnswer]
    requests: list[CallRequest]

    def invoke(self, request: CallRequest) -> CallReply:
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


class MemoryRegistry:
    def __init__(self) -> None:
        table = FunctionTable()
        self.clock = ManualClock()
        self.content = RecordingContent(table)
        self.bodies = RecordingBodies()
        self.executors = RecordingExecutors({}, [])
        self.settings = MemoryRuntimeSettings(table)
        self._directory = MemoryDirectory(table)
        revisions = RevisionView(rows=MemoryRevisionRows(self.content), clock=self.clock)
        self.view = ContentView(content=self.content, revisions=revisions)
        functions = FunctionView(states=MemoryFunctionStates(table), clock=self.clock)
        unrestricted = UnrestrictedAccess()
        lists = FunctionLists(placed=MemoryPlacedFunctions(table), revisions=revisions)
        self.function_lists = lists
        access = FunctionAccess(accesses=unrestricted, lists=lists)
        self.document_access = DocumentAccess(access)
        handlers = Handlers(functions=functions, executors=self.executors, access=access, clock=self.clock)
        timestamps = CountingTimestamps()
        self.skills = Skills(
            content=self.content,
            bodies=self.bodies,
            view=self.view,
            handlers=handlers,
            access=self.document_access,
            timestamps=timestamps,
        )
        self.prompts = Prompts(
            content=self.content, view=self.view, handlers=handlers, accesses=unrestricted, timestamps=timestamps
        )
        self.functions = RegistryFunctions(skills=self.skills, prompts=self.prompts)

    def make_caller(
        self, tenant: str | None = TENANT, *, fresh: bool = True, seconds: float = CALLER_SECONDS
    ) -> Caller:
        principal = Principal("agent", tenant or TENANT, "signpost:api-key")
        return Caller(tenant, principal, self.clock.now() + seconds, fresh=fresh)

    def host(
        self,
        function: str,
        answers: FunctionAnswer,
        *,
        readable: bool = True,
        exposed: bool = False,
        tenant: str | None = TENANT,
    ) -> None:
        self.executors.functions[function] = answers
        executor = Executor(f"arn:{function}", "arn:keys", 900_000)
        self._directory.place(tenant, executor, [HostedFunction(function, readable=readable, exposed=exposed)])

    def call(self, function: str, payload: Json = None, tenant: str | None = TENANT) -> Any:
        """Return the answer of a call that must succeed."""
        answer = self.functions.call(function, {} if payload is None else payload, self.make_caller(tenant))
        assert not isinstance(answer, RegistryRefusal), answer
        return answer

    def expect_refusal(self, function: str, payload: Json = None, tenant: str | None = TENANT) -> RegistryRefusal:
        answer = self.functions.call(function, {} if payload is None else payload, self.make_caller(tenant))
        assert isinstance(answer, RegistryRefusal), answer
        return answer

    def read(self, uri: str, tenant: str | None = TENANT) -> str:
        return self.call("skills::resources-read", {"uri": uri}, tenant)["contents"][0]["text"]

    def list_calls(self) -> list[tuple[str, JsonObject]]:
        return [(request.function, request.arguments) for request in self.executors.requests]
