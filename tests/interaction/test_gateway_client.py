"""The client for the tests of authors, in front of the real gateway."""

import asyncio
import json
import os
import re
import subprocess
import sys
import tomllib
from datetime import date
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest

from signpost.errors import CAPABILITY_MISSING, INVALID_PARAMS
from signpost.mcp.retry_state import STATE_LIFETIME
from signpost.model import InputRequired, JsonObject, Principal
from signpost.toolkit import Context, ToolError, Toolkit, user
from signpost.toolkit.testing import ACCEPTED, CANCELLED, DECLINED, GatewayClient

PROJECT = Path(__file__).resolve().parents[2]
MODERN, LEGACY = "2026-07-28", "2025-11-25"
NAME: JsonObject = {"type": "object", "properties": {"name": {"type": "string"}}}
FORM: JsonObject = {"method": "elicitation/create", "params": {"message": "Which name?", "requestedSchema": NAME}}
PAGE: JsonObject = {
    "method": "elicitation/create",
    "params": {"mode": "url", "message": "Sign in.", "url": "https://a.test/"},
}
HELLO: JsonObject = {"role": "user", "content": {"type": "text", "text": "Hello"}}
SAMPLE: JsonObject = {"method": "sampling/createMessage", "params": {"messages": [HELLO], "maxTokens": 9}}
ROOTS: JsonObject = {"method": "roots/list"}


def build_asking(**questions: JsonObject) -> Toolkit:
    """Build a toolkit with a tool, a prompt and a resource that ask these, and then answer what they were answered."""
    kit = Toolkit("spy")

    def answer(ctx: Context) -> object:
        return dict(ctx.answers) if ctx.answers else InputRequired(questions, state="asked")

    @kit.tool
    def ask(ctx: Context) -> object:
        return answer(ctx)

    @kit.prompt
    def draft(ctx: Context) -> object:
        answers = answer(ctx)
        return answers if isinstance(answers, InputRequired) else json.dumps(answers)

    @kit.resource("spy://file")
    def file(ctx: Context) -> object:
        return answer(ctx)

    assert [ask, draft, file]
    return kit


def build_yard() -> Toolkit:
    kit = Toolkit("yard", category="Garden")

    @kit.tool(name="trees.plant", permissions=["trees.write"])
    def plant(tree: str, ctx: Context) -> object:
        """Plants a tree."""
        ctx.require("trees.write")
        principal = ctx.principal
        return {
            "tree": tree,
            "by": principal.subject,
            "tenant": principal.tenant,
            "roles": sorted(principal.roles),
            "permissions": sorted(principal.permissions),
            "human": principal.human,
        }

    @kit.tool(calls=["yard::plant"], permissions=["trees.write"])
    def plant_two(ctx: Context) -> object:
        return [ctx.call("yard::plant", {"tree": tree}) for tree in ("oak", "elm")]

    @kit.tool
    def fail(how: str, ctx: Context) -> str:
        if how == "reported":
            raise ToolError("The ground is frozen.")
        ctx.log.warning("about to fail")
        raise ValueError(ctx.secret("shed"))

    @kit.tool(timeout_ms=60_000)
    def grow(ctx: Context) -> str:
        return f"grown for {ctx.principal.subject}"

    @kit.tool(hidden=True)
    def prune() -> str:
        return "pruned"

    assert [plant, plant_two, fail, grow, prune]
    return kit


def build_library() -> Toolkit:
    kit = Toolkit("library")

    @kit.prompt(complete={"tree": ["elm", "oak"]})
    def praise(tree: str) -> object:
        return [user(f"Praise the {tree}.")]

    @kit.resource("yard://rules")
    def rules(ctx: Context) -> str:
        return f"Rules of {ctx.tenant}"

    @kit.template("yard://trees/{tree}", complete={"tree": ["elm", "oak"]})
    def tree(tree: str) -> str:
        return tree.upper()

    assert [praise, rules, tree]
    return kit


@pytest.fixture(scope="module")
def yard() -> GatewayClient:
    return GatewayClient(build_yard(), build_library(), secrets={"shed": "the key is under the stone"})


