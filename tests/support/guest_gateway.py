"""A tenant with an entry of every kind, some of which belong to a vault: with the vault or without it, and under given
policies."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from signpost.adapters.memory import MemoryDirectory
from signpost.calling import wire
from signpost.calling.components import COMPLETE_SUFFIX, ENUMERATE_SUFFIX
from signpost.calling.failures import failure
from signpost.catalogue.items import compile_definitions
from signpost.catalogue.publishing.catalogue import CataloguePublisher
from signpost.catalogue.publishing.publish_functions import PublishFunctions
from signpost.catalogue.publishing.publisher import Publisher
from signpost.catalogue.publishing.sent_definitions import SentDefinitions
from signpost.content.api.errors import RegistryRefusal
from signpost.content.api.function_ids import REGISTRY_FUNCTIONS
from signpost.content.callers import Caller
from signpost.contract import Component, Executor, HostedFunction, Result
from signpost.list_revisions import REVALIDATION_INTERVAL
from signpost.mcp.request import CLIENT_TOKEN
from signpost.model import InputRequired, JsonObject, Principal, PromptArgument
from tests.support.memory_gateway import MODERN, MemoryGateway
from tests.support.memory_workflows import run_until_idle
from tests.support.registry import CountingTimestamps
from tests.support.tokens import ISSUER

TENANT = "default"
LEGACY = "2025-11-25"
YARD, VAULT = (Executor(f"arn:{name}", f"secret:{name}", 60_000) for name in ("yard", "vault"))
PATHS = ("/mcp", "/mcp/flat", "/mcp/functions")
STATES = {"open": {"transitions": {"go": {"target": "shut"}}}, "shut": {"terminal": True}}
WORKFLOW = {"initialState": "open", "states": STATES}
PAGES = "vault://pages/{n}"
TOKEN = "monday"
RUN_ID = f"wf_{sha256(json.dumps([TENANT, ISSUER, 'owner', TOKEN]).encode()).hexdigest()[:32]}"
"""The id of the run of the owner's call: a caller who knows the owner and guesses the token knows the id."""
VAULT_ITEMS = (
    "vault.open",
    "whisper",
    "vault.build",
    "vault/manual",
    "yard/opening",
    "ask_vault",
    "vault://ledger",
    PAGES,
)
"""Items of the vault that no manifest publishes: skills, documents, a prompt, a resource and a template."""
CALLEES = REGISTRY_FUNCTIONS | {"yard::echo", "vault::open", "vault::whisper", "vault::ask", "vault::page::enumerate"}
"""The functions that `yard::echo` calls, whether they exist or not."""
YARD_FUNCTIONS = (
    HostedFunction("yard::echo", description="Says it again.", callees=CALLEES),
    HostedFunction("yard::greet", component=Component("prompt")),
    HostedFunction("yard::gate", component=Component("resource", uri="yard://gate")),
)
VAULT_FUNCTIONS = (
    HostedFunction("vault::open", name="vault.open", description="Opens it.", readable=True, doc="yard/opening"),
    HostedFunction("vault::build", name="vault.build", timeout_ms=40_000, idempotent=True),
    HostedFunction("vault::whisper", hidden=True),
    HostedFunction(
        "vault::ask",
        name="ask_vault",
        component=Component("prompt", arguments=(PromptArgument("what"),), complete={"what": ("gold", "silver")}),
    ),
    HostedFunction("vault::ledger", component=Component("resource", uri="vault://ledger")),
    HostedFunction("vault::page", component=Component("template", uri=PAGES, complete={"n": None}, enumerates=True)),
    HostedFunction(f"vault::page{COMPLETE_SUFFIX}", component=Component("helper"), hidden=True),
    HostedFunction(f"vault::page{ENUMERATE_SUFFIX}", component=Component("helper"), hidden=True),
)
ANSWERS: Mapping[str, Any] = {
    "vault::ledger": {"contents": [{"text": "Gold: 3"}]},
    "vault::page": {"contents": [{"text": "Page"}]},
    f"vault::page{COMPLETE_SUFFIX}": {"values": ["1", "2"]},
    f"vault::page{ENUMERATE_SUFFIX}": {"resources": [{"uri": "vault://pages/1", "name": "one"}]},
    "yard::gate": {"contents": [{"text": "Open"}]},
    "yard::ledger": {"contents": [{"text": "Debts"}]},
}


