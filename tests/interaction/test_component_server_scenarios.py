"""A server of components, as clients of all revisions meet it: A-088 to A-210."""

import json
import re
from typing import Any, cast

import pytest

from signpost.errors import HEADER_MISMATCH, INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND
from signpost.mcp import pages
from signpost.mcp.headers import NAME_PARAMETER
from signpost.mcp.revisions import LEGACY_VERSIONS
from signpost.model import InputRequired, JsonObject
from signpost.toolkit import Context, Toolkit, user
from signpost.toolkit.testing import CANCELLED, DECLINED, GatewayClient
from tests.support.memory_gateway import META, MemoryGateway, build_modern_request

LISTS = {
    "tools": "tools/list", "prompts": "prompts/list", "resources": "resources/list",
    "resourceTemplates": "resources/templates/list",
}  # fmt: skip


def build_shelf(count: int) -> Toolkit:
    """Build a toolkit with this many tools, prompts, resources and templates."""
    kit = Toolkit("shelf")
    for number in range(count):

        def say() -> str:
            return "said"

        def draft() -> object:
            return [user("drafted")]

        def read() -> str:
            return "read"

        def find(name: str) -> str:
            return name

        for function in (say, draft, read, find):
            function.__name__ = f"{function.__name__}_{number}"
        kit.tool(say)
        kit.prompt(draft)
        kit.resource(f"shelf://{number}")(read)
        kit.template(f"shelf://{number}/{{name}}")(find)
    return kit


def names_of(entries: Any) -> list[str]:
    """Return the names and URIs of entries of the shelf, in the order of the list."""
    keys = [entry.get("uriTemplate") or entry.get("uri") or entry["name"] for entry in entries]
    return [key for key in keys if key.startswith("shelf://") or re.search(r"_\d$", key)]


@pytest.mark.parametrize(("member", "method"), LISTS.items())
def test_a088_a_short_list_is_one_page_without_a_cursor(member: str, method: str) -> None:
    result = GatewayClient(build_shelf(3)).request(method).result
    assert "nextCursor" not in result
    assert len(names_of(result[member])) == 3


@pytest.mark.parametrize(("member", "method"), LISTS.items())
def test_a089_a091_cursors_lead_through_a_list_in_order_to_its_end(
    monkeypatch: pytest.MonkeyPatch, member: str, method: str
) -> None:
    client = GatewayClient(build_shelf(5))
    whole = client.request(method).result[member]
    assert isinstance(whole, list)
    monkeypatch.setattr(pages, "PAGE_SIZE", 2)
    seen: list[Any] = []
    params: JsonObject = {}
    while True:
        result = client.request(method, params).result
        page = result[member]
        assert isinstance(page, list)
        assert 0 < len(page) <= 2
        seen += page
        if "nextCursor" not in result:
            break
        params = {"cursor": result["nextCursor"]}
    assert seen == whole


def test_a090_a_cursor_behind_the_last_entry_is_an_empty_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "PAGE_SIZE", 2)
    client = GatewayClient(build_shelf(3))
    cursor = client.request("prompts/list").result["nextCursor"]
    client.gateway.functions.placements.clear()
    client.gateway.functions.revisions["default"] += 1
    client.clock.advance(3)
    result = client.request("prompts/list", {"cursor": cursor}).result
    assert (result["prompts"], "nextCursor" in result) == ([], False)


def test_a094_templates_are_asked_in_their_order_until_one_answers() -> None:
    kit = Toolkit("shelf")
    asked: list[str] = []

    @kit.template("shelf://books/{name}")
    def book(name: str) -> str | None:
        asked.append("book")
        return "a book" if name == "atlas" else None

    @kit.template("shelf://{+path}")
    def anything(path: str) -> str | None:
        asked.append("anything")
        return None if path.endswith("nothing") else path

    assert [book, anything]
    client = GatewayClient(kit)
    assert client.read("shelf://books/atlas").text == "a book"
    assert client.read("shelf://books/bible").text == "books/bible"
    assert asked == ["book", "book", "anything"]
    missing = client.read("shelf://books/nothing").error
    assert missing is not None
    assert (missing["code"], missing["data"]) == (INVALID_PARAMS, {"uri": "shelf://books/nothing"})


def test_a096_a_list_without_entries_is_empty_and_one_entry_has_no_cursor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "PAGE_SIZE", 1)
    empty, single = GatewayClient(), GatewayClient(build_shelf(1))
    for client, count in ((empty, 0), (single, 1)):
        result = client.request("prompts/list").result
        assert isinstance(result["prompts"], list)
        assert (len(result["prompts"]), "nextCursor" in result) == (count, False)


