"""Functions that ask the client by their context, on every way to a client."""

import asyncio
import concurrent.futures
import contextlib
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from signpost.errors import CAPABILITY_MISSING
from signpost.model import InputRequired, JsonObject
from signpost.toolkit import (
    Context,
    Elicit,
    ElicitUrl,
    Roots,
    Sample,
    ToolError,
    Toolkit,
)
from signpost.toolkit import (
    InputRequired as Asked,
)
from tests.support.asked_clients import DECLINED, EVERYTHING, INFO, AskedClient, accept

WRITTEN: JsonObject = {"role": "assistant", "content": {"type": "text", "text": "word"}}
NAME: Any = {"name": {"type": "string", "required": True}}


def build_asking_kit(**options: Any) -> Toolkit:
    """Build a toolkit whose functions of each kind ask for a name."""
    kit = Toolkit("spy")

    def greet(ctx: Context) -> str:
        return f"Hello, {ctx.elicit('who', 'Who are you?', NAME).content['name']}!"

    kit.tool(name="ask", readable=True, **options)(_named("ask", greet))
    kit.prompt(name="draft", **options)(_named("draft", greet))
    kit.resource("spy://file", **options)(_named("file", greet))

    @kit.template("spy://files/{folder}", **options)
    def files(folder: str, ctx: Context) -> str:
        return f"{folder}: {greet(ctx)}"

    @kit.tool(name="wait", readable=True, **options)
    async def wait(ctx: Context) -> str:
        """Asks in a coroutine."""
        await asyncio.sleep(0)
        return greet(ctx)

    @kit.tool(name="alone", isolate=True, **options)
    def alone(ctx: Context) -> str:
        """Asks in a process of its own."""
        return greet(ctx)

    assert [files, wait, alone]
    return kit


def _named(name: str, run: Callable[[Context], str]) -> Callable[[Context], str]:
    def asking(ctx: Context) -> str:
        """Asks."""
        return run(ctx)

    asking.__name__ = name
    return asking


type Way = tuple[str, JsonObject]
WAYS: dict[str, Way] = {
    "tool": ("tools/call", {"name": "spy__ask", "arguments": {}}),
    "coroutine": ("tools/call", {"name": "spy__wait", "arguments": {}}),
    "process": ("tools/call", {"name": "spy__alone", "arguments": {}}),
    "prompt": ("prompts/get", {"name": "draft", "arguments": {}}),
    "registered prompt": ("prompts/get", {"name": "hail", "arguments": {}}),
    "resource": ("resources/read", {"uri": "spy://file"}),
    "template": ("resources/read", {"uri": "spy://files/new"}),
    "section": ("resources/read", {"uri": "iii://fn/spy/ask"}),
    "fetched section": ("tools/call", {"name": "skill__fetch", "arguments": {"uri": "iii://fn/spy/wait"}}),
}


def build_client(capabilities: JsonObject = EVERYTHING, **options: Any) -> AskedClient:
    client = AskedClient(build_asking_kit(**options), capabilities=capabilities)
    client.register_prompt("hail", "spy::ask")
    return client


