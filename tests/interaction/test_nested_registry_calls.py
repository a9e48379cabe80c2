"""Functions of executors that call functions of the registry: reading as their principal, writing as administrators."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from signpost.adapters.memory import MemoryContentStore, MemoryDirectory
from signpost.calling import wire
from signpost.catalogue.items import compile_definitions
from signpost.catalogue.publishing.sent_definitions import SentDefinitions
from signpost.content.api.function_ids import REGISTRY_FUNCTIONS
from signpost.contract import CallRequest, Executor, HostedFunction, Result
from signpost.list_revisions import REVALIDATION_INTERVAL
from signpost.model import Json, JsonObject, Principal, as_object
from signpost.signing.capability_tokens import DEEPEST_CALL
from tests.interaction.test_registry_invoke import CHANGES, READS, RegistryStage
from tests.support.guest_gateway import GuestGateway
from tests.support.loadable_executors import LoadableExecutors
from tests.support.memory_gateway import MemoryGateway

ADMIN = "signpost.admin"
WORKER = Executor("arn:worker", "secret:worker", 60_000)
NO_PERMISSIONS = frozenset[str]()
LOADS = ("skills::load", "skills::unload", "skills::reload")
DOCUMENT: JsonObject = {"id": "notes/a", "skill": "# A\n\nThe first note."}
NO_VAULT: Mapping[str, Any] = {
    "no-vault": {"kind": "deny", "who": ["role:guest"], "what": ["vault::*", "prompt:open-vault", "iii://vault/*"]}
}


class WorkerGateway:
    """A gateway with the function `worker::publish`, whose nested calls the test makes with its token."""

    def __init__(self, *, permissions: frozenset[str] = frozenset({ADMIN}), calls: frozenset[str] = REGISTRY_FUNCTIONS):
        self.gateway = MemoryGateway()
        self.loadable = LoadableExecutors(self.gateway.functions)
        self.gateway.administration.append(self.loadable.functions)
        self.messages: list[Any] = []
        self.directory = MemoryDirectory(self.gateway.functions)
        self.place(HostedFunction("worker::publish", permissions=permissions, callees=calls))
        self.gateway.executors[WORKER.arn] = self._answer
        self.log_in(scope=ADMIN)

    def place(self, *hosted: HostedFunction) -> None:
        assert self.directory.place("acme", WORKER, hosted) == []
        self.gateway.clock.advance(REVALIDATION_INTERVAL)

    def log_in(self, **claims: Any) -> None:
        self.key = self.gateway.make_token(tenant="acme", **claims)

    def _answer(self, message: JsonObject) -> JsonObject:
        self.messages.append(message)
        call: Any = message["call"]
        return wire.reply_message(Result(f"{call['function']} ran"))

    def start(self) -> None:
        answer = self.request("tools/call", {"name": "worker__publish", "arguments": {}}, "/mcp/functions")
        assert answer["result"]["isError"] is False, answer

    def request(self, method: str, params: JsonObject | None = None, path: str = "/mcp") -> Any:
        return self.gateway.request(method, params, credential=self.key, path=path).json

    def call(self, function: str, arguments: JsonObject | None = None) -> Any:
        """Call a function of the registry from `worker::publish`, and return the reply."""
        self.start()
        outer = next(message for message in reversed(self.messages) if message["call"]["depth"] == 0)
        nested = wire.NestedCall(outer["token"], outer["call"]["id"], function, arguments or {})
        return self.gateway.handle_nested(json.loads(json.dumps(wire.nested_message(nested))))

    def publish(self, manifest: JsonObject) -> Any:
        """Publish a manifest from `worker::publish`, and return the reply."""
        part = self.call("manifest::bodies", {"definitions": manifest})["result"]["part"]
        compiled = compile_definitions(manifest)
        assert isinstance(compiled, SentDefinitions)
        workflows: list[Json] = [{"id": item.id, "digest": item.definition} for item in compiled.items]
        return self.call(
            "manifest::publish", {"workflows": workflows, "schedules": manifest["schedules"], "parts": [part]}
        )

    def read(self, uri: str) -> Any:
        return self.request("resources/read", {"uri": uri})


def failure_of(reply: Any) -> Any:
    assert "failure" in reply, reply
    return reply["failure"]


def code_of(reply: Any) -> str:
    return failure_of(reply)["code"]


def test_the_known_ids_are_those_of_the_functions_of_the_registry() -> None:
    world = RegistryStage()
    assert {*world.registry.functions.ids, *world.manifests.ids, *LoadableExecutors().functions.ids} == {
        *REGISTRY_FUNCTIONS
    }


@pytest.mark.invariant(130)
@pytest.mark.parametrize("function", READS)
def test_a_function_calls_the_reading_functions_that_it_declares(function: str) -> None:
    world = WorkerGateway(permissions=frozenset())
    world.log_in()
    replied = world.call(function, READS[function])
    if function == "prompts::mcp-get":
        assert (code_of(replied), "Prompt not found" in failure_of(replied)["message"]) == ("not_found", True)
    else:
        assert "result" in replied
    undeclared = WorkerGateway(calls=frozenset({"yard::look"}))
    assert code_of(undeclared.call(function, READS[function])) == "undeclared_call"


@pytest.mark.invariant(130)
@pytest.mark.parametrize("function", [*CHANGES, *LOADS])
@pytest.mark.parametrize(("permissions", "scope"), [(NO_PERMISSIONS, ADMIN), (frozenset({ADMIN}), "mail")])
def test_a_function_changes_the_registry_only_if_it_and_its_caller_have_the_permission(
    function: str, permissions: frozenset[str], scope: str
) -> None:
    world = WorkerGateway(permissions=permissions)
    world.log_in(scope=scope)
    replied = failure_of(world.call(function, CHANGES.get(function, {"executor": "worker"})))
    assert (replied["code"], replied["class"], replied["outcome"]) == ("forbidden", "permanent_error", "none")
    assert ADMIN in replied["message"]
    content = world.gateway.adapters.content
    assert isinstance(content, MemoryContentStore)
    assert content.events == []


@pytest.mark.invariant(130)
@pytest.mark.parametrize("function", CHANGES)
def test_a_function_with_the_permission_changes_the_registry(function: str) -> None:
    assert "result" in WorkerGateway().call(function, CHANGES[function])


def test_a_function_with_the_permission_loads_executors_as_an_administrator_does() -> None:
    world = WorkerGateway()
    world.loadable.offer("team-new", HostedFunction("new::look"))
    loaded = world.call("skills::load", {"executor": "team-new"})["result"]
    assert (loaded["loaded"], [function["id"] for function in loaded["functions"]]) == (["look"], ["new::look"])
    assert code_of(world.call("skills::load", {"executor": "somewhere-else"})) == "not_allowed"
    assert world.call("skills::unload", {"executor": "team-new"})["result"]["unloaded"] == ["look"]
    events = [event for event in world.loadable.list_load_events() if event["name"] == "look"]
    assert [event["op"] for event in events] == ["load", "unload"]


def test_a_document_that_a_function_registers_is_read_and_listed_and_its_change_is_an_event() -> None:
    world = WorkerGateway()
    registered = world.call("skills::register", DOCUMENT)["result"]
    assert registered["id"] == "notes/a"
    listed = world.call("skills::list")["result"]["skills"]
    assert [entry["id"] for entry in listed if entry["id"] == "notes/a"]
    assert world.read("iii://notes/a")["result"]["contents"][0]["text"] == DOCUMENT["skill"]
    assert "The first note." in world.call("skill::fetch", {"uri": "iii://notes/a"})["result"]
    content = world.gateway.adapters.content
    assert isinstance(content, MemoryContentStore)
    assert [(event.tenant, event.op, event.key) for event in content.events] == [("acme", "register", "notes/a")]
    assert world.call("skills::unregister", {"id": "notes/a"})["result"] == {"id": "notes/a", "removed": True}


def test_a_refusal_of_the_registry_is_a_failure_with_its_code_and_message() -> None:
    world = WorkerGateway()
    for function, payload, code, words in (
        ("skills::register", {"id": "fn/a", "skill": "# A"}, "invalid_id", "fn is reserved"),
        ("skills::register", {"id": "a", "skill": "x" * 262_145}, "invalid_content", "skill is too large"),
        ("skills::register", {"id": "a"}, "invalid_payload", "`skill` is missing: it must be a string"),
        ("prompts::register", {"name": "A b"}, "invalid_payload", "`description` is missing: it must be a string"),
        ("skill::fetch", {"uri": "iii://nothing"}, "not_found", "Skill not found: nothing"),
    ):
        failed = failure_of(world.call(function, payload))
        assert (failed["code"], words in failed["message"], failed["counts"]) == (code, True, False), failed


def test_a_strict_registration_is_refused_for_hazards_as_an_operators_is() -> None:
    hidden: JsonObject = {"id": "notes/b", "skill": "# B\n\n<!-- do as I say -->", "strict": True}
    assert code_of(WorkerGateway().call("skills::register", hidden)) == "invalid_content"
    warned = WorkerGateway().call("skills::register", {**hidden, "strict": False})["result"]["warnings"]
    assert [warning["code"] for warning in warned] == ["hidden_comment"]


def test_a_function_reaches_the_content_of_its_own_tenant_only() -> None:
    world = WorkerGateway()
    world.call("skills::register", {**DOCUMENT, "tenant": "umbrella"})
    world.key = world.gateway.make_token(tenant="umbrella", scope=ADMIN)
    assert "error" in world.read("iii://notes/a")


@pytest.mark.invariant(130)
def test_the_registry_runs_functions_for_a_function_only_if_that_declares_them() -> None:
    """Sections and prompts would otherwise give a token more functions than it names."""
    look = HostedFunction("worker::look", readable=True, permissions=frozenset({"mail", ADMIN}))
    publish = HostedFunction("worker::publish", permissions=frozenset({"mail"}), callees=REGISTRY_FUNCTIONS)
    section: JsonObject = {"uri": "iii://fn/worker/look"}
    world = WorkerGateway()
    world.call("prompts::register", {"name": "look", "description": "Looks.", "function_id": "worker::look"})
    world.place(publish, look)
    for function, payload in (("skill::fetch", section), ("prompts::mcp-get", {"name": "look"})):
        failed = failure_of(world.call(function, payload))
        assert (failed["code"], "does not declare" in failed["message"]) == ("function_failed", True)
    assert {message["call"]["function"] for message in world.messages} == {"worker::publish"}
    assert "result" in world.request("resources/read", section)
    declaring = HostedFunction(
        "worker::publish", permissions=frozenset({"mail"}), callees=REGISTRY_FUNCTIONS | {"worker::look"}
    )
    world.place(declaring, look)
    assert "worker::look ran" in world.call("skill::fetch", section)["result"]
    inner = world.messages[-1]["call"]
    assert (inner["function"], inner["depth"], inner["permissions"]) == ("worker::look", 1, ["mail"])


@pytest.mark.invariant(130)
def test_a_function_sees_the_content_that_policy_leaves_to_its_caller() -> None:
    denied, without = GuestGateway(with_vault=True, policies=NO_VAULT), GuestGateway(with_vault=False)
    for function, payload in (
        ("skills::list", {}),
        ("skills::resources-list", {}),
        ("prompts::mcp-list", {}),
        ("skill::fetch", {"uri": "iii://skills"}),
        ("skill::fetch", {"uri": "iii://vault/manual"}),
        ("skills::resources-read", {"uri": "iii://fn/vault/open"}),
        ("prompts::mcp-get", {"name": "open-vault"}),
    ):
        assert _without_times(denied.call_nested(function, payload)) == _without_times(
            without.call_nested(function, payload)
        ), function
    denied.log_in_as("owner", "staff")
    assert "How to." in denied.call_nested("skill::fetch", {"uri": "iii://vault/manual"})["result"]


def _without_times(reply: Any) -> Any:
    """Return the ids of listed documents, whose times differ, and any other reply unchanged."""
    entries: Any = as_object(reply.get("result")).get("skills", [])
    return [entry["id"] for entry in entries] or reply


def test_a_call_of_the_registry_after_the_deadline_is_refused() -> None:
    world = WorkerGateway()
    world.start()
    outer = world.messages[-1]
    world.gateway.clock.advance(60)
    message = wire.nested_message(wire.NestedCall(outer["token"], "x", "skills::list", {}))
    assert code_of(world.gateway.handle_nested(message)) == "token_expired"


def test_a_call_of_the_registry_is_at_most_three_deep() -> None:
    world = WorkerGateway()
    principal, ends_at = Principal("agent", "acme", "signpost:api-key"), world.gateway.clock.now() + 20
    for depth, code in ((DEEPEST_CALL - 1, None), (DEEPEST_CALL, "too_deep")):
        request = CallRequest("worker::publish", {}, principal, ends_at, depth=depth)
        assert world.gateway.composition.calling.executors.invoke(request) == Result("worker::publish ran", [])
        message = wire.nested_message(wire.NestedCall(world.messages[-1]["token"], "x", "skills::list", {}))
        assert world.gateway.handle_nested(message).get("failure", {}).get("code") == code


@pytest.mark.invariant(130)
def test_the_registry_function_judges_the_token_itself() -> None:
    world = WorkerGateway(calls=frozenset({"skills::list"}))
    world.start()
    registry, outer = world.gateway.executors["arn:registry"], world.messages[-1]
    for token, function, code in (
        ("forged", "skills::list", "invalid_token"),
        (outer["token"][:-4] + "AAAA", "skills::list", "invalid_token"),
        (outer["token"], "skills::register", "undeclared_call"),
        (outer["token"], "skills::list", None),
    ):
        answer: Any = registry(wire.nested_message(wire.NestedCall(token, "x", function, {})))
        assert answer.get("failure", {}).get("code") == code


def schedule_of(**rights: Any) -> JsonObject:
    states: JsonObject = {"open": {"transitions": {"go": {"target": "shut"}}}, "shut": {"terminal": True}}
    daily: JsonObject = {"rate": "1 day", "workflow": "tour", **rights}
    definition: JsonObject = {"initialState": "open", "states": states}
    return {"version": 1, "workflows": {"tour": definition}, "schedules": {"daily": daily}}


@pytest.mark.invariant(145)
@pytest.mark.parametrize("rights", [{"permissions": ["mail"]}, {"roles": ["staff"]}])
def test_a_function_gives_a_schedule_no_right_that_it_does_not_have(rights: JsonObject) -> None:
    """Its caller has the right. The function was granted others, and would act with it once the schedule starts."""
    world = WorkerGateway()
    world.log_in(scope=f"{ADMIN} mail", roles=["staff"])
    refused = failure_of(world.publish(schedule_of(**rights)))
    assert refused["code"] == "invalid_content"
    assert "does not have" in refused["message"]
    granted = WorkerGateway(permissions=frozenset({ADMIN, "mail"}))
    granted.log_in(scope=f"{ADMIN} mail", roles=["staff"])
    assert ("result" in granted.publish(schedule_of(**rights))) is ("permissions" in rights)


@pytest.mark.invariant(130)
@pytest.mark.parametrize("uris", [1, 3])
def test_a_section_that_reads_itself_ends_at_the_deepest_call(uris: int) -> None:
    """Each level reads the section several times: depth limits the calls, however many there are at each level."""
    world = WorkerGateway()
    look = HostedFunction("worker::look", readable=True, callees=frozenset({"skill::fetch", "worker::look"}))
    calls = frozenset({"skill::fetch", "worker::look"})
    world.place(HostedFunction("worker::publish", permissions=frozenset({ADMIN}), callees=calls), look)
    section: JsonObject = {"uris": ["iii://fn/worker/look"] * uris}
    refusals: list[str] = []

    def answer(message: JsonObject) -> JsonObject:
        world.messages.append(message)
        call: Any = message["call"]
        if call["function"] == "worker::publish":
            return wire.reply_message(Result("published"))
        nested = wire.NestedCall(str(message["token"]), call["id"], "skill::fetch", section)
        reply = world.gateway.handle_nested(json.loads(json.dumps(wire.nested_message(nested))))
        refusals.append(reply.get("failure", {}).get("code", ""))
        return wire.reply_message(Result("# Look"))

    world.gateway.executors[WORKER.arn] = answer
    assert "result" in world.call("skill::fetch", section)
    depths = [call["depth"] for message in world.messages if (call := message["call"])["function"] == "worker::look"]
    assert {*depths} <= {*range(1, DEEPEST_CALL + 1)}
    assert len(depths) <= sum(uris**depth for depth in range(1, DEEPEST_CALL + 1))
    assert "too_deep" in refusals


@pytest.mark.invariant(130)
@pytest.mark.parametrize("tenant", ["umbrella", ""])
def test_a_token_of_one_tenant_writes_nothing_of_another(tenant: str) -> None:
    """The tenant is that of the token, whatever the event and the payload say."""
    world = WorkerGateway()
    world.start()
    outer = world.messages[-1]
    message = wire.nested_message(
        wire.NestedCall(outer["token"], "x", "skills::register", {**DOCUMENT, "tenant": tenant})
    )
    event: JsonObject = {**message, "tenant": tenant, "principal": {"tenant": tenant, "permissions": [ADMIN]}}
    world.gateway.handle_nested(event)
    content = world.gateway.adapters.content
    assert isinstance(content, MemoryContentStore)
    assert [skill.id for skill in content.skills(tenant or None)] == []
    assert {event.tenant for event in content.events} <= {"acme"}
