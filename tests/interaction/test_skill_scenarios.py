"""Which skill has which name, what each may do, and what is left of that when they call each other: the promises of
AlexClaw's registry and skill API, as real functions keep them."""

import json
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from core_skills.hosted import core_toolkits
from signpost.adapters.alarm import alarm
from signpost.adapters.memory import MemoryDirectory, MemoryMasterKeys
from signpost.calling.function_ids import is_function_id
from signpost.calling.lookup import NOTHING_KNOWN
from signpost.contract import CallReply, CallRequest, Executor, Failure, HostedFunction, Result
from signpost.directory.keys import keys_of
from signpost.directory.manifest import parse_manifest
from signpost.model import JsonObject, Principal
from signpost.schema.validation import Validators
from signpost.signing.capability_tokens import TokenVerifier
from signpost.signing.key_ring import KeyRing
from signpost.toolkit import CallFailed, Context, Function, ToolError
from signpost.toolkit.context import ContextServices
from signpost.toolkit.function import ExecutorFunctions
from signpost.toolkit.gateway_calls import GatewayCalls
from signpost.toolkit.harness import Harness
from signpost.toolkit.hosting import functions_by_id
from tests.support.function_host import FunctionHost as Hosts
from tests.support.function_host import MemoryLog, build_secrets, encode_reply, host_callable
from tests.support.function_tools import SHELF, TENANT, FunctionToolClient
from tests.support.memory_gateway import MODERN, MemoryGateway

AGENT = Principal("agent", TENANT, "signpost:api-key")
YARD_IDS = tuple(f"yard::{name}" for name in ("a", "b", "c", "d", "e", "fails"))
YARD = Executor("arn:yard", "secret:yard", 60_000)
FLAT = "/mcp/flat"
CORE = {
    "http_fetch": "core::http_fetch",
    "json_transform": "core::json_transform",
    "template_render": "core::template_render",
    "wait": "core::wait",
    "web_search": "core::web_search",
}
WANTS: Mapping[str, JsonObject] = {
    "http_fetch": {"url": "https://a.test"},
    "json_transform": {"data": {}, "expression": "a"},
    "template_render": {"template": "", "values": {}},
    "wait": {"seconds": 0},
    "web_search": {"query": "rain"},
}
NAMED_BY_ALEXCLAW = (
    "llm", "telegram_send", "gateway_send", "memory_read", "memory_write", "knowledge_read", "knowledge_write",
    "web_read", "config_read", "resources_read", "skill_invoke", "skill_write", "skill_manage", "workflow_manage",
)  # fmt: skip

type Run = Callable[[Any, Context], Any]


class RealFunctions:
    """A gateway, and an executor with real functions behind real tokens, which call each other through it."""

    def __init__(self, *functions: Function, tenant: str | None = TENANT) -> None:
        self.gateway = MemoryGateway()
        self.called: list[str] = []
        hosted = functions_by_id(functions)
        keys = MemoryMasterKeys(keys_of(YARD.arn, self.gateway.adapters.master_keys.read()))
        self._harness = Harness(
            ExecutorFunctions(hosted),
            tokens=TokenVerifier(KeyRing(store=keys, clock=self.gateway.clock), clock=self.gateway.clock),
            clock=self.gateway.clock,
            validators=Validators(alarm),
            services=ContextServices(GatewayCalls(self, "arn:gateway"), build_secrets({}), MemoryLog()),
        )
        self.gateway.executors[YARD.arn] = self._run
        directory = MemoryDirectory(self.gateway.functions)
        assert directory.place(tenant, YARD, [one.hosted for one in hosted.values()]) == []

    def _run(self, message: Any) -> JsonObject:
        self.called.append(message["call"]["function"])
        return self._harness.handle(message, 60_000)

    def send(self, function_arn: str, payload: bytes, give_up_at: float) -> bytes:
        """From a function to the gateway."""
        del function_arn, give_up_at
        return encode_reply(self.gateway.handle_nested(json.loads(payload)))

    def call(self, function: str, principal: Principal = AGENT) -> CallReply:
        ends_at = self.gateway.clock.now() + 25
        return self.gateway.composition.calling.executors.invoke(CallRequest(function, {}, principal, ends_at))

    def value(self, function: str, principal: Principal = AGENT) -> Any:
        reply = self.call(function, principal)
        assert isinstance(reply, Result), reply
        return reply.value


def skill(function: str, run: Run, *permissions: str, calls: Sequence[str] = YARD_IDS) -> Function:
    return Function(function, run, permissions=permissions, calls=calls)