@pytest.mark.invariant(149)
@pytest.mark.parametrize(("method", "params"), WAYS.values(), ids=WAYS)
def test_a_function_asks_and_goes_on_with_the_answer_on_every_way_to_a_client(method: str, params: JsonObject) -> None:
    client = build_client()
    asked = client.request(method, params)
    assert asked["resultType"] == "input_required", asked
    schema = asked["inputRequests"]["who"]["params"]["requestedSchema"]
    assert schema == {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    answers = {"who": accept(name="Ada")}
    done = client.request(method, params, inputResponses=answers, requestState=asked["requestState"])
    assert "Hello, Ada!" in str(done), done
    assert done["resultType"] == "complete"


@pytest.mark.invariant(152)
@pytest.mark.parametrize(("method", "params"), WAYS.values(), ids=WAYS)
def test_a_function_that_needs_more_than_the_client_declares_is_not_run(method: str, params: JsonObject) -> None:
    client = build_client(needs=["elicitation", "sampling.tools"], capabilities={"elicitation": {"url": {}}})
    answer = client.send(method, params)
    assert (answer.status, answer.json["error"]["code"]) == (400, CAPABILITY_MISSING)
    assert answer.json["error"]["data"] == {"requiredCapabilities": {"elicitation": {}, "sampling": {"tools": {}}}}, (
        answer.text
    )
    assert client.runs == 0


@pytest.mark.invariant(152)
@pytest.mark.parametrize(("method", "params"), WAYS.values(), ids=WAYS)
def test_a_function_that_needs_answers_is_not_run_for_a_client_of_an_older_revision(
    method: str, params: JsonObject
) -> None:
    client = build_client(needs=["elicitation"])
    gateway = client.served.gateway
    answer = gateway.request_legacy(method, params, "2025-11-25", client.credential, client.served.endpoint).json
    assert "cannot carry its question" in str(answer)
    assert "2026-07-28" in str(answer)
    assert (method == "tools/call") is ("result" in answer), answer
    assert client.runs == 0


@pytest.mark.parametrize(("method", "params"), WAYS.values(), ids=WAYS)
def test_a_function_with_what_it_needs_runs(method: str, params: JsonObject) -> None:
    client = build_client(needs=["elicitation"])
    assert client.request(method, params)["resultType"] == "input_required"


@pytest.mark.parametrize("uris", [["iii://fn/spy/ask", "iii://fn/spy/wait"], ["iii://skills", "iii://fn/spy/ask"]])
def test_sections_that_are_fetched_together_cannot_ask(uris: list[str]) -> None:
    result = build_client().call("skill__fetch", {"uris": uris})
    assert result["isError"] is True
    assert "requires input from the client" in result["content"][0]["text"]
    assert result["content"][0]["text"].endswith("Fetch its URI alone.")


def host(run: Callable[[Context], Any], **options: Any) -> AskedClient:
    """Host a function as the tool `spy__ask`."""
    kit = Toolkit("spy")
    kit.tool(name="ask", **options)(_named("ask", run))
    return AskedClient(kit)


def test_several_questions_of_each_kind_are_asked_in_one_round_and_their_answers_have_types() -> None:
    answers: list[Any] = []
    fields: Any = {"day": {"type": "date", "required": True}, "many": {"type": "integer", "default": 3}}

    def ask(ctx: Context) -> str:
        asks = {
            "form": Elicit("Which?", fields),
            "page": ElicitUrl("Sign in there.", "https://page.test/sign-in"),
            "model": Sample("Say a word.", 50, "Be brief.", {"temperature": 0.1}),
            "roots": Roots(),
        }
        answers.append(ctx.ask_all(asks))
        return "done"

    client = host(ask)
    asked = client.call("spy__ask")
    assert {key: each["method"] for key, each in asked["inputRequests"].items()} == {
        "form": "elicitation/create",
        "page": "elicitation/create",
        "model": "sampling/createMessage",
        "roots": "roots/list",
    }
    assert asked["inputRequests"]["model"]["params"] == {
        "messages": [{"role": "user", "content": {"type": "text", "text": "Say a word."}}],
        "maxTokens": 50,
        "systemPrompt": "Be brief.",
        "temperature": 0.1,
    }
    responses: JsonObject = {
        "form": accept(day="2027-01-31"),
        "page": {"action": "accept"},
        "model": {
            "role": "assistant",
            "content": {"type": "text", "text": "word"},
            "model": "m",
            "stopReason": "endTurn",
        },
        "roots": {"roots": [{"uri": "file:///work", "name": "Work"}]},
    }
    client.call("spy__ask", inputResponses=responses, requestState=asked["requestState"])
    ((form, page, model, roots),) = [each.values() for each in answers]
    assert (form.action, str(form.content["day"]), form.content["many"]) == ("accept", "2027-01-31", 3)
    assert (bool(form), bool(page), page.content) == (True, True, None)
    assert (model.text, model.model, model.stop_reason) == ("word", "m", "endTurn")
    assert [(root.uri, root.name) for root in roots] == [("file:///work", "Work")]


@pytest.mark.parametrize("answer", [DECLINED, {"action": "cancel"}])
def test_an_answer_that_is_not_accepted_is_false_and_has_no_content(answer: JsonObject) -> None:
    seen: list[Any] = []

    def ask(ctx: Context) -> str:
        seen.append(ctx.elicit("who", "Who?", NAME))
        return "done"

    client = host(ask)
    asked = client.call("spy__ask")
    client.call("spy__ask", inputResponses={"who": answer}, requestState=asked["requestState"])
    assert [(bool(each), each.action, each.content) for each in seen] == [(False, answer["action"], None)]


def swallow(ctx: Context) -> str:
    with contextlib.suppress(BaseException):
        ctx.elicit("who", "Who?", NAME)
    return "did it all the same"


def replace_exception(ctx: Context) -> str:
    try:
        ctx.elicit("who", "Who?", NAME)
    except BaseException as fault:
        raise ToolError("It failed.") from fault
    return "done"


def return_in_finally(ctx: Context) -> str:
    try:
        ctx.elicit("who", "Who?", NAME)
    finally:
        return "done"  # noqa: B012 - the mistake of an author


def ask_in_thread(ctx: Context) -> str:
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        return str(pool.submit(ctx.elicit, "who", "Who?", NAME).result())


async def gather_exceptions(ctx: Context) -> str:
    async def ask() -> object:
        return ctx.elicit("who", "Who?", NAME)

    return str(await asyncio.gather(ask(), return_exceptions=True))


async def ask_in_task_group(ctx: Context) -> str:
    async def ask() -> None:
        ctx.elicit("who", "Who?", NAME)

    async with asyncio.TaskGroup() as group:
        group.create_task(ask())
    return "done"


@pytest.mark.invariant(153)
@pytest.mark.parametrize("isolate", [False, True])
@pytest.mark.parametrize(
    "run", [swallow, replace_exception, return_in_finally, ask_in_thread, gather_exceptions, ask_in_task_group]
)
def test_no_code_of_an_author_swallows_a_question(run: Any, isolate: bool) -> None:
    kit = Toolkit("spy")
    kit.tool(name="ask", isolate=isolate)(run)
    asked = AskedClient(kit).call(f"spy__{run.__name__}")
    assert asked["resultType"] == "input_required", asked
    assert list(asked["inputRequests"]) == ["who"]


def test_questions_of_concurrent_tasks_are_asked_in_one_round() -> None:
    kit = Toolkit("spy")

    @kit.tool
    async def both(ctx: Context) -> str:
        """Asks two things at once."""

        async def ask(key: str) -> object:
            return ctx.elicit(key, f"{key}?", NAME)

        answers: Any = await asyncio.gather(ask("a"), ask("b"), return_exceptions=True)
        return " ".join(answer.content["name"] for answer in answers)

    assert both
    client = AskedClient(kit)
    asked = client.call("spy__both")
    assert asked["inputRequests"].keys() == {"a", "b"}
    answers = {"a": accept(name="Ada"), "b": accept(name="Bob")}
    done = client.call("spy__both", inputResponses=answers, requestState=asked["requestState"])
    assert done["content"][0]["text"] == "Ada Bob"


def test_a_key_that_is_asked_again_in_another_form_is_asked_anew() -> None:
    forms: list[Any] = [NAME, NAME, {"age": {"type": "integer", "required": True}}]
    client = host(lambda ctx: str(ctx.elicit("who", "Who?", forms.pop(0)).content))
    first = client.call("spy__ask")
    forms.pop(0)
    second = client.call("spy__ask", inputResponses={"who": accept(name="A")}, requestState=first["requestState"])
    assert "age" in second["inputRequests"]["who"]["params"]["requestedSchema"]["properties"]
    forms.append({"age": {"type": "integer", "required": True}})
    done = client.call("spy__ask", inputResponses={"who": accept(age=7)}, requestState=second["requestState"])
    assert done["content"][0]["text"] == "{'age': 7}"


def ask_twice(ctx: Context) -> str:
    ctx.elicit("who", "Who are you?", NAME)
    return str(ctx.elicit("who", "Who is your manager?", NAME))


def refused_text(client: AskedClient, **more: Any) -> str:
    result = client.call("spy__ask", **more)
    assert result["isError"] is True
    return result["content"][0]["text"]


def test_one_key_cannot_stand_for_two_questions() -> None:
    client = host(ask_twice)
    asked = client.call("spy__ask")
    text = refused_text(client, inputResponses={"who": accept(name="A")}, requestState=asked["requestState"])
    assert "two different questions have the key 'who'" in text


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"n" * 3: {"type": "object", "fields": NAME}}, "Use a flat form"),
        ({"pass" + "word": "string"}, "a form must not ask for one"),
        ({"name": {"type": "text"}}, "'text' is not one of the types"),
    ],
)
def test_a_question_that_is_refused_when_it_is_asked_is_a_failure_that_names_the_reason(
    fields: Any, fault: str
) -> None:
    client = host(lambda ctx: str(ctx.elicit("who", "Who?", fields)))
    for _ in range(5):  # refusals open no breaker
        text = refused_text(client)
        assert "spy::ask asked for input that is not requested" in text
        assert fault in text


