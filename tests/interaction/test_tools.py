"""Tools: names in both spellings, arguments and results that satisfy their schemas, answers of any length."""

import hashlib
import json
import re
import time
from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

from signpost.errors import Unavailable
from signpost.mcp.dispatch import LONGEST_ANSWER
from signpost.mcp.names import LONGEST, portable_names, simplify_name
from signpost.mcp.surface import Surface
from signpost.model import Call, CallToolResult, Json, JsonObject, Tool
from signpost.wiring.endpoints import build_gateway_surface
from stage.samples import TENANT
from tests.support.fixture_provider import add_fixtures
from tests.support.memory_gateway import GatewayAnswer, MemoryGateway, build_modern_request


class Stage:
    """A gateway with the fixtures, and somebody who sees them."""

    def __init__(self, surface: Surface | None = None, **environment: str) -> None:
        self.gateway = MemoryGateway(None, **environment)
        self.gateway.serve_surface(surface or add_fixtures(build_gateway_surface(self.gateway.composition)))
        self.credential = str(self.gateway.make_key(TENANT))

    def call(self, name: str, arguments: Json = None, **headers: str) -> Any:
        answer = self.send("tools/call", {"name": name, "arguments": arguments or {}}, None, **headers)
        assert "result" in answer.json, answer.text
        return answer.json["result"]

    def send(
        self, method: str, params: JsonObject, query: dict[str, str] | None = None, **headers: str
    ) -> GatewayAnswer:
        message, sent = build_modern_request(method, params)
        sent |= {"authorization": f"Bearer {self.credential}"}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        return self.gateway.send(body=json.dumps(message), headers=sent, query=query)


@pytest.fixture
def stage() -> Stage:
    return Stage()


@pytest.mark.invariant(21)
@pytest.mark.parametrize(
    ("arguments", "field"),
    [({"a": 1}, "`b`"), ({"a": 1, "b": "2"}, "`b`"), ({"a": 1, "b": 2, "c": 3}, "`c`"), ({"a": None, "b": 1}, "`a`")],
)
def test_invalid_arguments_are_refused_by_name_before_the_tool_is_called(
    stage: Stage, arguments: JsonObject, field: str
) -> None:
    result = stage.call("test_add", arguments)
    assert result["isError"] is True
    assert field in result["content"][0]["text"]
    assert "structuredContent" not in result


def test_valid_arguments_reach_the_tool(stage: Stage) -> None:
    assert stage.call("test_add", {"a": 1, "b": 2.5})["structuredContent"] == {"sum": 3.5}


def test_arguments_nested_too_deeply_are_an_error_result(stage: Stage) -> None:
    deep: Json = 1
    for _ in range(80):
        deep = [deep]
    result = stage.call("test_long_answer", {"characters": deep})
    assert result["isError"] is True
    assert "nested too deeply" in result["content"][0]["text"]


@pytest.mark.invariant(21)
def test_a_result_that_violates_its_schema_is_an_internal_error(stage: Stage) -> None:
    answer = stage.send("tools/call", {"name": "test_broken_promise", "arguments": {}}).json
    assert "result" not in answer
    assert answer["error"]["code"] == -32603


def test_a_tool_with_a_refused_schema_is_an_error_and_is_not_called() -> None:
    class Odd:
        def tools(self, call: Call) -> Sequence[Tool]:
            del call
            schema: JsonObject = {"type": "object", "properties": {"a": {"$ref": "https://example.com/schema.json"}}}
            return [Tool("odd", "Refers to a schema elsewhere.", schema)]

        def tool(self, name: str, call: Call) -> Tool | None:
            return self.tools(call)[0] if name == "odd" else None

        def call_tool(self, tool: Tool, arguments: JsonObject, call: Call) -> CallToolResult:
            raise AssertionError((tool, arguments, call))

    result = Stage(Surface("test", "", tools=(Odd(),))).call("odd", {"a": 1})
    assert result["isError"] is True
    assert "points outside the schema" in result["content"][0]["text"]


@pytest.mark.invariant(24)
def test_both_spellings_of_a_name_are_callable(stage: Stage) -> None:
    for name in ("gateway.home", "gateway_home"):
        assert stage.call(name)["structuredContent"]["items"] == []


@pytest.mark.parametrize(
    ("setting", "query", "first"),
    [
        ("canonical", {}, "gateway.home"),
        ("canonical", {"names": "portable"}, "gateway_home"),
        ("portable", {}, "gateway_home"),
        ("portable", {"names": "canonical"}, "gateway.home"),
    ],
)
def test_names_are_spelled_by_setting_or_query(setting: str, query: dict[str, str], first: str) -> None:
    listed = Stage(TOOL_NAMES=setting).send("tools/list", {}, query).json["result"]["tools"]
    assert listed[0]["name"] == first