def build_manifest(*, with_vault: bool) -> Mapping[str, Any]:
    yard = {"tour": {**WORKFLOW, "title": "The Tour"}}
    vault = {"break_in": {**WORKFLOW, "title": "Break In"}} if with_vault else {}
    exposed = ["yard.look", *(["vault.read"] if with_vault else [])]
    connections = {"yard_api": {"kind": "rest"}, **({"vault_api": {"kind": "rest"}} if with_vault else {})}
    return {
        "workflows": {**yard, **vault},
        "proxy": {"expose": [{"name": name, "title": name, "executor": {"kind": "noop"}} for name in exposed]},
        "connections": connections,
        "discovery": {"include": ["proxy", "workflows", "connections"]},
    }


class GuestGateway:
    """A gateway as its guest sees it."""

    def __init__(
        self,
        *,
        with_vault: bool,
        policies: Mapping[str, Any] | None = None,
        version: str = MODERN,
        with_run: bool = False,
    ) -> None:
        """Compose the gateway. `with_run` adds a run of a call that its owner has made."""
        self.version = version
        self.gateway = MemoryGateway()
        self.received_messages: list[Any] = []
        self.crashing_functions: set[str] = set()
        self.asking_functions: set[str] = set()
        """The functions that ask a question first."""
        self.directory = MemoryDirectory(self.gateway.functions)
        for executor, hosted in ((YARD, YARD_FUNCTIONS), (VAULT, VAULT_FUNCTIONS if with_vault else ())):
            self.gateway.executors[executor.arn] = self._answer
            assert self.directory.place(TENANT, executor, hosted) == []
        adapters = self.gateway.adapters
        self.functions = PublishFunctions(
            Publisher(
                content=adapters.content,
                bodies=adapters.bodies,
                catalogues=CataloguePublisher(
                    content=adapters.content, values=adapters.values, definitions=adapters.definitions
                ),
                timestamps=CountingTimestamps(),
            )
        )
        self._register(with_vault=with_vault)
        self.publish(build_manifest(with_vault=with_vault))
        if with_run:
            self.log_in_as("owner", "staff")
            self.request(
                "tools/call",
                {"name": "vault__build", "arguments": {}, "_meta": {CLIENT_TOKEN: TOKEN}},
                "/mcp/functions",
            )
        if policies is not None:
            self.publish_policies(policies)
        self.log_in_as("guest", "guest")

    def log_in_as(self, subject: str, *roles: str, **claims: Any) -> None:
        self.key = self.gateway.make_token(sub=subject, roles=list(roles), **claims)

    def _answer(self, message: JsonObject) -> JsonObject:
        self.received_messages.append(message)
        call: Any = message["call"]
        if call["function"] in self.crashing_functions:
            return wire.reply_message(failure("crashed", call["function"]))
        if call["function"] in self.asking_functions and not call.get("answers"):
            return wire.reply_message(InputRequired({"root": {"method": "roots/list"}}))
        return wire.reply_message(Result(ANSWERS.get(call["function"], f"{call['function']} ran")))

    def _register(self, *, with_vault: bool) -> None:
        functions = self.gateway.composition.documents.functions
        caller = Caller(TENANT, Principal("operator", TENANT, "signpost:operator"), self.gateway.clock.now() + 20)
        registered = {"yard/guide": "greeting", **({"vault/manual": "open-vault"} if with_vault else {})}
        for document in [*registered, *(["yard/opening"] if with_vault else [])]:
            document_payload: JsonObject = {"id": document, "skill": f"# {document}\n\nHow to.\n"}
            assert isinstance(functions.call("skills::register", document_payload, caller), dict)
        for prompt in registered.values():
            prompt_payload: JsonObject = {"name": prompt, "description": "Asks.", "function_id": "yard::echo"}
            assert isinstance(functions.call("prompts::register", prompt_payload, caller), dict)
        self.gateway.clock.advance(REVALIDATION_INTERVAL)

    def publish(self, content: Mapping[str, Any]) -> None:
        part = self.call_registry("bodies", {"definitions": {"version": 1, **content}})["part"]
        compiled = compile_definitions({"version": 1, **content})
        assert isinstance(compiled, SentDefinitions), compiled
        of_kind = {
            kind: [{"id": item.id, "digest": item.definition} for item in compiled.items if item.kind == kind]
            for kind in ("workflow", "capability")
        }
        named = {"workflows": of_kind["workflow"], "capabilities": of_kind["capability"]}
        settings = {name: content[name] for name in ("connections", "discovery")}
        self.call_registry("publish", {**named, **settings, "parts": [part]})

    def publish_policies(self, policies: Mapping[str, Any], *, prune: bool = False) -> Any:
        answer = self.call_registry("publish", {"policies": policies, "prune": prune})
        self.gateway.clock.advance(2.0)
        return answer

    def call_registry(self, function: str, payload: Mapping[str, Any]) -> Any:
        answer = self.functions.call(f"manifest::{function}", payload, self._author)
        assert not isinstance(answer, RegistryRefusal), answer.message
        return answer

    def read_registry_refusal(self, policies: Mapping[str, Any]) -> str:
        answer = self.functions.call("manifest::publish", {"policies": policies}, self._author)
        assert isinstance(answer, RegistryRefusal), answer
        return answer.message

    @property
    def _author(self) -> Caller:
        return Caller(TENANT, Principal("author", TENANT, "signpost:operator"), self.gateway.clock.now() + 20)

    def send(self, asked: "GuestRequest") -> str:
        """Send a request, and return the status and the text of the answer."""
        if self.version == MODERN:
            answer = self.gateway.request(asked.method, asked.params, credential=self.key, path=asked.path)
        else:
            answer = self.gateway.request_legacy(asked.method, asked.params, self.version, self.key, asked.path)
        return f"{answer.status} {answer.text}"

    def request(self, method: str, params: JsonObject | None = None, path: str = "/mcp") -> Any:
        return json.loads(self.send(GuestRequest(path, method, params or {})).partition(" ")[2])

    def call(self, tool: str, path: str = "/mcp", **arguments: Any) -> Any:
        return self.request("tools/call", {"name": tool, "arguments": arguments}, path)

    def run_worker(self) -> None:
        """Do the pending work of the worker on runs."""
        run_until_idle(
            self.gateway.composition.workflow_services().waker,
            self.gateway.instances,
            self.gateway.clock,
            is_swept=False,
        )

    def list_names(self, method: str, key: str, path: str = "/mcp", name: str = "name") -> Sequence[str]:
        return [entry[name] for entry in self.request(method, path=path)["result"][key]]

    def call_nested(self, function: str, arguments: JsonObject | None = None) -> Any:
        """Call this function from a function that the caller may call, and return the reply."""
        assert "result" in self.call("yard__echo", "/mcp/functions")
        outer: Any = self.received_messages[-1]
        message = wire.nested_message(wire.NestedCall(outer["token"], outer["call"]["id"], function, arguments or {}))
        return self.gateway.handle_nested(json.loads(json.dumps(message)))