def report_permissions(_args: Any, ctx: Context) -> Any:
    """What a function may do now, and how far it is from who called first."""
    return {"permissions": sorted(ctx.permissions), "depth": ctx.depth}


def report_missing_permissions(names: Sequence[str]) -> Run:
    """Which of these permissions it was not granted."""

    def run(_args: Any, ctx: Context) -> Any:
        refused: list[str] = []
        for name in names:
            try:
                ctx.require(name)
            except ToolError as denied:
                refused += [one for one in NAMED_BY_ALEXCLAW if f"`{one}`" in denied.message]
        return refused

    return run


def code(reply: CallReply) -> str:
    assert isinstance(reply, Failure)
    return reply.code


class TestNames:
    def shelves(self) -> FunctionToolClient:
        """What every deployment has, and two functions of the tenant's own."""
        client = FunctionToolClient(MODERN, FLAT)
        shipped = [function.hosted for function in _core()]
        assert client.directory.place(None, SHELF, shipped) == []
        client.host(HostedFunction("yard::zebra"), HostedFunction("yard::ape", name="a.given.name"))
        return client

    def test_s171_every_listed_name_calls_its_function(self) -> None:
        client = self.shelves()
        skills = [name for name in client.list_tool_names() if name.startswith("skill:")]
        for name in skills:
            assert client.call(name, WANTS.get(name.removeprefix("skill:"), {}))["isError"] is False, name
        assert len(client.calls) == len(skills) == 7
        assert len({call["function"] for call in client.calls}) == 7

    @pytest.mark.parametrize("name", CORE)
    def test_s172_a_core_skill_calls_its_own_function(self, name: str) -> None:
        client = self.shelves()
        client.call(f"skill:{name}", WANTS[name])
        assert [call["function"] for call in client.calls] == [CORE[name]]

    def test_s174_s176_names_are_listed_in_order_across_executors(self) -> None:
        client = self.shelves()
        names = client.list_tool_names()
        assert names == sorted(names)
        assert names[0] == "skill:a.given.name"
        shown = client.call("catalog", {"type": "tools"})["structuredContent"]["tools"]
        catalogued = [tool["name"] for tool in shown]
        assert catalogued == sorted(catalogued)
        assert {*names} <= {*catalogued}


def _core() -> Sequence[Function]:
    kits = core_toolkits({"ALLOWED_PRIVATE_HOSTS": ""})
    return [function for kit in kits for function in kit.functions]


class TestHostedFunctions:
    def test_s210_a_hosted_function_needs_an_id_and_has_defaults_for_the_rest(self) -> None:
        said = {"signpost": 1, "manifest": {"functions": [{"id": "yard::echo"}]}}
        (echo,) = parse_manifest(json.dumps(said).encode()).functions
        assert (echo.function, echo.permissions) == ("yard::echo", frozenset())
        assert (echo.hidden, echo.readable) == (False, False)

    def test_s178_s179_s225_a_shipped_function_has_only_its_declared_permissions(self) -> None:
        world = RealFunctions(
            skill("core::one", report_permissions, "mail"), skill("core::other", report_permissions), tenant=None
        )
        assert world.value("core::one") == {"permissions": ["mail"], "depth": 0}
        assert world.value("core::other") == {"permissions": [], "depth": 0}
        assert [function.hosted.permissions for function in _core()] == [frozenset()] * len(CORE)

    @pytest.mark.parametrize("name", ["yard::nothing", ""])
    def test_s173_s180_an_unknown_name_has_no_state_and_calls_no_function(self, name: str) -> None:
        world = RealFunctions(skill("yard::echo", report_permissions, "mail"))
        state = world.gateway.composition.calling.functions.state(TENANT, name)
        assert (state.own, state.shipped) == (NOTHING_KNOWN.own, NOTHING_KNOWN.shipped)
        assert (code(world.call(name)), world.called) == ("unknown_function", [])

    @pytest.mark.parametrize(
        ("end", "said"),
        [(lambda: os._exit(1), "crashed"), (lambda: os.kill(os.getpid(), signal.SIGKILL), "out_of_memory")],
    )
    def test_s212_a_crash_of_an_isolated_function_does_not_affect_the_next_call(self, end: Any, said: str) -> None:
        hosts: Hosts = host_callable(lambda args: end() if args else "served", isolate=True)
        assert code(hosts.call("f", {"end": True})) == said
        assert hosts.call("f") == Result("served", [])