@pytest.mark.invariant(24)
def test_portable_names_are_portable_short_and_unique() -> None:
    names = ["workflow:Tech News Digest", "skill:web_search", "skill_web.search", "a" * 60, "…", "gateway.home"]
    spelled = portable_names(names)
    assert spelled["workflow:Tech News Digest"] == "workflow_tech_news_digest"
    assert spelled["skill:web_search"].startswith("skill_web_search_")
    assert len(set(spelled.values())) == len(names)
    assert all(len(name) <= LONGEST and name.replace("_", "").replace("-", "").isalnum() for name in spelled.values())
    assert portable_names(list(reversed(names))) == spelled


PORTABLE = re.compile(r"[A-Za-z0-9_-]{1,64}")


def generate_names(number: int, letters: str) -> Sequence[str]:
    """Always the same, and each once."""
    chosen = Random(number)  # noqa: S311 - nothing is kept secret by it
    return [
        f"{chosen.choice(('skill:', 'workflow:'))}{''.join(chosen.choices(letters, k=chosen.randint(1, 60)))}{one}"
        for one in range(number)
    ]


@pytest.mark.invariant(24)
@pytest.mark.parametrize("letters", ["abcXYZ019_-", "ab.: _", "…ü\ud800 ", "x"])
def test_ten_thousand_names_have_unique_portable_names_in_any_order(letters: str) -> None:
    names = generate_names(10_000, letters)
    spelled = portable_names(names)
    assert len(set(spelled.values())) == len(names) == len(spelled)
    assert all(map(PORTABLE.fullmatch, spelled.values()))
    assert portable_names(names[::-1]) == spelled


@pytest.mark.invariant(24)
def test_names_without_letters_have_unique_portable_names() -> None:
    names = ["…" * times for times in range(1, 10_001)]
    spelled = portable_names(names)
    assert len(set(spelled.values())) == len(names)
    assert all(map(PORTABLE.fullmatch, spelled.values()))


def test_a_portable_name_changes_only_on_a_collision() -> None:
    names = generate_names(500, "ab. ")
    before, after = portable_names(names[:250]), portable_names(names)
    simple = Counter(map(simplify_name, names))
    changed = {name for name in names[:250] if before[name] != after[name]}
    assert all(simple[simplify_name(name)] > 1 for name in changed)


@pytest.mark.parametrize(
    ("arguments", "headers", "code"),
    [
        ({"region": "eu"}, {"mcp_param_region": "eu"}, None),
        ({"region": "eu"}, {"mcp_param_region": "=?base64?ZXU=?="}, None),
        ({"limit": 1}, {}, None),
        ({"region": "eu"}, {}, -32020),
        ({"region": "eu"}, {"mcp_param_region": "us"}, -32020),
        ({}, {"mcp_param_region": "eu"}, -32020),
        ({"region": None}, {"mcp_param_region": "eu"}, -32020),
    ],
)
def test_a_mirrored_argument_must_match_its_header(
    stage: Stage, arguments: JsonObject, headers: dict[str, str], code: int | None
) -> None:
    answer = stage.send("tools/call", {"name": "test_mirrored_argument", "arguments": arguments}, None, **headers)
    assert answer.json.get("error", {}).get("code") == code


@pytest.mark.invariant(25)
def test_a_result_that_is_too_long_becomes_a_link(stage: Stage) -> None:
    result = stage.call("test_long_answer", {"characters": LONGEST_ANSWER})
    link = result["content"][1]
    assert (link["type"], link["mimeType"], result["isError"]) == ("resource_link", "application/json", False)
    assert f"//{TENANT}/" in link["uri"]
    kept: Any = stage.gateway.adapters.long_answers
    assert len(json.loads(kept.kept[link["uri"]])["content"][0]["text"]) == LONGEST_ANSWER


def test_a_long_result_within_the_limit_is_sent(stage: Stage) -> None:
    result = stage.call("test_long_answer", {"characters": LONGEST_ANSWER - 1000})
    assert len(result["content"][0]["text"]) == LONGEST_ANSWER - 1000


@pytest.mark.invariant(25)
def test_escapes_and_notifications_count_towards_the_limit_of_an_answer(stage: Stage) -> None:
    # Every answer of the memory gateway is held against Lambda's limit.
    result = stage.call("test_long_answer", {"characters": LONGEST_ANSWER // 2 - 1000, "of": '"'})
    assert len(result["content"][0]["text"]) == LONGEST_ANSWER // 2 - 1000
    arguments: JsonObject = {"characters": LONGEST_ANSWER - 1000, "notices": 60}
    message = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "test_long_answer", "arguments": arguments},
    }
    headers = {"authorization": f"Bearer {stage.credential}", "accept": "text/event-stream"}
    *notices, answer = sent_events(stage.gateway.send(body=json.dumps(message), headers=headers))
    assert len(notices) == 2
    assert answer["id"] == 1