@pytest.mark.parametrize(
    "method", ["tools/", "tools/find", "prompts/all", "resources/", "resources/write", "tools/list/"]
)
@pytest.mark.parametrize("revision", ["2026-07-28", *LEGACY_VERSIONS])
def test_a099_a128_an_unknown_method_of_a_known_kind_is_not_found_and_others_are_served(
    method: str, revision: str
) -> None:
    client = GatewayClient(build_shelf(1), revision=revision)
    error = client.request(method).error
    assert error is not None
    assert error["code"] == METHOD_NOT_FOUND
    assert client.call("say_0").text == "said"


def test_a118_the_log_of_a_request_names_its_client(capsys: pytest.CaptureFixture[str]) -> None:
    client = GatewayClient(build_shelf(1), name="a host")
    client.call("say_0")
    legacy = client.connect(revision=LEGACY_VERSIONS[0])
    info: JsonObject = {"name": "x" * 200, "version": "9"}
    legacy.request("initialize", {"protocolVersion": LEGACY_VERSIONS[0], "capabilities": {}, "clientInfo": info})
    legacy.call("say_0")
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line.get("client") for line in lines if line.get("message") == "answered"] == [
        "a host 1.0.0",
        f"{'x' * 64} 9",
        None,
    ]


@pytest.mark.parametrize("revision", ["2026-07-28", *LEGACY_VERSIONS])
@pytest.mark.parametrize(
    "notification", ["notifications/cancelled", "notifications/initialized", "notifications/roots/list_changed", "any"]
)
def test_a120_notifications_are_accepted_without_an_answer(notification: str, revision: str) -> None:
    gateway = MemoryGateway()
    body = json.dumps({"jsonrpc": "2.0", "method": notification, "params": {"requestId": 1}})
    headers = {"authorization": f"Bearer {gateway.make_key()}", "mcp-protocol-version": revision}
    answer = gateway.send(body=body, headers=headers)
    assert (answer.status, answer.text) == (202, "")


# Questions


def kit_asking(question: JsonObject) -> tuple[Toolkit, list[Any]]:
    """Build a toolkit whose tool asks this, and the answers that it got."""
    kit, answers = Toolkit("spy"), list[Any]()

    @kit.tool
    def ask(ctx: Context) -> object:
        if not ctx.answers:
            return InputRequired({"q": question}, state=1)
        answers.append(ctx.answers["q"])
        return "thanks"

    assert ask
    return kit, answers


def test_a123_a_question_to_a_model_has_its_members_and_the_answer_reaches_the_function() -> None:
    hello: JsonObject = {"role": "user", "content": {"type": "text", "text": "Hello"}}
    params: JsonObject = {
        "messages": [hello], "systemPrompt": "Be brief.", "maxTokens": 9,
        "modelPreferences": {"hints": [{"name": "small"}], "speedPriority": 0.5},
    }  # fmt: skip
    kit, answers = kit_asking({"method": "sampling/createMessage", "params": params})
    client = GatewayClient(kit, answers={"q": "Hi"})
    assert client.call("ask").text == "thanks"
    assert client.asked[0].params == params
    (answer,) = answers
    assert (answer["role"], answer["content"]) == ("assistant", {"type": "text", "text": "Hi"})


@pytest.mark.parametrize("given", [{"name": "Ada"}, DECLINED, CANCELLED], ids=["accepted", "declined", "cancelled"])
def test_a124_a_form_has_its_message_and_schema_and_each_answer_reaches_the_function(given: Any) -> None:
    schema: JsonObject = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    params: JsonObject = {"message": "Which name?", "requestedSchema": schema}
    kit, answers = kit_asking({"method": "elicitation/create", "params": params})
    client = GatewayClient(kit, answers={"q": given})
    assert client.call("ask").text == "thanks"
    assert client.asked[0].params == params
    assert answers == [given if "action" in given else {"action": "accept", "content": given}]


def test_a124_a_form_with_an_invalid_schema_is_asked_of_no_client() -> None:
    nested: JsonObject = {"type": "object", "properties": {"a": {"type": "object", "properties": {}}}}
    kit, answers = kit_asking({"method": "elicitation/create", "params": {"message": "?", "requestedSchema": nested}})
    client = GatewayClient(kit, answers={})
    reply = client.call("ask")
    assert (reply.is_error, client.asked, answers) == (True, [], [])


# Revisions