class TestPermissions:
    def test_s223_s224_undeclared_permissions_are_denied_by_name(self) -> None:
        world = RealFunctions(skill("yard::reads", report_missing_permissions(NAMED_BY_ALEXCLAW), "config_read"))
        everything = replace(AGENT, permissions=frozenset(NAMED_BY_ALEXCLAW))
        undeclared = [name for name in NAMED_BY_ALEXCLAW if name != "config_read"]
        assert world.value("yard::reads", everything) == undeclared
        assert world.value("yard::reads", AGENT) == [*NAMED_BY_ALEXCLAW]

    def test_s224_a_missing_permission_is_a_failure_without_outcome(self) -> None:
        def sends(_args: Any, ctx: Context) -> Any:
            ctx.require("telegram_send")

        reply = RealFunctions(skill("yard::sends", sends)).call("yard::sends")
        assert isinstance(reply, Failure)
        assert (reply.kind, reply.outcome, "`telegram_send`" in reply.message) == ("permanent_error", "none", True)

    @pytest.mark.parametrize(
        ("function", "code"),
        [
            *((name, "forbidden") for name in ("skills::register", "skills::unregister", "prompts::register")),
            *((name, "forbidden") for name in ("manifest::publish", "manifest::switch")),
            *((name, "unknown_function") for name in ("skills::load", "skills::unload", "skills::reload")),
            *(("workflow::start", "unknown_function"), ("workflow.start", "undeclared_call")),
        ],
    )
    def test_s229_s230_s231_a_nested_call_of_a_caller_without_rights_changes_nothing(
        self, function: str, code: str
    ) -> None:
        def tries(_args: Any, ctx: Context) -> Any:
            try:
                return ctx.call(function, {"id": "a", "body": "# A"})
            except CallFailed as failed:
                return failed.failure.code

        everything = ("skill_write", "skill_manage", "workflow_manage", "signpost.admin")
        callees = [function] if is_function_id(function) else []
        world = RealFunctions(skill("yard::tries", tries, *everything, calls=callees))
        assert world.value("yard::tries") == code
        assert world.called == ["yard::tries"]
        assert world.gateway.instances.wakes == []


class TestNestedCalls:
    def test_s238_a_nested_call_has_the_permissions_that_both_functions_have(self) -> None:
        def first(_args: Any, ctx: Context) -> Any:
            seen = [report_permissions({}, ctx), ctx.call("yard::b"), report_permissions({}, ctx)]
            with pytest.raises(CallFailed):
                ctx.call("yard::fails")
            return [*seen, report_permissions({}, ctx), ctx.call("yard::c")]

        def fails(_args: Any, ctx: Context) -> Any:
            assert ctx.permissions == {"mail"}
            raise RuntimeError("as always")

        world = RealFunctions(
            skill("yard::a", first, "mail", "web"),
            skill("yard::b", report_permissions, "web", "write"),
            skill("yard::fails", fails, "mail", "write"),
            skill("yard::c", report_permissions, "mail", "admin"),
        )
        own = {"permissions": ["mail", "web"], "depth": 0}
        b, c = {"permissions": ["web"], "depth": 1}, {"permissions": ["mail"], "depth": 1}
        assert world.value("yard::a") == [own, b, own, own, c]
        assert world.called == ["yard::a", "yard::b", "yard::fails", "yard::c"]

    def test_s238_a_permission_lost_in_a_nested_call_is_not_regained_deeper(self) -> None:
        def then(function: str) -> Run:
            return lambda _args, ctx: [sorted(ctx.permissions), ctx.call(function)]

        world = RealFunctions(
            skill("yard::a", then("yard::b"), "mail", "web"),
            skill("yard::b", then("yard::c"), "web"),
            skill("yard::c", report_permissions, "mail", "web"),
        )
        assert world.value("yard::a") == [["mail", "web"], [["web"], {"permissions": ["web"], "depth": 2}]]

    def test_s239_the_fifth_function_of_a_chain_of_calls_is_refused(self) -> None:
        def then(function: str) -> Run:
            def run(_args: Any, ctx: Context) -> Any:
                try:
                    return [ctx.depth, ctx.call(function)]
                except CallFailed as failed:
                    return [ctx.depth, failed.failure.code]

            return run

        chain = [skill(f"yard::{name}", then(f"yard::{after}")) for name, after in zip("abcd", "bcde", strict=True)]
        world = RealFunctions(*chain, skill("yard::e", report_permissions))
        assert world.value("yard::a") == [0, [1, [2, [3, "too_deep"]]]]
        assert world.called == [f"yard::{name}" for name in "abcd"]