@pytest.mark.parametrize(("endpoint", "name"), [("/mcp/flat", "skill:trees.plant"), ("/mcp/functions", "yard__plant")])
@pytest.mark.parametrize("revision", [MODERN, LEGACY, "2024-11-05"])
def test_a_tool_is_listed_and_called_at_each_endpoint_in_each_revision(
    yard: GatewayClient, endpoint: str, name: str, revision: str
) -> None:
    client = yard.connect(endpoint=endpoint, revision=revision)
    listed = [tool["name"] for tool in client.list_tools()]
    assert name in listed
    assert not [tool for tool in listed if "prune" in str(tool)]
    replies = [client.call(spelling, {"tree": "oak"}) for spelling in ("trees.plant", "yard::plant", name)]
    assert [json.loads(reply.text)["tree"] for reply in replies] == ["oak"] * 3
    assert client.call("prune").text == "pruned"


def test_the_principal_of_a_client_is_the_one_that_the_tool_sees(yard: GatewayClient) -> None:
    seen = yard.call("trees.plant", {"tree": "elm"}).structured
    assert seen == {
        "tree": "elm", "by": "tester", "tenant": "default", "roles": [], "permissions": ["trees.write"], "human": False,
    }  # fmt: skip
    ada = yard.connect(principal="ada", roles=["gardener"], permissions=["trees.write", "x"], human=True)
    seen = ada.call("trees.plant", {"tree": "elm"}).structured
    assert seen is not None
    assert (seen["by"], seen["roles"], seen["permissions"], seen["human"]) == (
        "ada", ["gardener"], ["trees.write", "x"], True,
    )  # fmt: skip
    whole = Principal("ben", "default", "any", permissions=frozenset({"trees.write"}))
    seen = yard.connect(principal=whole).call("trees.plant", {"tree": "elm"}).structured
    assert seen is not None
    assert seen["by"] == "ben"


@pytest.mark.invariant(176)
def test_a_principal_without_a_permission_or_of_another_tenant_is_refused(yard: GatewayClient) -> None:
    refused = yard.connect(permissions=()).call("trees.plant", {"tree": "elm"})
    assert refused.is_error
    assert refused.text.startswith("You do not have the permission `trees.write`.")
    stranger = yard.connect(tenant="acme")
    assert "skill:trees.plant" not in [tool["name"] for tool in stranger.list_tools()]
    error = stranger.call("trees.plant", {"tree": "elm"}).error
    assert error is not None
    assert error["code"] == INVALID_PARAMS


def test_arguments_may_be_values_that_have_a_form_in_json() -> None:
    kit = Toolkit("yard")

    @kit.tool
    def plan(day: date, trees: list[str]) -> str:
        return f"{day:%d.%m.} {trees}"

    assert plan
    assert GatewayClient(kit).call("plan", {"day": date(2027, 1, 31), "trees": ("oak",)}).text == "31.01. ['oak']"


def test_nested_calls_go_through_the_gateway(yard: GatewayClient) -> None:
    assert [planted["tree"] for planted in json.loads(yard.call("plant_two").text)] == ["oak", "elm"]


def test_failures_are_shown_as_to_a_client_and_logged_with_their_cause(yard: GatewayClient) -> None:
    assert yard.call("fail", {"how": "reported"}).text == "The ground is frozen."
    crashed = yard.call("fail", {"how": "by itself"})
    assert crashed.is_error
    assert "ValueError" not in crashed.text
    assert "ValueError: ***" in crashed.fault
    assert [line["outcome"] for line in yard.log if line["message"] == "fault"][-1] == "exception"
    assert yard.call("prune").fault == ""
    wrong = yard.call("trees.plant", {"tree": 7})
    assert wrong.is_error
    assert "`tree`" in wrong.text
    with pytest.raises(AssertionError, match="tools/call failed: -32602"):
        _ = yard.call("no such tool").result


