"""Skill documents and slash commands as an MCP client sees them, in both eras."""

from typing import Any

import pytest

from signpost.adapters.memory import MemoryDirectory
from signpost.calling import wire
from signpost.calling.failures import reported_failure
from signpost.content.callers import Caller
from signpost.contract import CallReply, Executor, HostedFunction, Result
from signpost.list_revisions import REVALIDATION_INTERVAL
from signpost.model import Json, JsonObject, Principal
from tests.support.memory_gateway import MODERN, MemoryGateway

LEGACY = "2025-11-25"
TENANT = "default"
YARD = Executor("arn:yard", "secret:yard", 60_000)
OPERATOR = Principal("operator", TENANT, "signpost:operator")


class Client:
    def __init__(self, version: str) -> None:
        self.version = version
        self.gateway = MemoryGateway()
        self.key = str(self.gateway.make_key())
        self.replies: dict[str, CallReply] = {}
        self.calls: list[Any] = []
        names = ("tide::now", "tide::raw", "yard::greet", "yard::odd", "yard::broken")
        hosted = [*(HostedFunction(name, readable=True) for name in names), HostedFunction("yard::private")]
        MemoryDirectory(self.gateway.functions).place(None, YARD, hosted)
        self.gateway.executors[YARD.arn] = self._answer

    def _answer(self, message: JsonObject) -> JsonObject:
        call: Any = message["call"]
        self.calls.append(call)
        return wire.reply_message(self.replies.get(call["function"], Result(None)))

    def registers(self, function: str, payload: JsonObject) -> Any:
        functions = self.gateway.composition.documents.functions
        answer = functions.call(function, payload, Caller(TENANT, OPERATOR, self.gateway.clock.now() + 20))
        assert isinstance(answer, dict), answer
        self.gateway.clock.advance(REVALIDATION_INTERVAL)
        return answer

    def ask(self, method: str, params: JsonObject | None = None) -> Any:
        if self.version == MODERN:
            return self.gateway.request(method, params, credential=self.key).json
        return self.gateway.request_legacy(method, params, self.version, self.key).json


@pytest.fixture(params=[MODERN, LEGACY])
def client(request: pytest.FixtureRequest) -> Client:
    return Client(request.param)


def text_of(answer: Any) -> str:
    (content,) = answer["result"]["contents"]
    return content["text"]


def test_the_index_is_listed_first_and_every_document_has_its_uri(client: Client) -> None:
    client.registers("skills::register", {"id": "resend", "skill": "# Resend\n\nSends mail."})
    client.registers("skills::register", {"id": "resend/email", "skill": "# Email\n\nOne mail."})
    listed = client.ask("resources/list")["result"]["resources"]
    assert [resource["uri"] for resource in listed] == ["iii://skills", "iii://resend", "iii://resend/email"]
    assert (listed[1]["name"], listed[1]["mimeType"]) == ("Resend", "text/markdown")
    assert [resource.get("size") for resource in listed] == [None, 21, 18]
    assert text_of(client.ask("resources/read", {"uri": "iii://resend/email"})) == "# Email\n\nOne mail."
    assert "`resend/email`](iii://resend/email)" in text_of(client.ask("resources/read", {"uri": "iii://skills"}))


def test_templates_of_documents_and_sections_are_listed_first(client: Client) -> None:
    templates = client.ask("resources/templates/list")["result"]["resourceTemplates"]
    patterns = [template["uriTemplate"] for template in templates]
    assert patterns[:2] == ["iii://{+skill_id}", "iii://fn/{+function_path}"]
    assert all(pattern.startswith("signpost://") for pattern in patterns[2:])


def test_a_section_is_the_result_of_its_function(client: Client) -> None:
    client.replies["tide::now"] = Result("# Tide\n\nRising.")
    client.replies["tide::raw"] = Result({"count": 42})
    assert text_of(client.ask("resources/read", {"uri": "iii://fn/tide/now"})) == "# Tide\n\nRising."
    raw = client.ask("resources/read", {"uri": "iii://fn/tide/raw"})["result"]["contents"][0]
    assert (raw["mimeType"], raw["text"]) == ("application/json", '{\n  "count": 42\n}')
    assert [(call["function"], call["arguments"]) for call in client.calls] == [("tide::now", {}), ("tide::raw", {})]
    assert round(client.calls[0]["deadline"] - client.gateway.clock.now()) == 10