@dataclass(frozen=True, slots=True)
class GuestRequest:
    path: str
    method: str
    params: JsonObject


def list_guest_requests(version: str) -> Iterator[GuestRequest]:
    """Yield every request of a guest whose answer could reveal that a vault exists."""
    yield from _tools()
    for path in PATHS:
        for method, params in _of_every_path(version):
            yield GuestRequest(path, method, params)
    for tool, arguments in _of_the_seven():
        yield GuestRequest("/mcp", "tools/call", {"name": tool, "arguments": arguments})
        yield GuestRequest("/mcp/flat", "tools/call", {"name": tool.replace(".", "_"), "arguments": arguments})


def _tools() -> Iterator[GuestRequest]:
    for path, names in (
        (
            "/mcp/flat",
            ["skill:vault.open", "skill_vault_open", "skill:whisper", "workflow:Break In", "workflow_break_in"],
        ),
        ("/mcp/flat", ["skill:vault.build"]),
        ("/mcp/functions", ["vault__open", "vault__whisper", "vault__build"]),
    ):
        yield GuestRequest(path, "tools/list", {})
        for name in names:
            yield GuestRequest(path, "tools/call", {"name": name, "arguments": {}})
    for shown in ({}, {"type": "tools", "query": "vault"}, {"type": "prompts"}, {"type": "resources"}):
        yield GuestRequest("/mcp/flat", "tools/call", {"name": "catalog", "arguments": shown})