def test_prompts_resources_and_completions_are_answered(yard: GatewayClient) -> None:
    assert [prompt["name"] for prompt in yard.list_prompts()] == ["praise"]
    assert "yard://rules" in [resource["uri"] for resource in yard.list_resources()]
    assert "yard://trees/{tree}" in [template["uriTemplate"] for template in yard.list_templates()]
    assert yard.get_prompt("praise", {"tree": "oak"}).text == "Praise the oak."
    assert yard.read("yard://rules").text == "Rules of default"
    assert yard.read("yard://trees/elm").text == "ELM"
    assert yard.complete("praise", "tree", "o") == ["oak"]
    assert yard.complete("yard://trees/{tree}", "tree", "e") == ["elm"]
    assert yard.discover()["supportedVersions"] == [MODERN]


@pytest.mark.parametrize(
    ("question", "given", "answered"),
    [
        (FORM, {"name": "Ada"}, {"action": "accept", "content": {"name": "Ada"}}),
        (FORM, DECLINED, DECLINED),
        (FORM, CANCELLED, CANCELLED),
        (PAGE, ACCEPTED, ACCEPTED),
        (SAMPLE, "Hi", {"role": "assistant", "content": {"type": "text", "text": "Hi"}, "model": "test-model"}),
        (ROOTS, ["file:///a"], {"roots": [{"uri": "file:///a"}]}),
    ],
    ids=["form", "declined", "cancelled", "page", "sampling", "roots"],
)
def test_a_client_with_answers_runs_the_rounds_and_records_the_questions(
    question: JsonObject, given: Any, answered: JsonObject
) -> None:
    client = GatewayClient(build_asking(q=question), answers={"q": given})
    reply = client.call("ask")
    seen = json.loads(reply.text)["q"]
    assert {name: seen[name] for name in answered} == answered
    assert reply.rounds == 2
    (asked,) = client.asked
    assert reply.asked == [asked]
    assert (asked.key, asked.method, asked.round) == ("q", question["method"], 1)
    assert asked.params == question.get("params", {})


def test_prompts_and_resources_ask_as_tools_do() -> None:
    client = GatewayClient(build_asking(q=FORM), answers=lambda key, question: {"name": f"{key} {question['method']}"})
    for reply in (client.get_prompt("draft"), client.read("spy://file")):
        assert json.loads(reply.text)["q"]["content"] == {"name": "q elicitation/create"}


def test_questions_of_a_client_without_answers_stay_open_and_can_be_answered_later() -> None:
    client = GatewayClient(build_asking(q=FORM))
    first = client.call("ask")
    assert (first.is_input_required, first.questions) == (True, {"q": FORM})
    with pytest.raises(AssertionError, match="asked for q first"):
        _ = first.result
    client.clock.advance(STATE_LIFETIME - 1)
    client.start_cold()
    assert json.loads(client.answer(first, {"q": {"name": "Ada"}}).text)["q"]["content"] == {"name": "Ada"}


@pytest.mark.invariant(176)
def test_an_answer_of_another_principal_or_after_its_time_is_refused() -> None:
    client = GatewayClient(build_asking(q=FORM))
    first = client.call("ask")
    other = client.connect(principal="mallory").answer(first, {"q": {"name": "Eve"}})
    assert other.error is not None
    assert other.error["code"] == INVALID_PARAMS
    client.clock.advance(STATE_LIFETIME)
    late = client.answer(first, {"q": {"name": "Ada"}})
    assert late.error is not None
    assert late.error["code"] == INVALID_PARAMS


def test_a_client_that_is_asked_an_unknown_question_fails_with_its_message() -> None:
    client = GatewayClient(build_asking(q=FORM), answers={"other": {}})
    with pytest.raises(AssertionError, match=r"asked 'q' \(Which name\?\); it has answers for 'other'"):
        client.call("ask")


@pytest.mark.parametrize("capabilities", [(), ["elicitation.url"], {"sampling": {}}], ids=["none", "url", "raw"])
def test_a_client_that_lacks_a_capability_is_not_asked(capabilities: Any) -> None:
    client = GatewayClient(build_asking(q=FORM), capabilities=capabilities, answers={"q": {"name": "Ada"}})
    error = client.call("ask").error
    assert error is not None
    assert (error["code"], client.asked) == (CAPABILITY_MISSING, [])


def test_an_older_client_is_not_asked() -> None:
    reply = GatewayClient(build_asking(q=FORM), revision=LEGACY, answers={"q": {"name": "Ada"}}).call("ask")
    assert reply.is_error
    assert reply.rounds == 1