def test_a_missing_document_has_the_error_code_of_the_protocol_revision(client: Client) -> None:
    error = client.ask("resources/read", {"uri": "iii://nowhere"})["error"]
    assert error["code"] == (-32602 if client.version == MODERN else -32002)
    assert error["data"]["uri"] == "iii://nowhere"
    assert "not found" in error["message"].lower()


@pytest.mark.parametrize(
    ("uri", "code", "says"),
    [
        ("iii://", -32602, "empty"),
        ("iii://a//b", -32602, "empty segment"),
        ("iii://fn/state/set", -32602, "internal namespace"),
        ("iii://fn/yard/private", -32603, "yard::private"),
        ("iii://fn/yard/broken", -32603, "No tide today."),
    ],
)
def test_a_document_that_cannot_be_read_is_an_error_with_the_reason(
    client: Client, uri: str, code: int, says: str
) -> None:
    client.replies["yard::broken"] = reported_failure("permanent_error", "No tide today.")
    error = client.ask("resources/read", {"uri": uri})["error"]
    assert (error["code"], says in error["message"]) == (code, True), error


def register_greeting(client: Client, function: str = "yard::greet") -> None:
    arguments: Json = [{"name": "who", "description": "Whom to greet.", "required": True}]
    payload: JsonObject = {"name": "greet", "description": "Greet", "function_id": function, "arguments": arguments}
    client.registers("prompts::register", payload)


def test_a_prompt_is_listed_and_rendered_by_its_function(client: Client) -> None:
    register_greeting(client)
    (prompt,) = client.ask("prompts/list")["result"]["prompts"]
    assert (prompt["name"], prompt["arguments"][0]["required"]) == ("greet", True)
    client.replies["yard::greet"] = Result({"content": "Hello, Ana!"})
    rendered = client.ask("prompts/get", {"name": "greet", "arguments": {"who": "Ana"}})["result"]
    assert rendered["description"] == "Greet"
    assert rendered["messages"] == [{"role": "user", "content": {"type": "text", "text": "Hello, Ana!"}}]
    assert client.calls[0]["arguments"] == {"who": "Ana"}


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (Result(42), -32603),
        (Result({"messages": ["no message"]}), -32603),
        (reported_failure("timeout", "Slow."), -32603),
    ],
)
def test_a_prompt_that_cannot_be_rendered_is_an_internal_error(client: Client, answer: CallReply, code: int) -> None:
    register_greeting(client)
    client.replies["yard::greet"] = answer
    assert client.ask("prompts/get", {"name": "greet"})["error"]["code"] == code


def test_an_unknown_prompt_is_an_invalid_parameter(client: Client) -> None:
    for name in ("nobody", "Not A Name", ""):
        assert client.ask("prompts/get", {"name": name})["error"]["code"] == -32602


def test_fetch_is_callable_and_not_listed_among_the_gateway_tools(client: Client) -> None:
    client.registers("skills::register", {"id": "a", "skill": "# A"})
    listed = client.ask("tools/list")["result"]["tools"]
    assert "skill__fetch" not in [tool["name"] for tool in listed]
    fetched = client.ask("tools/call", {"name": "skill__fetch", "arguments": {"uris": ["iii://a", "iii://skills"]}})
    assert fetched["result"]["content"][0]["text"].startswith("# iii://a\n\n# A\n\n---\n\n# iii://skills\n\n")
    refused = client.ask("tools/call", {"name": "skill__fetch", "arguments": {"uri": "https://elsewhere"}})["result"]
    assert (refused["isError"], "iii://" in refused["content"][0]["text"]) == (True, True)


def test_a_tenant_sees_no_content_of_another_tenant(client: Client) -> None:
    client.registers("skills::register", {"id": "a", "skill": "# A"})
    register_greeting(client)
    client.key = str(client.gateway.make_key("umbrella"))
    assert len(client.ask("resources/list")["result"]["resources"]) == 1
    assert client.ask("prompts/list")["result"]["prompts"] == []
    assert "error" in client.ask("resources/read", {"uri": "iii://a"})
