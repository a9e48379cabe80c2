"""Functions behind a gateway in memory whose context operations reach its nested calls function, over a connection that
tests interrupt."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from signpost.adapters.memory import MemoryDirectory, MemoryMasterKeys
from signpost.calling.wire import parse_reply, reply_message
from signpost.contract import CallClient, CallReply, CallRequest, Executor, TransportFailure
from signpost.directory.manifest import parse_manifest
from signpost.model import JsonObject, MasterKeys, Principal
from signpost.signing.capability_tokens import TokenVerifier, derive_executor_key
from signpost.signing.key_ring import KeyRing
from signpost.toolkit import Function, Toolkit
from signpost.toolkit.gateway_calls import GatewayCalls
from signpost.toolkit.hosting import functions_by_id
from tests.support.crash_points import CrashPoints
from tests.support.function_host import FunctionHost, encode_reply
from tests.support.memory_gateway import MemoryGateway

NESTED_CALLS_ARN = "arn:nested-calls"
DESK = Executor("arn:desk", "secret:desk", 60_000)
ANN = Principal("ann", "default", "signpost:test", permissions=frozenset({"mail"}))


class InterruptedTransport:
    """Brings the requests of an executor to the nested calls function. It loses those that a test names."""

    def __init__(self, gateway: MemoryGateway) -> None:
        self.gateway = gateway
        self.lost_before: dict[str, int] = {}
        """How many requests of an action are lost on their way, by action."""
        self.lost_after: dict[str, int] = {}
        """How many answers to an action are lost."""
        self.refused: dict[str, str] = {}
        """Codes of transport failures, by action."""
        self.actions: list[str] = []
        """The actions of the requests that were sent, in their order."""
        self.points = CrashPoints()
        self.answer: Callable[[], CallReply] | None = None
        """Answers in place of the nested calls function."""

    def send(self, function_arn: str, payload: bytes, give_up_at: float) -> bytes | TransportFailure:
        assert function_arn == NESTED_CALLS_ARN
        del give_up_at
        event: Any = json.loads(payload)
        action = str(event["call"].get("action", "nested"))
        self.actions.append(action)
        if action in self.refused:
            return TransportFailure(self.refused[action])
        if _takes_one(self.lost_before, action):
            return TransportFailure("connection_lost")
        if self.answer is not None:
            return encode_reply(reply_message(self.answer()))
        answer = self.points.call(action, lambda: encode_reply(self.gateway.handle_nested(event)))
        return TransportFailure("connection_lost") if _takes_one(self.lost_after, action) else answer


def _takes_one(losses: dict[str, int], action: str) -> bool:
    left = losses.get(action, 0)
    losses[action] = max(left - 1, 0)
    return left > 0


class StatefulFunctions:
    """Hosts functions behind a gateway, with real tokens."""

    def __init__(
        self,
        *hosts: Toolkit | Function,
        gateway: MemoryGateway | None = None,
        executor: Executor = DESK,
        tenant: str = "default",
        secrets: Mapping[str, str] | None = None,
    ) -> None:
        self.gateway = gateway or MemoryGateway()
        self.transport = InterruptedTransport(self.gateway)
        self.executor = executor
        calls = GatewayCalls(self.transport, NESTED_CALLS_ARN)
        self.host = FunctionHost(
            list(functions_by_id(hosts).values()),
            tokens=self._build_verifier(),
            nested=calls,
            operations=calls,
            secrets=secrets or {},
        )
        self.gateway.executors[executor.arn] = lambda event: self.host.harness.handle(event, 60_000)
        manifest = self.host.harness.handle({"signpost": 1, "operation": "manifest"}, 1000)
        functions = parse_manifest(encode_reply(manifest)).functions
        assert MemoryDirectory(self.gateway.functions).place(tenant, executor, functions) == []

    def _build_verifier(self) -> Any:
        master = self.gateway.adapters.master_keys.read()
        own = MasterKeys(derive_executor_key(master.current, self.executor.arn))
        return TokenVerifier(
            KeyRing(store=MemoryMasterKeys(own), clock=self.clock),
            clock=self.clock,
        )

    @property
    def clock(self) -> Any:
        return self.gateway.clock

    def call(
        self,
        function: str,
        arguments: JsonObject | None = None,
        *,
        thread: str = "t1",
        principal: Principal = ANN,
        seconds: float = 20,
        **members: Any,
    ) -> CallReply:
        """Call a function in a thread, as a round of a request or an attempt of a step."""
        request = CallRequest(
            function,
            arguments or {},
            principal,
            self.clock.now() + seconds,
            client=CallClient(thread=thread),
            **members,
        )
        return self.gateway.composition.calling.executors.invoke(request)

    def perform(self, token: str, action: str, fields: Mapping[str, Any]) -> CallReply:
        """Send a context operation with a token, as any code of an executor can."""
        message = {"signpost": 1, "operation": "context", "token": token}
        event = {**message, "call": {"id": "x", "action": action, "fields": dict(fields)}}
        return parse_reply(encode_reply(self.gateway.handle_nested(json.loads(json.dumps(event)))))