@pytest.mark.invariant(25)
def test_messages_of_a_batch_over_the_answer_limit_are_not_executed(stage: Stage) -> None:
    params = {"name": "test_long_answer", "arguments": {"characters": LONGEST_ANSWER // 2}}
    batch = [{"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params} for number in range(3)]
    headers = {"authorization": f"Bearer {stage.credential}"}
    first, second, third = stage.gateway.send(body=json.dumps(batch), headers=headers).json
    assert len(first["result"]["content"][0]["text"]) == LONGEST_ANSWER // 2
    assert [second["id"], third["id"]] == [1, 2]
    assert "was not carried out" in second["error"]["message"]


def test_a_result_that_cannot_be_kept_is_an_error_that_states_the_tool_ran(stage: Stage) -> None:
    class Full:
        def keep(self, tenant: str, text: str) -> str:
            raise Unavailable(f"{tenant} {len(text)}")

    stage.gateway.replace_adapters(long_answers=Full())
    stage.gateway.serve_surface(add_fixtures(build_gateway_surface(stage.gateway.composition)))
    result = stage.call("test_long_answer", {"characters": LONGEST_ANSWER})
    assert result["isError"] is True
    assert "The tool ran" in result["content"][0]["text"]


SLOW: JsonObject = {"type": "object", "properties": {"a": {"type": "array", "uniqueItems": True}}}


def test_the_validation_of_a_value_stops_after_two_seconds() -> None:
    class Unique(ManyTools):
        def tools(self, call: Call) -> Sequence[Tool]:
            del call
            return [Tool("unique", "Wants no two alike.", SLOW)]

    stage = Stage(Surface("test", "", tools=(Unique(1),)))
    before = time.process_time()  # two seconds of the clock are at most two of the processor, on any machine
    result = stage.call("unique", {"a": ["x", *([number] for number in range(50_000))]})
    assert time.process_time() - before < 5
    assert result["isError"] is True
    assert "too long" in result["content"][0]["text"]


@pytest.mark.parametrize(
    ("version", "kinds"),
    [("2024-11-05", ["text"]), ("2025-03-26", ["audio"]), ("2025-11-25", ["audio"])],
)
def test_newer_content_types_are_described_as_text_to_legacy_clients(
    stage: Stage, version: str, kinds: list[str]
) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "test_audio_content"}}
    headers = {"authorization": f"Bearer {stage.credential}", "mcp-protocol-version": version}
    content = stage.gateway.send(body=json.dumps(message), headers=headers).json["result"]["content"]
    assert [block["type"] for block in content] == kinds


def test_one_gateway_lists_canonical_and_portable_names(stage: Stage) -> None:
    for query, first in (({}, "gateway.home"), ({"names": "portable"}, "gateway_home"), ({}, "gateway.home")):
        assert stage.send("tools/list", {}, query).json["result"]["tools"][0]["name"] == first


def test_a_portable_name_never_equals_the_name_of_another_tool() -> None:
    names = ["a.b", "a:b", "a_b", f"a_b_{hashlib.sha256(b'a.b').hexdigest()[:6]}"]
    spelled = portable_names(names)
    assert len(set(spelled.values())) == len(names)
    assert spelled["a_b"] == "a_b" or spelled["a_b"] not in names
    assert spelled["a.b"] not in names


def test_a_portable_name_never_equals_the_name_of_an_unlisted_tool() -> None:
    class Hiding(ManyTools):
        def tools(self, call: Call) -> Sequence[Tool]:
            return [tool for tool in super().tools(call) if tool.name != "do_it"]

        def tool(self, name: str, call: Call) -> Tool | None:
            return next((tool for tool in super().tools(call) if tool.name == name), None)

    hiding = Hiding(0)
    hiding.names = ["do.it", "do_it"]
    stage = Stage(Surface("test", "", tools=(hiding,)))
    (listed,) = stage.send("tools/list", {}, {"names": "portable"}).json["result"]["tools"]
    assert stage.call(listed["name"])["content"][0]["text"] == "do.it"
    assert stage.call("do_it")["content"][0]["text"] == "do_it"


def sent_events(answer: GatewayAnswer) -> list[Any]:
    return [json.loads(line.removeprefix("data: ")) for line in answer.text.split("\n") if line.startswith("data: ")]


def ask_with_progress(stage: Stage, accept: str) -> GatewayAnswer:
    meta: JsonObject = {"progressToken": "p"}
    message = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "test_tool_with_progress", "_meta": meta},
    }
    headers = {"authorization": f"Bearer {stage.credential}", "accept": accept, "mcp-protocol-version": "2025-11-25"}
    return stage.gateway.send(body=json.dumps(message), headers=headers)