@pytest.mark.parametrize("version", LEGACY_VERSIONS)
def test_a129_capabilities_that_a_revision_does_not_know_are_not_advertised(version: str) -> None:
    client = GatewayClient(build_shelf(1), revision=version)
    info: JsonObject = {"name": "test", "version": "1"}
    params: JsonObject = {"protocolVersion": version, "capabilities": {}, "clientInfo": info}
    result = client.request("initialize", params).result
    assert result["protocolVersion"] == version
    expected = {"tools", "resources", "prompts", *(["completions"] if version >= "2025-03-26" else [])}
    assert isinstance(result["capabilities"], dict)
    assert {*result["capabilities"]} == expected


def test_a145_a147_the_state_of_a_question_is_json_and_returns_unchanged_to_another_container() -> None:
    state: Any = {"a": [1, 2.5, None, True, "ä\u2028"], "b": {"c": {}}}
    kit, handle = Toolkit("spy"), cast("Any", object())
    seen: list[Any] = []

    @kit.tool
    def ask(what: str, ctx: Context) -> object:
        if ctx.answers:
            seen.append(ctx.state)
            return "thanks"
        return InputRequired({"q": {"method": "roots/list"}}, state=state if what == "json" else handle)

    assert ask
    client = GatewayClient(kit)
    asked = client.call("ask", {"what": "json"})
    client.start_cold()
    assert client.answer(asked, {"q": []}).text == "thanks"
    assert seen == [state]
    assert client.call("ask", {"what": "a handle"}).is_error
    assert [line["outcome"] for line in client.log if line["message"] == "fault"] == ["bad_result"]


@pytest.mark.parametrize("crash", ["raises", "answers no JSON"])
def test_a132_a133_a_crash_or_a_malformed_answer_is_an_error_and_the_next_call_works(crash: str) -> None:
    kit = Toolkit("spy")

    @kit.tool
    def work(how: str) -> object:
        if how == "raises":
            raise RuntimeError("hunter2")
        return object() if how == "answers no JSON" else "done"

    @kit.prompt
    def draft(how: str) -> object:
        if how == "raises":
            raise RuntimeError("hunter2")
        return object() if how == "answers no JSON" else "done"

    assert [work, draft]
    client = GatewayClient(kit)
    failed = client.call("work", {"how": crash})
    assert (failed.is_error, failed.error, "hunter2" in failed.text) == (True, None, False)
    assert client.call("work", {"how": "well"}).text == "done"
    error = client.get_prompt("draft", {"how": crash}).error
    assert error is not None
    assert (error["code"], "hunter2" in str(error)) == (INTERNAL_ERROR, False)
    assert client.get_prompt("draft", {"how": "well"}).text == "done"


def test_a125_a137_the_log_of_an_executor_has_name_outcome_and_duration_of_each_call() -> None:
    kit = Toolkit("spy")

    @kit.tool
    def work(divisor: int) -> float:
        return 1 / divisor

    assert work
    client = GatewayClient(kit)
    client.call("work", {"divisor": 1})
    client.call("work", {"divisor": 0})
    client.call("no such tool")
    called = [line for line in client.log if line["message"] == "called"]
    assert [(line["function"], line["outcome"]) for line in called] == [
        ("spy::work", "result"), ("spy::work", "exception"),
    ]  # fmt: skip
    assert all(isinstance(line["ms"], float) for line in called)


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("resources/read", {}),
        ("resources/read", {"uri": 7}),
        ("tools/call", {"name": 7}),
        ("tools/call", {"name": "skill:say_0", "arguments": []}),
        ("prompts/get", {"name": "draft_0", "arguments": {"a": 7}}),
        ("completion/complete", {"ref": {"type": "ref/prompt", "name": "draft_0"}}),
        ("completion/complete", {"ref": {"type": "other"}, "argument": {"name": "a", "value": ""}}),
    ],
)
@pytest.mark.parametrize("revision", ["2026-07-28", LEGACY_VERSIONS[0]])
def test_a203_each_method_requires_its_members(revision: str, method: str, params: JsonObject) -> None:
    error = GatewayClient(build_shelf(1), revision=revision).request(method, params).error
    assert error is not None
    # Without a name there is no header that repeats it, which is noticed first.
    name = params.get(NAME_PARAMETER.get(method, ""), "")
    lacks_header = revision == "2026-07-28" and (not isinstance(name, str) or params == {})
    assert error["code"] == (HEADER_MISMATCH if lacks_header else INVALID_PARAMS)


def test_a209_unknown_members_of_the_envelope_are_accepted() -> None:
    gateway = MemoryGateway()
    message, headers = build_modern_request("tools/list", {}, {**META, "example.test/any": {"deep": [1]}})
    key = {"authorization": f"Bearer {gateway.make_key()}"}
    assert gateway.send(body=json.dumps(message), headers={**headers, **key}).status == 200
