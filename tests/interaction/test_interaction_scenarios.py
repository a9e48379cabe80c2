"""The scenarios of functions that ask, report progress, give grants, and work as tasks, as an author plays them."""

from typing import Any

import pytest

from signpost.errors import CAPABILITY_MISSING, INVALID_PARAMS, METHOD_NOT_FOUND
from signpost.model import JsonObject
from signpost.testing.client_replies import ClientReply
from signpost.toolkit import Context, Elicit, ToolError, Toolkit
from signpost.toolkit.testing import GatewayClient

TASKS = "io.modelcontextprotocol/tasks"
TEXT: Any = {"value": {"type": "string", "required": True}}


def error_code(reply: ClientReply) -> object:
    return None if reply.error is None else reply.error["code"]


def test_s010_a_grant_shows_in_the_lists_of_its_principal_on_every_connection_and_in_no_others() -> None:
    kit = Toolkit("shop")

    @kit.tool
    def unlock(ctx: Context) -> str:
        ctx.grant("room")
        return "unlocked"

    @kit.tool(visible_when={"grant": "room"})
    def room() -> str:
        return "old books"

    assert [unlock, room]
    ada = GatewayClient(kit, principal="ada")
    second, ben = ada.connect(name="another"), ada.connect(principal="ben")
    ada.call("unlock")
    ada.clock.advance(2)
    seen = ["skill:room" in [tool["name"] for tool in client.list_tools()] for client in (ada, second, ben)]
    assert seen == [True, True, False]


def build_travel() -> tuple[Toolkit, list[str]]:
    kit, effects = Toolkit("travel"), list[str]()

    @kit.tool
    def book(ctx: Context) -> str:
        where = ctx.elicit("where", "Where to?", TEXT)
        when = ctx.elicit("when", "When?", TEXT)
        ticket = ctx.once("reserve", lambda: effects.append("reserved") or len(effects))
        seat = ctx.elicit("seat", f"Which seat of {ticket}?", TEXT)
        return " ".join(answer.content["value"] for answer in (where, when, seat))

    @kit.tool
    def both(ctx: Context) -> str:
        answers = ctx.ask_all({"a": Elicit("A?", TEXT), "b": Elicit("B?", TEXT)})
        return answers["a"].content["value"] + answers["b"].content["value"]

    @kit.tool
    def ask_or_not(ctx: Context) -> str:
        if not ctx.can("elicitation"):
            return "guessed"
        return ctx.elicit("where", "Where to?", TEXT).content["value"]

    assert [book, both, ask_or_not]
    return kit, effects


def test_s013_a_function_may_have_another_way_for_a_client_that_cannot_be_asked() -> None:
    kit, _ = build_travel()
    assert GatewayClient(kit, capabilities=()).call("ask_or_not").text == "guessed"


def test_s015_only_missing_answers_are_asked_again_and_unknown_ones_are_dropped() -> None:
    kit, _ = build_travel()
    client = GatewayClient(kit)
    first = client.call("both")
    again = client.answer(first, lambda key, _: {"value": "x"} if key == "a" else None)
    assert list(again.questions) == ["b"]
    wrong = client.answer(again, {"b": {"action": "accept", "content": {"value": 7}}})
    assert list(wrong.questions) == ["b"]
    assert client.answer(wrong, {"b": {"value": "y"}}).text == "xy"


@pytest.mark.parametrize("cold", [False, True])
def test_s017_three_questions_take_three_rounds_and_the_effect_between_them_happens_once(cold: bool) -> None:
    kit, effects = build_travel()
    answers: Any = {"where": {"value": "Riga"}, "when": {"value": "May"}, "seat": {"value": "1A"}}
    client = GatewayClient(kit, answers=answers, cold=cold)
    reply = client.call("book")
    assert (reply.text, reply.rounds, effects) == ("Riga May 1A", 4, ["reserved"])


def test_s016_a_state_of_single_use_is_refused_the_second_time() -> None:
    kit, sent = Toolkit("bank"), list[str]()

    @kit.tool
    def send(ctx: Context) -> str:
        if not ctx.elicit("sure", "Send it?", {}, single_use=True):
            return "kept"
        sent.append("sent")
        return "sent"

    assert send
    client = GatewayClient(kit)
    asked = client.call("send")
    assert client.answer(asked, {"sure": {}}).text == "sent"
    client.start_cold()
    second = client.answer(asked, {"sure": {}})
    assert (second.is_error, sent) == (True, ["sent"])