def test_progress_is_sent_as_events_before_the_answer(stage: Stage) -> None:
    answer = ask_with_progress(stage, "application/json, text/event-stream")
    assert answer.headers["content-type"] == "text/event-stream"
    *progress, result = sent_events(answer)
    assert [event["params"]["progress"] for event in progress] == [0, 50, 100]
    assert {event["params"]["progressToken"] for event in progress} == {"p"}
    assert result["id"] == 1


def test_a_client_that_accepts_no_events_gets_only_the_answer(stage: Stage) -> None:
    answer = ask_with_progress(stage, "application/json")
    assert answer.headers["content-type"] == "application/json"
    assert answer.json["id"] == 1


@pytest.mark.parametrize(
    ("level", "messages"), [(None, 0), ("debug", 3), ("info", 3), ("warning", 0), ("emergency", 0)]
)
def test_log_messages_are_sent_from_the_requested_level_on(stage: Stage, level: str | None, messages: int) -> None:
    named: JsonObject = {"io.modelcontextprotocol/logLevel": level} if level else {}
    message, headers = build_modern_request("tools/call", {"name": "test_logging_tool", "arguments": {}})
    body: dict[str, Any] = json.loads(json.dumps(message))
    body["params"]["_meta"] |= named
    headers |= {"authorization": f"Bearer {stage.credential}", "accept": "text/event-stream"}
    answer = stage.gateway.send(body=json.dumps(body), headers=headers)
    assert len(sent_events(answer)) == (messages + 1 if messages else 0)


class ManyTools:
    """A provider with more tools than one page holds."""

    def __init__(self, number: int) -> None:
        self.names = [f"tool-{index:05}" for index in range(number)]
        self.description = "One of many."

    def tools(self, call: Call) -> Sequence[Tool]:
        del call
        return [Tool(name, self.description, {"type": "object"}) for name in self.names]

    def tool(self, name: str, call: Call) -> Tool | None:
        return next((tool for tool in self.tools(call) if tool.name == name), None)

    def call_tool(self, tool: Tool, arguments: JsonObject, call: Call) -> CallToolResult:
        del arguments, call
        return CallToolResult([{"type": "text", "text": tool.name}])


def test_a_long_list_is_paged_while_tools_are_added_and_removed() -> None:
    many = ManyTools(2500)
    stage = Stage(Surface("test", "", tools=(many,)))
    first = stage.send("tools/list", {}).json["result"]
    many.names.insert(0, "tool-new")
    second = stage.send("tools/list", {"cursor": first["nextCursor"]}).json["result"]
    many.names.remove("tool-01999")
    third = stage.send("tools/list", {"cursor": second["nextCursor"]}).json["result"]
    listed = [tool["name"] for page in (first, second, third) for tool in page["tools"]]
    assert listed == [f"tool-{index:05}" for index in range(2500) if index != 2000]  # one left before it was seen
    assert "nextCursor" not in third


def test_a_page_is_limited_by_its_size() -> None:
    many = ManyTools(900)
    many.description = "x" * 5000
    stage = Stage(Surface("test", "", tools=(many,)))
    listed, params = 0, {}
    while params is not None:
        result = stage.send("tools/list", params).json["result"]
        listed += len(result["tools"])
        params = {"cursor": result["nextCursor"]} if "nextCursor" in result else None
    assert listed == 900


def test_paging_ends_for_a_list_with_duplicate_names() -> None:
    stage = Stage(Surface("test", "", tools=(ManyTools(1500), ManyTools(1500))))
    pages, params = 0, {}
    while params is not None:
        result = stage.send("tools/list", params).json["result"]
        pages += 1
        params = {"cursor": result["nextCursor"]} if "nextCursor" in result else None
    assert pages == 3


def test_a_cursor_is_valid_only_for_its_list_and_principal() -> None:
    stage = Stage(Surface("test", "", tools=(ManyTools(1001),)))
    cursor = stage.send("tools/list", {}).json["result"]["nextCursor"]
    assert "result" in stage.send("tools/list", {"cursor": cursor}).json
    stage.credential = str(stage.gateway.make_key(TENANT))
    assert stage.send("tools/list", {"cursor": cursor}).json["error"]["code"] == -32602
    assert stage.send("resources/list", {"cursor": cursor}).json["error"]["code"] in (-32601, -32602)
    for garbage in ("", "x", f"{cursor}x", 7):
        assert stage.send("tools/list", {"cursor": garbage}).json["error"]["code"] == -32602