@pytest.mark.invariant(176)
def test_every_request_of_a_cold_client_meets_a_new_gateway_and_a_new_sandbox() -> None:
    client = GatewayClient(build_asking(q=FORM), answers={"q": {"name": "Ada"}})
    gateway = client.gateway
    seen: list[object] = [gateway.front_door]
    for sender in (client, client.connect(cold=True)):
        assert not sender.call("ask").is_error
        seen.append(gateway.front_door)
    assert (seen[0] is seen[1], seen[1] is seen[2]) == (True, False)


def test_async_and_isolated_functions_run_in_any_thread() -> None:
    kit = Toolkit("yard")

    @kit.tool(isolate=True)
    def alone(ctx: Context) -> object:
        return str(os.getpid()) if ctx.answers else InputRequired({"q": ROOTS}, state=1)

    @kit.tool
    async def wait() -> str:
        await asyncio.sleep(0)
        return "waited"

    assert [alone, wait]

    def run() -> list[str]:
        client = GatewayClient(kit, answers={"q": []})
        return [client.call("alone").text, client.call("wait").text]

    async def run_in_a_thread() -> list[str]:
        return await asyncio.to_thread(run)

    for process, waited in (run(), asyncio.run(run_in_a_thread())):
        assert (int(process) != os.getpid(), waited) == (True, "waited")


def test_links_lead_to_a_tool_at_the_default_endpoint(yard: GatewayClient) -> None:
    client = yard.connect(endpoint="/mcp")

    def follow(link: Any, **more: Any) -> Any:
        return client.call(link["method"], {**link["args"], **more}).structured

    found: Any = client.call("gateway.search", {"query": "plants a tree"}).structured
    started = follow(found["results"][0]["item"]["links"][0])
    (move,) = [link for link in started["links"] if link["args"].get("transition") == "trees.plant"]
    assert follow(move, arguments={"tree": "elm"})["context"]["lastResult"]["tree"] == "elm"


def test_a_long_call_is_a_run_that_the_worker_finishes(yard: GatewayClient) -> None:
    started = yard.call("grow").structured
    assert started is not None
    reading = {"workflowId": started["workflowId"]}
    assert "grown" not in yard.call("workflow.get", reading).text
    yard.run_due_work()
    run = yard.call("workflow.get", reading).structured
    assert run is not None
    assert run["context"] == {"lastResult": "grown for tester"}


ALONE = """
import socket, sys
def refuse(*_): raise AssertionError("no network")
socket.socket.connect = socket.getaddrinfo = refuse
from signpost.toolkit import Toolkit
assert "signpost.testing" not in sys.modules
from signpost.toolkit.testing import GatewayClient
kit = Toolkit("yard")
@kit.tool
def add(a: int, b: int = 2) -> int:
    return a + b
assert GatewayClient(kit).call("add", {"a": 1}).text == "3"
print(*sorted({name.partition(".")[0] for name in sys.modules}))
"""


@pytest.mark.invariant(176)
def test_the_client_needs_the_package_with_its_dependencies_and_no_network_or_account(tmp_path: Path) -> None:
    program = [sys.executable, "-W", "error", "-c", ALONE]
    run = subprocess.run(
        program, capture_output=True, text=True, check=False, cwd=tmp_path, env={"HOME": str(tmp_path)}
    )
    assert run.returncode == 0, run.stderr
    imported = run.stdout.splitlines()[-1].split()
    owners = packages_distributions()
    distributions = {owner.lower() for name in imported for owner in owners.get(name, ())}
    assert {"pyjwt", "jsonschema"} <= distributions
    assert distributions & list_tools_of_developers() == set()


def list_tools_of_developers() -> set[str]:
    """List the distributions that only developers of Signpost install."""
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())
    needed, of_developers = project["project"]["dependencies"], project["dependency-groups"]["dev"]
    return {*map(name_of_requirement, of_developers)} - {*map(name_of_requirement, needed)}


def name_of_requirement(line: str) -> str:
    return re.split(r"[^\w.-]", line)[0].lower()