def build_yard() -> Toolkit:
    kit = Toolkit("yard")

    @kit.tool(timeout_ms=90_000, idempotent=True)
    def grow(tree: str) -> str:
        if tree == "ivy":
            raise ToolError("Ivy does not grow here.")
        return f"{tree} grown"

    @kit.tool(timeout_ms=90_000)
    def ask_and_grow(ctx: Context) -> str:
        return ctx.elicit("tree", "Which tree?", TEXT).content["value"]

    @kit.tool(task="never", timeout_ms=90_000)
    def never() -> str:
        return "now"

    assert [grow, ask_and_grow, never]
    return kit


@pytest.fixture
def gardener() -> GatewayClient:
    return GatewayClient(build_yard(), capabilities=[TASKS, "elicitation"])


def start(client: GatewayClient, tool: str = "grow", **args: Any) -> Any:
    return client.call(tool, args or {"tree": "oak"}).result


def poll(client: GatewayClient, task: Any) -> Any:
    return client.request("tasks/get", {"taskId": task["taskId"]}).result


def test_s019_a151_a_task_is_readable_as_soon_as_it_is_handed_out(gardener: GatewayClient) -> None:
    task = start(gardener)
    assert (task["resultType"], task["status"]) == ("task", "working")
    gardener.start_cold()
    assert poll(gardener, task)["status"] == "working"


def test_s021_a153_a_task_ends_completed_with_its_result_also_if_that_is_an_error(gardener: GatewayClient) -> None:
    done, failed = start(gardener), start(gardener, tree="ivy")
    gardener.run_due_work()
    assert poll(gardener, done)["result"]["content"][0]["text"] == "oak grown"
    ended = poll(gardener, failed)
    assert (ended["status"], ended["result"]["isError"]) == ("completed", True)


def test_s021_a_task_asks_and_takes_answers_by_their_keys(gardener: GatewayClient) -> None:
    task = start(gardener, "ask_and_grow")
    gardener.run_due_work()
    waiting = poll(gardener, task)
    assert (waiting["status"], list(waiting["inputRequests"])) == ("input_required", ["1.tree"])
    answers: JsonObject = {
        "1.tree": {"action": "accept", "content": {"value": "elm"}},
        "unknown": {"action": "decline"},
    }
    gardener.request("tasks/update", {"taskId": task["taskId"], "inputResponses": answers})
    gardener.run_due_work()
    assert poll(gardener, task)["result"]["content"][0]["text"] == "elm"


def test_s022_a160_a_task_of_another_principal_is_unknown_and_needs_the_extension(
    gardener: GatewayClient,
) -> None:
    task = start(gardener)
    for method in ("tasks/get", "tasks/update", "tasks/cancel"):
        params: JsonObject = {"taskId": task["taskId"], **({"inputResponses": {}} if method == "tasks/update" else {})}
        foreign = gardener.connect(principal="mallory").request(method, params)
        unknown = gardener.request(method, {**params, "taskId": "wf_unknown"})
        assert (error_code(foreign), error_code(unknown)) == (INVALID_PARAMS, INVALID_PARAMS)
        assert foreign.error is not None
        assert unknown.error is not None
        assert foreign.error == unknown.error
        assert error_code(gardener.connect(capabilities=()).request(method, params)) == CAPABILITY_MISSING


def test_s023_a156_cancelling_is_acknowledged_and_final_and_may_be_repeated(gardener: GatewayClient) -> None:
    task = start(gardener)
    for _ in range(2):
        assert gardener.request("tasks/cancel", {"taskId": task["taskId"]}).error is None
    gardener.run_due_work()
    assert poll(gardener, task)["status"] == "cancelled"


def test_a152_a_tool_without_tasks_answers_directly(gardener: GatewayClient) -> None:
    assert gardener.call("never").result["resultType"] == "complete"


@pytest.mark.parametrize("method", ["tasks/list", "tasks/result"])
def test_a157_tasks_are_not_listed(gardener: GatewayClient, method: str) -> None:
    assert error_code(gardener.request(method)) == METHOD_NOT_FOUND


def test_s025_a169_progress_of_a_function_is_increasing_and_only_for_its_own_request() -> None:
    kit = Toolkit("yard")

    @kit.tool
    def plant(ctx: Context) -> str:
        for done in (1, 3, 2, 4):
            ctx.progress(done, 4)
        ctx.log.warning("full")
        ctx.log.debug("details")
        return "planted"

    assert plant
    client = GatewayClient(kit)
    progress: list[Any] = [notice["progress"] for notice in client.call("plant").progress]
    assert progress == sorted(set(progress))
    assert client.connect(progress=False, log_level=None).call("plant").notifications == []
    assert [notice["level"] for notice in client.connect(log_level="warning").call("plant").logs] == ["warning"]