@pytest.mark.parametrize("key", ["", "k" * 201, 7])
def test_the_key_of_a_question_is_a_text(key: Any) -> None:
    assert "is not a text of 1 to 200 characters" in refused_text(host(lambda ctx: str(ctx.roots(key))))


@pytest.mark.parametrize(
    ("declared", "able"),
    [
        ({}, set[str]()),
        ({"elicitation": {}}, {"elicitation"}),
        ({"elicitation": {"form": {}}}, {"elicitation"}),
        ({"elicitation": {"url": {}}}, {"elicitation.url"}),
        ({"sampling": {}}, {"sampling"}),
        ({"sampling": {"tools": {}, "context": {}}, "roots": {}}, {
            "sampling", "sampling.tools", "sampling.context", "roots",
        }),
    ],
)  # fmt: skip
def test_a_function_learns_what_the_client_can_be_asked_before_it_asks(declared: JsonObject, able: set[str]) -> None:
    needs = ("elicitation", "elicitation.url", "sampling", "sampling.tools", "sampling.context", "roots")
    seen: list[Any] = []

    def look(ctx: Context) -> str:
        seen.append(({need for need in needs if ctx.can(need)}, ctx.client))
        return "looked"

    client = host(look)
    client.capabilities = declared
    client.call("spy__ask")
    client.call_legacy("spy__ask")
    (modern, described), (legacy, undescribed) = seen
    assert (modern, legacy) == (able, set())
    assert (described.capabilities, described.name, described.version) == (declared, INFO["name"], INFO["version"])
    assert (undescribed.capabilities, undescribed.name, undescribed.version) == ({}, "", "")


