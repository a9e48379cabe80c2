"""A client for the tests of authors: it sends MCP requests to an embedded gateway that hosts their toolkits."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

from signpost.calling.skill_names import SKILL_TOOL_PREFIX, skill_name
from signpost.model import Json, JsonObject, Principal, as_object
from signpost.surfaces.functions.bridge_tools import tool_name_of
from signpost.testing.answers import Answers, answer_questions
from signpost.testing.client_replies import AskedQuestion, ClientReply, objects_in
from signpost.testing.clock import ManualClock
from signpost.testing.embedded_executor import EmbeddedExecutor
from signpost.testing.embedded_gateway import ISSUER, PUBLIC_URL, EmbeddedGateway
from signpost.testing.embedded_worker import run_until_idle
from signpost.testing.http_messages import (
    HttpMessage,
    build_event,
    build_legacy_message,
    build_modern_message,
    mirror_arguments,
    parse_messages,
    read_body,
)
from signpost.testing.profiles import FLAT, ClientOptions, ClientProfile
from signpost.testing.token_issuer import TokenIssuer
from signpost.toolkit.function import ExecutorFunctions
from signpost.toolkit.hosting import functions_by_id, version_of
from signpost.toolkit.json_text import json_of

if TYPE_CHECKING:
    from signpost.contract import HostedFunction
    from signpost.toolkit.function import Function
    from signpost.toolkit.kit import Toolkit
    from signpost.toolkit.registration import RegisteredToolkit

MOST_ROUNDS = 25
"""The times that a client sends one request before it gives up. The gateway allows fewer rounds."""
NO_ARGUMENTS: Mapping[str, Json] = {}
NO_TEXTS: Mapping[str, str] = {}
REMAINING_MS = 30_000


class EmbeddedStack:
    """A gateway and an executor, with the identity provider of their callers. All clients of one test share it."""

    def __init__(self, hosting: ExecutorFunctions, secrets: Mapping[str, str], environment: Mapping[str, str]) -> None:
        self.clock = ManualClock()
        self.issuer = TokenIssuer(ISSUER, f"{PUBLIC_URL}/mcp")
        self.gateway = EmbeddedGateway(environment, clock=self.clock, key_set_source=self.issuer.key_set)
        self.gateway.start()
        self.executor = EmbeddedExecutor(self.gateway, hosting, secrets)
        self.permissions = frozenset(name for hosted in self.executor.hosted for name in hosted.permissions)

    def start_cold(self) -> None:
        self.gateway.start()
        self.executor.start()

    def post(self, message: HttpMessage, path: str, principal: Principal, claims: JsonObject) -> Mapping[str, Any]:
        """Send a request with a new access token of the principal."""
        token = self.issuer.issue(principal, claims, self.clock.now())
        return self.gateway.handle(build_event(message, path, token, self.clock.now()), REMAINING_MS)


class GatewayClient:
    """A client of a gateway in this process, with the toolkits of an author placed as on an executor."""

    def __init__(
        self,
        *hosts: "Function | Toolkit | RegisteredToolkit",
        secrets: Mapping[str, str] | None = None,
        environment: Mapping[str, str] | None = None,
        **options: Unpack[ClientOptions],
    ) -> None:
        """Host the toolkits for the tenant of the client. `secrets` are texts by their names, `environment` replaces
        variables of the gateway. Raises DeclarationError."""
        hosting = ExecutorFunctions(functions_by_id(hosts), version_of(hosts, None))
        self._begin(EmbeddedStack(hosting, secrets or {}, environment or {}), ClientProfile().changed(options))
        self._stack.executor.place(self.principal.tenant)

    def _begin(self, stack: EmbeddedStack, profile: ClientProfile) -> None:
        self._stack = stack
        self._profile = profile
        self.principal = profile.identify(stack.permissions)
        self.asked: list[AskedQuestion] = []
        """All questions that the client answered or left open, in their order."""

    def connect(self, **options: Unpack[ClientOptions]) -> "GatewayClient":
        """Return another client of the same gateway: this one with other options."""
        client = GatewayClient.__new__(GatewayClient)
        client._begin(self._stack, self._profile.changed(options))  # noqa: SLF001 - its own class
        return client

    @property
    def clock(self) -> ManualClock:
        """The clock of gateway and executor."""
        return self._stack.clock

    @property
    def gateway(self) -> EmbeddedGateway:
        """The gateway with its stores, for tests that look behind the protocol."""
        return self._stack.gateway

    @property
    def log(self) -> Sequence[JsonObject]:
        """The log lines of the executor: `level`, `message` and facts. A line `fault` has the traceback."""
        return self._stack.executor.log.lines

    def start_cold(self) -> None:
        """Replace the gateway and the executor by new ones on the same tables, as new containers are. Modules of the
        author stay imported."""
        self._stack.start_cold()

    def run_due_work(self) -> None:
        """Do what the workflow worker and the sweeper would do now: calls that take longer than a client waits."""
        waker = self._stack.gateway.composition.workflow_services().waker
        run_until_idle(waker, self._stack.gateway.instances, self.clock, is_swept=True)

    def discover(self) -> JsonObject:
        """Return what the endpoint says of itself."""
        return self.request("server/discover").result

    def list_tools(self) -> Sequence[JsonObject]:
        return self._list_all("tools/list", "tools")

    def list_prompts(self) -> Sequence[JsonObject]:
        return self._list_all("prompts/list", "prompts")

    def list_resources(self) -> Sequence[JsonObject]:
        return self._list_all("resources/list", "resources")

    def list_templates(self) -> Sequence[JsonObject]:
        return self._list_all("resources/templates/list", "resourceTemplates")

    def call(self, name: str, args: Mapping[str, object] = NO_ARGUMENTS) -> ClientReply:
        """Call a tool by its own name, by its function id, or by its name in the list of the endpoint. Raises NotJson
        for arguments that no client could send."""
        arguments = as_object(json_of(dict(args)))
        return self.request("tools/call", {"name": self.find_tool_name(name), "arguments": arguments})

    def get_prompt(self, name: str, args: Mapping[str, str] = NO_TEXTS) -> ClientReply:
        return self.request("prompts/get", {"name": name, "arguments": args})

    def read(self, uri: str) -> ClientReply:
        return self.request("resources/read", {"uri": uri})

    def complete(self, of: str, argument: str, value: str = "", given: Mapping[str, str] = NO_TEXTS) -> Sequence[str]:
        """Complete an argument of a prompt, or a variable of a template. `of` is the name of the prompt or the pattern
        of the template."""
        is_template = "://" in of
        reference: JsonObject = (
            {"type": "ref/resource", "uri": of} if is_template else {"type": "ref/prompt", "name": of}
        )
        params: JsonObject = {
            "ref": reference,
            "argument": {"name": argument, "value": value},
            **({"context": {"arguments": given}} if given else {}),
        }
        values = as_object(self.request("completion/complete", params).result["completion"])["values"]
        return [str(found) for found in values] if isinstance(values, list) else []

    def request(self, method: str, params: JsonObject = NO_ARGUMENTS) -> ClientReply:
        """Send any request. A client with answers answers the questions that come back, in as many rounds as it
        takes."""
        reply = self._send(method, params, {})
        while self._profile.answers is not None and reply.is_input_required:
            if reply.rounds == MOST_ROUNDS:
                raise AssertionError(f"{method} asked {', '.join(reply.questions)} again after {MOST_ROUNDS} rounds.")
            reply = self.answer(reply, self._profile.answers)
        return reply

    def answer(self, reply: ClientReply, answers: Answers) -> ClientReply:
        """Answer the open questions of a reply by sending its request again. The client may be another one than the one
        that was asked. Raises AssertionError for a question without an answer."""
        given = answer_questions(reply, answers)
        asked = [
            AskedQuestion(
                key, str(question.get("method")), as_object(question.get("params")), reply.rounds, given.get(key)
            )
            for key, question in reply.questions.items()
        ]
        self.asked += asked
        state = as_object(reply.message.get("result")).get("requestState")
        retry: JsonObject = {"inputResponses": given, **({} if state is None else {"requestState": state})}
        return _continue(reply, asked, self._send(reply.method, reply.params, retry))

    def find_tool_name(self, name: str) -> str:
        """Return the name that the endpoint has for a tool of the toolkits; other names stay as they are."""
        hosted = next((tool for tool in self._tools if name in (skill_name(tool), tool.function)), None)
        return name if hosted is None else self._spell(hosted) or name

    @property
    def _tools(self) -> "Sequence[HostedFunction]":
        return [hosted for hosted in self._stack.executor.hosted if hosted.component is None]

    def _spell(self, hosted: "HostedFunction") -> str | None:
        """Return the name of a tool at the endpoint; None where functions are no tools."""
        if self._profile.endpoint == FLAT:
            return f"{SKILL_TOOL_PREFIX}{skill_name(hosted)}"
        return tool_name_of(hosted.function) if self._profile.endpoint == "/mcp/functions" else None

    def _mirror(self, params: JsonObject) -> Mapping[str, str]:
        """Build the headers that repeat arguments of a tool call."""
        schemas = (tool.input_schema for tool in self._tools if self._spell(tool) == params.get("name"))
        return mirror_arguments(next(schemas, None) or {}, as_object(params.get("arguments")))

    def _list_all(self, method: str, member: str) -> Sequence[JsonObject]:
        """List the entries of all pages."""
        entries: list[JsonObject] = []
        params: JsonObject = {}
        while True:
            page = self.request(method, params).result
            entries += objects_in(page, member)
            if "nextCursor" not in page:
                return entries
            params = {"cursor": page["nextCursor"]}

    def _send(self, method: str, params: JsonObject, retry: JsonObject) -> ClientReply:
        """Send a request once, with the answers of a retry."""
        profile, sent = self._profile, {**params, **retry}
        if profile.cold:
            self.start_cold()
        message = (
            build_modern_message(method, sent, profile.meta, self._mirror(sent))
            if profile.is_modern
            else build_legacy_message(method, sent, profile.meta, profile.revision)
        )
        log, logged = self._stack.executor.log, len(self.log)
        answered = self._stack.post(message, profile.endpoint, self.principal, profile.claims)
        *notifications, final = parse_messages(answered["headers"].get("content-type", ""), read_body(answered)) or [{}]
        reply = ClientReply(method, params, answered["statusCode"], final, notifications)
        return replace(reply, fault=log.find_faults(logged))


def _continue(before: ClientReply, asked: Sequence[AskedQuestion], after: ClientReply) -> ClientReply:
    """Join the reply to a retry with the rounds before it."""
    return replace(
        after,
        notifications=[*before.notifications, *after.notifications],
        asked=[*before.asked, *asked],
        rounds=before.rounds + 1,
    )