def _of_every_path(version: str) -> Iterator[tuple[str, JsonObject]]:
    for method in ("prompts/list", "resources/list", "resources/templates/list"):
        yield method, {}
    for uri in ("iii://vault/manual", "iii://yard/opening", "iii://fn/vault/open", "iii://skills"):
        yield "resources/read", {"uri": uri}
        yield "tools/call", {"name": "skill__fetch", "arguments": {"uri": uri}}
        yield "tools/call", {"name": "skill__fetch", "arguments": {"uris": ["iii://yard/guide", uri]}}
    for uri in (
        "skill://vault/manual/SKILL.md",
        "skill://yard/opening/SKILL.md",
        "vault://ledger",
        "vault://pages/1",
        "vault://pages/%31",
    ):
        yield "resources/read", {"uri": uri}
    for prompt in ("open-vault", "ask_vault"):
        yield "prompts/get", {"name": prompt, "arguments": {}}
    yield "completion/complete", build_completion_params({"type": "ref/prompt", "name": "ask_vault"}, "what")
    yield "completion/complete", build_completion_params({"type": "ref/resource", "uri": PAGES}, "n")
    for uri in ("signpost://workflows", "signpost://workflows/break_in", "signpost://deployment"):
        yield "resources/read", {"uri": uri}
    workflows: JsonObject = {"type": "ref/resource", "uri": "signpost://workflows/{id}"}
    yield "completion/complete", build_completion_params(workflows, "id")
    if version == MODERN:
        yield "skills/list", {}
        yield "skills/get", {"uri": "skill://vault/manual/SKILL.md"}
        for directory in ("skill://vault", "skill://vault/manual"):
            yield "resources/directory/read", {"uri": directory}


def _of_the_seven() -> Iterator[tuple[str, JsonObject]]:
    yield "gateway.home", {}
    for query in ("", "vault", "break"):
        yield "gateway.search", {"query": query}
    for kind in ("capability", "document", "prompt", "resource"):
        yield "gateway.search", {"query": "", "kind": kind, "limit": 200}
    for item in ("break_in", "break_inn", "vault.read", "connection:vault_api", *VAULT_ITEMS):
        yield "gateway.describe", {"id": item}
    for name in ("vault.open", "whisper"):
        yield "workflow.start", {"input": {"capability": name, "input": "x"}}
        yield "workflow.explain", {"definitionId": "proxy_default", "transition": name}
    for definition in ("break_in", "break_inn", "vault.read"):
        yield "workflow.start", {"definitionId": definition}
        yield "workflow.explain", {"definitionId": definition}
    yield "workflow.get", {"workflowId": RUN_ID}
    for transition in ("vault::build", "$cancel"):
        yield "workflow.submit", {"workflowId": RUN_ID, "expectedVersion": 1, "transition": transition, "arguments": {}}
    yield "workflow.start", {"input": {"capability": "vault.read"}}
    yield "workflow.start", {"input": {"capability": "vault.reed"}}
    yield "workflow.explain", {"definitionId": "proxy_default"}
    yield "workflow.explain", {"definitionId": "proxy_default", "transition": "vault.read"}


def build_completion_params(of: JsonObject, argument: str) -> JsonObject:
    return {"ref": of, "argument": {"name": argument, "value": ""}}