def test_a_word_that_is_no_capability_is_refused() -> None:
    assert host(lambda ctx: str(ctx.can("telepathy"))).call("spy__ask")["isError"] is True


def test_a_client_of_an_older_revision_is_told_which_argument_takes_the_answer() -> None:
    kit = Toolkit("spy")

    @kit.tool
    def deploy(ctx: Context, branch: str = "", env: str = "") -> str:
        """Deploys a branch."""
        answer = branch or ctx.elicit("target", "Which branch?", {"branch": {"type": "string", "required": True}})
        return f"{answer} {env}"

    @kit.tool
    def confirm(ctx: Context) -> str:
        """Asks."""
        return str(ctx.elicit("sure", "Sure?", {"yes": "boolean"}))

    assert [deploy, confirm]
    client = AskedClient(kit)
    result = client.call_legacy("spy__deploy", {"env": "test"})["result"]
    assert result["isError"] is True
    assert "Send the request again with the answer in the argument `branch`, or use a client" in str(result)
    assert client.call_legacy("spy__deploy", {"branch": "main"})["result"]["isError"] is False
    assert "If it takes an argument for the answer, pass it" in str(client.call_legacy("spy__confirm"))


def test_a_question_to_a_client_without_the_capability_is_not_sent() -> None:
    client = host(lambda ctx: str(ctx.roots()))
    client.capabilities = {"elicitation": {}}
    answer = client.send("tools/call", {"name": "spy__ask", "arguments": {}})
    assert (answer.status, answer.json["error"]["data"]) == (400, {"requiredCapabilities": {"roots": {}}})


def test_a_function_that_returns_its_questions_gets_the_answers_of_all_rounds() -> None:
    seen: list[Any] = []

    def ask(ctx: Context) -> Any:
        seen.append((dict(ctx.answers), ctx.state))
        rounds = len(seen)
        if rounds == 3:
            return "done"
        return Asked({f"q{rounds}": {"method": "roots/list"}}, state={"round": rounds})

    client, result = host(ask), None
    roots: JsonObject = {"roots": []}
    result = client.call("spy__ask")
    for key in ("q1", "q2"):
        result = client.call("spy__ask", inputResponses={key: roots}, requestState=result["requestState"])
    assert result["content"][0]["text"] == "done"
    assert seen == [({}, None), ({"q1": roots}, {"round": 1}), ({"q1": roots, "q2": roots}, {"round": 2})]


def test_a_question_without_a_state_of_its_function_carries_a_state_too() -> None:
    client = host(lambda _: InputRequired({"q": {"method": "roots/list"}}))
    assert client.call("spy__ask")["requestState"]


def test_a_function_that_completes_an_argument_cannot_ask() -> None:
    abilities: list[bool] = []
    kit = Toolkit("spy")

    def complete(value: str, given: Mapping[str, str], ctx: Context) -> list[str]:
        abilities.append(ctx.can("elicitation"))
        return [value, *given]

    @kit.prompt(name="draft", complete={"topic": complete})
    def draft(topic: str) -> str:
        """Drafts."""
        return topic

    assert draft
    client = AskedClient(kit)
    reference: JsonObject = {"type": "ref/prompt", "name": "draft"}
    client.request("completion/complete", {"ref": reference, "argument": {"name": "topic", "value": "a"}})
    assert abilities == [False]
