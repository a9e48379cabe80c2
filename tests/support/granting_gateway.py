"""A gateway in memory with functions that lists show by grants, and one that gives grants to its caller."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from signpost.adapters.memory import MemoryDirectory
from signpost.calling import wire
from signpost.catalogue.publishing.catalogue import CataloguePublisher
from signpost.catalogue.publishing.publish_functions import PublishFunctions
from signpost.catalogue.publishing.publisher import Publisher
from signpost.content.api.errors import RegistryRefusal
from signpost.content.callers import Caller
from signpost.contract import Component, Executor, HostedFunction, Result
from signpost.list_revisions import REVALIDATION_INTERVAL
from signpost.model import Json, JsonObject, Principal, as_object
from signpost.wiring.composition import compose_gateway
from signpost.wiring.endpoints import build_gateway_surface
from tests.support.memory_gateway import MemoryGateway, build_modern_request

YARD = Executor("arn:yard", "secret:yard", 60_000)
TENANT = "acme"
ANONYMOUS = ""
"""The subject of the caller without a credential, on loopback."""
UNLOCK = HostedFunction("yard::unlock", name="unlock", input_schema={"type": "object"}, takes_client=True)
GATED: JsonObject = {"grant": "unlocked"}


def gated_functions(condition: JsonObject) -> Sequence[HostedFunction]:
    """Return a function of each kind that lists show under the condition."""
    return (
        HostedFunction("yard::dig", name="dig", description="Digs.", visible_when=condition),
        HostedFunction(
            "yard::ask", description="Asks.", name="ask", component=Component("prompt"), visible_when=condition
        ),
        HostedFunction("yard::map", component=Component("resource", "yard://map"), visible_when=condition),
        HostedFunction("yard::plot", component=Component("template", "yard://plot/{id}"), visible_when=condition),
    )


GATED_NAMES = {
    "skill:dig", "yard__dig", "dig", "ask", "yard://map", "yard://plot/{id}",
}  # fmt: skip
"""All names of these functions, of which each list has one."""


ANSWERS: Mapping[str, Json] = {
    "yard::ask": {"messages": [{"role": "user", "content": {"type": "text", "text": "Dig?"}}]},
    "yard::map": {"contents": [{"text": "here"}]},
    "yard::plot": {"contents": [{"text": "there"}]},
}


class GrantingGateway:
    def __init__(self, *functions: HostedFunction, **environment: str) -> None:
        self.gateway = MemoryGateway(None, **environment)
        self.calls: list[str] = []
        """The functions that were called."""
        self.replies: list[Any] = []
        """The replies to the context operations of `yard::unlock`."""
        self.principals: list[JsonObject] = []
        self.gateway.executors[YARD.arn] = self._answer
        self.place(UNLOCK, *functions)

    def place(self, *hosted: HostedFunction) -> None:
        assert MemoryDirectory(self.gateway.functions).place(TENANT, YARD, hosted) == []
        self.gateway.clock.advance(REVALIDATION_INTERVAL)

    def publish_policies(self, policies: JsonObject) -> None:
        adapters = self.gateway.adapters
        catalogues = CataloguePublisher(
            content=adapters.content, values=adapters.values, definitions=adapters.definitions
        )
        publisher = Publisher(
            content=adapters.content, bodies=adapters.bodies, catalogues=catalogues, timestamps=adapters.timestamps
        )
        author = Caller(TENANT, Principal("operator", TENANT, "signpost:operator"), self.gateway.clock.now() + 20)
        answer = PublishFunctions(publisher).call("manifest::publish", {"policies": policies}, author)
        assert not isinstance(answer, RegistryRefusal), answer.message
        self.gateway.clock.advance(REVALIDATION_INTERVAL)

    def forget(self) -> None:
        """Serve by another gateway sandbox with the same tables."""
        self.gateway.composition = compose_gateway(self.gateway.adapters, self.gateway.telemetry)
        self.gateway.serve_surface(build_gateway_surface(self.gateway.composition))

    def _answer(self, message: JsonObject) -> JsonObject:
        call = as_object(message["call"])
        self.calls.append(str(call["function"]))
        self.principals.append(as_object(call["principal"]))
        if call["function"] == UNLOCK.function:
            self.replies.append(self._perform(message, as_object(call["arguments"])))
        return wire.reply_message(Result(ANSWERS.get(str(call["function"]), "done")))

    def _perform(self, message: JsonObject, arguments: JsonObject) -> Any:
        token, call_id = str(message["token"]), str(as_object(message["call"])["id"])
        operation = wire.ContextOperation(token, call_id, str(arguments["action"]), as_object(arguments["fields"]))
        return self.gateway.handle_nested(json.loads(json.dumps(wire.context_message(operation))))

    def token(self, subject: str, **claims: Any) -> str:
        return self.gateway.make_token(sub=subject, tenant=TENANT, **claims)

    def perform(self, caller: str, action: str, **fields: Json) -> Any:
        """Let `yard::unlock` perform an operation in a call of this caller, and return the reply."""
        arguments = {"action": action, "fields": fields}
        called = self.request(caller, "tools/call", {"name": "skill:unlock", "arguments": arguments}, "/mcp/flat")
        assert called["isError"] is False, called
        return self.replies[-1]

    def request(
        self, subject: str, method: str, params: JsonObject | None = None, path: str = "/mcp", **claims: Any
    ) -> Any:
        message, headers = build_modern_request(method, params or {})
        if subject:
            headers["authorization"] = f"Bearer {self.token(subject, **claims)}"
        answer = self.gateway.send(path=path, body=json.dumps(message), headers=headers, source_ip="127.0.0.1")
        return answer.json["result"]

    def lists(self, subject: str, **claims: Any) -> Mapping[str, Sequence[str]]:
        """Return the names in every list that the caller can get, by the list."""

        def ask(method: str, member: str, key: str, path: str = "/mcp") -> Sequence[str]:
            return [entry[key] for entry in self.request(subject, method, None, path, **claims)[member]]

        def call(tool: str, arguments: JsonObject, path: str = "/mcp") -> Any:
            asked = {"name": tool, "arguments": arguments}
            return self.request(subject, "tools/call", asked, path, **claims)["structuredContent"]

        catalog = call("catalog", {"include_hidden": False}, "/mcp/flat")
        return {
            "tools of /mcp/flat": ask("tools/list", "tools", "name", "/mcp/flat"),
            "tools of /mcp/functions": ask("tools/list", "tools", "name", "/mcp/functions"),
            "prompts": ask("prompts/list", "prompts", "name"),
            "resources": ask("resources/list", "resources", "uri"),
            "templates": ask("resources/templates/list", "resourceTemplates", "uriTemplate"),
            "home": [item["id"] for item in call("gateway.home", {})["items"]],
            "search": [hit["item"]["id"] for hit in call("gateway.search", {"query": "yard dig ask map"})["results"]],
            "catalog": [
                entry.get("uri", entry.get("uriTemplate", entry.get("name")))
                for section in ("tools", "prompts", "resources", "resource_templates")
                for entry in catalog[section]
            ],
        }

    def gated_in_lists(self, subject: str, **claims: Any) -> Mapping[str, frozenset[str]]:
        """Return the names of gated functions in each list."""
        lists = self.lists(subject, **claims)
        return {name: frozenset(entries) & GATED_NAMES for name, entries in lists.items()}

    def sees(self, subject: str, **claims: Any) -> bool:
        """Tell whether the caller's lists show the gated functions: all lists, or none."""
        shown = self.gated_in_lists(subject, **claims)
        seen = {name for name, gated in shown.items() if gated}
        assert seen in (set(), set(shown)), shown
        return bool(seen)
