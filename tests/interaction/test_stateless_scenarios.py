"""A server without sessions, as clients meet it: S-001 to S-032."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from signpost.errors import CAPABILITY_MISSING, HEADER_MISMATCH, INVALID_PARAMS, METHOD_NOT_FOUND
from signpost.mcp import pages
from signpost.mcp.request import LOG_LEVEL
from signpost.mcp.retry_state import STATE_LIFETIME
from signpost.mcp.revisions import CLIENT_CAPABILITIES, PROTOCOL_VERSION
from signpost.model import InputRequired, JsonObject
from signpost.testing.client_replies import ClientReply
from signpost.testing.profiles import CLIENT_INFO
from signpost.toolkit import Context, DeclarationError, Toolkit
from signpost.toolkit.testing import GatewayClient
from tests.support.memory_gateway import META, GatewayAnswer, MemoryGateway, build_modern_request
from tests.support.toolkits import ServedToolkits

NAME: JsonObject = {"type": "object", "properties": {"name": {"type": "string"}}}
FORM: JsonObject = {"method": "elicitation/create", "params": {"message": "Which name?", "requestedSchema": NAME}}
PAGE: JsonObject = {
    "method": "elicitation/create", "params": {"mode": "url", "message": "Sign in.", "url": "https://a.test/"},
}  # fmt: skip
ADA: JsonObject = {"q": {"name": "Ada"}}
REMOVED = (
    "ping", "initialize", "logging/setLevel", "resources/subscribe", "resources/unsubscribe", "roots/list",
    "tasks/result", "tasks/list", "nonsense",
)  # fmt: skip


class Yard:
    """A toolkit whose tools ask, and note each time that they run to an end."""

    def __init__(self, question: JsonObject = FORM) -> None:
        self.finished: list[str] = []
        self.kit = kit = Toolkit("yard")

        def ask(ctx: Context, kind: str) -> object:
            answers: Any = ctx.answers
            if not answers:
                return InputRequired({"q": question}, state=kind)
            self.finished.append(f"{kind} of {ctx.principal.subject}")
            return f"{kind} for {answers['q']['content']['name']}"

        @kit.tool
        def plant(ctx: Context, kind: str = "oak") -> object:
            """Plants a tree."""
            return ask(ctx, kind)

        @kit.tool
        def fell(ctx: Context, kind: str = "oak") -> object:
            return ask(ctx, kind)

        @kit.prompt
        def praise(ctx: Context) -> object:
            return ask(ctx, "praise")

        @kit.resource("yard://rules")
        def rules(ctx: Context) -> object:
            return ask(ctx, "rules")

        @kit.template("yard://trees/{tree}", complete={"tree": ["elm", "oak"]})
        def tree(tree: str) -> str:
            return tree

        assert [plant, fell, praise, rules, tree]


def post(message: JsonObject, headers: Mapping[str, str], method: str = "POST") -> GatewayAnswer:
    gateway = MemoryGateway()
    return gateway.send(
        method, body=json.dumps(message), headers={**headers, "authorization": f"Bearer {gateway.make_key()}"}
    )


def raw_result(reply: ClientReply) -> Any:
    """Return the result of a reply, also one that asks first."""
    return reply.message["result"]


def error_code(reply: ClientReply) -> object:
    return None if reply.error is None else reply.error["code"]


# Requests


@pytest.mark.parametrize(
    "left_out", [(PROTOCOL_VERSION,), (CLIENT_CAPABILITIES,), (PROTOCOL_VERSION, CLIENT_CAPABILITIES)]
)
def test_s001_an_incomplete_envelope_is_refused_with_the_id_of_its_request(left_out: tuple[str, ...]) -> None:
    meta = {name: value for name, value in META.items() if name not in left_out}
    message, headers = build_modern_request("tools/list", {}, meta)
    answer = post({**message, "id": "seven"}, headers)
    assert (answer.status, answer.json["error"]["code"], answer.json["id"]) == (400, INVALID_PARAMS, "seven")


def test_s001_a_request_without_client_info_is_served() -> None:
    assert CLIENT_INFO not in META
    message, headers = build_modern_request("tools/list", {})
    assert post(message, headers).status == 200


@pytest.mark.parametrize(
    ("sent", "status"), [("2", 200), ("02", 200), ("3", 400), ("2.0", 400), ("two", 400), ("2, 2", 400), (None, 400)]
)
def test_s003_integers_in_headers_are_compared_as_numbers(sent: str | None, status: int) -> None:
    kit = Toolkit("yard")

    @kit.tool(input_schema={"type": "object", "properties": {"n": {"type": "integer", "x-mcp-header": "N"}}})
    def count(args: Any) -> Any:
        return args

    assert count
    assert GatewayClient(kit).call("count", {"n": 2}).structured == {"n": 2}
    served = ServedToolkits(kit, endpoint="/mcp/flat")
    message, headers = build_modern_request("tools/call", {"name": "skill:count", "arguments": {"n": 2}})
    mirrored = {} if sent is None else {"mcp-param-n": sent}
    credential = {"authorization": f"Bearer {served.key}"}
    answer = served.gateway.send(
        path=served.endpoint, body=json.dumps(message), headers={**headers, **mirrored, **credential}
    )
    assert answer.status == status
    assert status == 200 or answer.json["error"]["code"] == HEADER_MISMATCH


@pytest.mark.parametrize("method", REMOVED)
def test_s004_a_method_that_the_revision_lacks_is_404(method: str) -> None:
    message, headers = build_modern_request(method, {})
    answer = post(message, headers)
    assert (answer.status, answer.json["error"]["code"], answer.json["id"]) == (404, METHOD_NOT_FOUND, 1)


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
def test_s005_an_endpoint_takes_posts_only(method: str) -> None:
    answer = post({}, {"accept": "text/event-stream", "mcp-session-id": "7", "last-event-id": "3"}, method)
    assert answer.status == 405
    assert "POST" in answer.headers["allow"]
    assert "mcp-session-id" not in answer.headers


def test_s005_headers_of_sessions_and_streams_are_ignored_and_not_echoed() -> None:
    message, headers = build_modern_request("tools/list", {})
    plain = post(message, headers)
    answer = post(message, {**headers, "mcp-session-id": "7", "last-event-id": "3"})
    assert answer == plain
    assert not {"mcp-session-id", "last-event-id"} & answer.headers.keys()


def test_s008_every_result_has_its_type_and_lists_say_how_long_they_are_fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "PAGE_SIZE", 2)
    client = GatewayClient(Yard().kit)
    first = client.request("tools/list").result
    second = client.request("tools/list", {"cursor": first["nextCursor"]}).result
    assert first["cacheScope"] == second["cacheScope"]
    lists = ("prompts/list", "resources/list", "resources/templates/list", "server/discover")
    for result in (first, second, *(client.request(method).result for method in lists)):
        assert (result["resultType"], result["cacheScope"]) == ("complete", "private")
        assert isinstance(result["ttlMs"], int)
        assert result["ttlMs"] >= 0
    read = client.read("yard://trees/elm").result
    assert (read["resultType"], "ttlMs" in read, "cacheScope" in read) == ("complete", True, True)
    assert client.call("catalog").result["resultType"] == "complete"
    asked = raw_result(client.call("plant"))
    assert (asked["resultType"], {"ttlMs", "cacheScope"} & asked.keys()) == ("input_required", set())


def test_s009_two_connections_and_cold_containers_list_the_same() -> None:
    client = GatewayClient(Yard().kit)
    other = client.connect(name="another client")
    for method in ("tools/list", "prompts/list", "resources/list", "resources/templates/list"):
        seen = [client.request(method).result, other.request(method).result]
        client.start_cold()
        assert [*map(json.dumps, seen)] == [json.dumps(client.request(method).result)] * 2


# Questions


def test_s012_a_question_has_a_stable_key_and_a_sealed_state_and_its_answer_ends_the_request() -> None:
    yard = Yard()
    client = GatewayClient(yard.kit)
    first, again = client.call("plant", {"kind": "elm"}), client.call("plant", {"kind": "elm"})
    assert list(first.questions) == list(again.questions) == ["q"]
    assert "elm" not in raw_result(first)["requestState"]
    done = client.answer(first, ADA)
    assert (done.text, done.message["id"] != first.message["id"]) == ("elm for Ada", True)


@pytest.mark.parametrize(
    ("question", "declared", "missing"),
    [
        (FORM, (), {"elicitation": {}}),
        (FORM, ("sampling", "roots"), {"elicitation": {}}),
        (PAGE, ("elicitation",), {"elicitation": {"url": {}}}),
    ],
    ids=["nothing", "others", "forms only"],
)
def test_s013_a_question_that_a_client_cannot_answer_is_refused_with_the_capability(
    question: JsonObject, declared: tuple[str, ...], missing: JsonObject
) -> None:
    yard = Yard(question)
    client = GatewayClient(yard.kit, capabilities=declared)
    for reply in (client.call("plant"), client.get_prompt("praise"), client.read("yard://rules")):
        assert (reply.status, error_code(reply)) == (400, CAPABILITY_MISSING)
        assert reply.error is not None
        assert reply.error["data"] == {"requiredCapabilities": missing}
    assert yard.finished == []


def test_s014_a_state_that_is_not_of_this_caller_and_request_has_one_refusal_and_no_effect() -> None:
    yard = Yard()
    client = GatewayClient(yard.kit)
    asked = client.call("plant", {"kind": "elm"})
    state = raw_result(asked)["requestState"]
    good: JsonObject = {"q": {"action": "accept", "content": {"name": "Ada"}}}

    def retry(sender: GatewayClient, state: str, name: str = "skill:plant", kind: str = "elm") -> ClientReply:
        params: JsonObject = {"name": name, "arguments": {"kind": kind}}
        return sender.request("tools/call", {**params, "inputResponses": good, "requestState": state})

    refused = [
        retry(client, f"{state[:-2]}AA"),
        retry(client, f"x{state}"),
        retry(client.connect(principal="mallory"), state),
        retry(client, state, name="skill:fell"),
        retry(client, state, kind="oak"),
    ]
    client.clock.advance(STATE_LIFETIME)
    refused.append(retry(client, state))
    assert {(reply.status, json.dumps(reply.error)) for reply in refused} == {(400, json.dumps(refused[0].error))}
    assert (error_code(refused[0]), yard.finished) == (INVALID_PARAMS, [])
    client.clock.advance(-1)
    assert retry(client, state).text == "elm for Ada"


def test_s018_tools_prompts_and_resources_ask_and_no_other_method_does() -> None:
    yard = Yard()
    client = GatewayClient(yard.kit)
    asking = (client.call("plant"), client.get_prompt("praise"), client.read("yard://rules"))
    assert [reply.is_input_required for reply in asking] == [True] * 3
    answered = [client.answer(reply, ADA).text for reply in asking]
    assert answered == ["oak for Ada", "praise for Ada", "rules for Ada"]
    for method in ("tools/list", "prompts/list", "resources/list", "resources/templates/list", "server/discover"):
        reply = client.request(method, {"inputResponses": {}, "requestState": "x"})
        assert (reply.is_error, reply.is_input_required) == (False, False)
    assert client.complete("yard://trees/{tree}", "tree", "e") == ["elm"]


# Time, notifications, access and sizes


def test_s020_a_long_call_of_a_client_without_tasks_is_a_run_whose_link_is_the_answer() -> None:
    kit = Toolkit("yard")

    @kit.tool(timeout_ms=60_000)
    def grow() -> str:
        return "grown"

    assert grow
    client = GatewayClient(kit)
    reply = client.call("grow")
    assert reply.result["resultType"] == "complete"
    (link,) = [link for link in raw_result(reply)["structuredContent"]["links"] if link["rel"] == "self"]
    client.run_due_work()
    seen = client.call(link["method"], link["args"]).structured
    assert seen is not None
    assert seen["context"] == {"lastResult": "grown"}


@pytest.mark.parametrize("level", ["loud", "", 7, "WARNING"])
def test_s025_an_unknown_log_level_is_an_invalid_parameter(level: Any) -> None:
    reply = GatewayClient(Yard().kit).request("tools/list", {"_meta": {LOG_LEVEL: level}})
    assert (reply.status, error_code(reply)) == (400, INVALID_PARAMS)


def test_s027_the_buffered_leg_advertises_and_serves_no_notifications() -> None:
    client = GatewayClient(Yard().kit)
    for endpoint in ("/mcp", "/mcp/flat", "/mcp/functions"):
        sender = client.connect(endpoint=endpoint)
        capabilities = str(sender.discover()["capabilities"])
        assert "listChanged" not in capabilities
        assert "subscribe" not in capabilities
        reply = sender.request("subscriptions/listen", {"filter": {"toolsListChanged": True}})
        assert (reply.status, error_code(reply)) == (404, METHOD_NOT_FOUND)


def test_s028_permissions_are_those_of_this_request_and_never_of_an_earlier_one() -> None:
    kit = Toolkit("yard")

    @kit.tool(permissions=["trees.write"])
    def plant(ctx: Context) -> str:
        ctx.require("trees.write")
        return "planted"

    assert plant
    client = GatewayClient(kit)
    assert client.call("plant").text == "planted"
    refused = client.connect(permissions=()).call("plant")
    assert refused.is_error
    assert "You do not have the permission `trees.write`." in refused.text
    assert client.call("plant").text == "planted"


def test_s029_a_function_that_overruns_its_time_is_an_error_result() -> None:
    kit = Toolkit("yard")

    @kit.tool(timeout_ms=200)
    def hang() -> None:
        while True:
            pass

    assert hang
    reply = GatewayClient(kit).call("hang")
    assert (reply.status, reply.is_error, reply.error) == (200, True, None)
    assert "took too long" in reply.text or "stopped" in reply.text


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ({"$ref": "https://a.test/schema.json"}, "points outside the schema"),
        ({"properties": {"a": {"$ref": "other.json#/a"}}}, "points outside the schema"),
        ({"properties": {"a": {"enum": ["x" * 70_000]}}}, "more than 65536 characters"),
    ],
    ids=["remote", "another file", "too large"],
)
def test_s031_a_schema_with_remote_references_or_without_bounds_is_refused_at_import(schema: Any, reason: str) -> None:
    kit = Toolkit("yard")

    def find(args: Any) -> Any:
        return args

    with pytest.raises(DeclarationError, match=reason):
        kit.tool(input_schema={"type": "object", **schema})(find)
