"""What belongs to one request stays with it through all its rounds: effects, answers and states."""

from typing import Any

import pytest

from signpost.model import Json, JsonObject, as_object
from signpost.toolkit import Context, Elicit, HandleKind, QuestionRefused, Toolkit
from signpost.toolkit.testing import GatewayClient

TASKS = "io.modelcontextprotocol/tasks"
VALUE: Any = {"value": {"type": "string", "required": True}}


def build_bank(effects: list[str]) -> Toolkit:
    kit = Toolkit("bank")

    def reserve() -> str:
        effects.append("reserved")
        return f"R{len(effects)}"

    @kit.tool(needs=("elicitation",), task="required")
    def transfer(ctx: Context) -> str:
        reservation = ctx.once("reserve", reserve)
        return f"Sent {reservation}." if ctx.elicit("sure", f"Send {reservation}?", {}) else "Not sent."

    @kit.tool(readable=True)
    def section(ctx: Context) -> str:
        return ctx.once("reserve", reserve)

    @kit.tool(calls=["skill::fetch", "bank::section"])
    def read(ctx: Context) -> str:
        text = str(ctx.call("skill::fetch", {"uri": "iii://fn/bank/section"}))
        return text if ctx.elicit("sure", "Go on?", {}) else "stopped"

    assert [transfer, section, read]
    return kit


@pytest.mark.invariant(155)
def test_an_effect_before_a_question_happens_once_although_the_rest_is_a_task() -> None:
    effects: list[str] = []
    client = GatewayClient(build_bank(effects), capabilities=[TASKS, "elicitation"])
    asked = client.call("transfer")
    task: Any = client.answer(asked, {"sure": {}}).result
    client.run_due_work()
    ended: Any = client.request("tasks/get", {"taskId": task["taskId"]}).result
    assert (ended["result"]["content"][0]["text"], effects) == ("Sent R1.", ["reserved"])


@pytest.mark.invariant(155)
def test_a_repeated_last_round_finds_the_task_that_it_has_started() -> None:
    effects: list[str] = []
    client = GatewayClient(build_bank(effects), capabilities=[TASKS, "elicitation"])
    asked = client.call("transfer")
    first, second = (client.answer(asked, {"sure": {}}).result for _ in range(2))
    assert first is not None
    assert second is not None
    assert first["taskId"] == second["taskId"]


@pytest.mark.invariant(155)
def test_an_effect_of_a_section_that_a_function_reads_happens_once_in_all_rounds() -> None:
    effects: list[str] = []
    client = GatewayClient(build_bank(effects), answers={"sure": {}})
    assert "R1" in client.call("read").text
    assert effects == ["reserved"]


@pytest.mark.invariant(149)
def test_the_answer_to_one_function_reaches_no_other_at_the_same_uri() -> None:
    first, second, seen = Toolkit("aa"), Toolkit("bb"), list[object]()

    @first.template("doc://x/{number}")
    def one(number: str, ctx: Context) -> None:
        ctx.elicit("who", f"The first one asks for {number}.", VALUE)

    @second.template("doc://{kind}/{number}")
    def two(kind: str, number: str, ctx: Context) -> str:
        seen.append(dict(ctx.answers))
        answer = ctx.elicit("who", f"The second one asks for {kind} {number}.", VALUE)
        return str(answer.content["value"])

    def answer(_key: str, question: JsonObject) -> Json:
        return {"value": as_object(question["params"])["message"]}

    assert [one, two]
    client = GatewayClient(first, second, answers=answer)
    assert client.read("doc://x/1").text == "The second one asks for x 1."
    assert [question.message for question in client.asked] == [
        "The first one asks for 1.",
        "The second one asks for x 1.",
    ]
    assert seen[0] == {}


@pytest.mark.invariant(157)
def test_the_helpers_of_a_template_reach_the_handles_of_their_toolkit() -> None:
    kit, basket = Toolkit("shop"), HandleKind("basket")

    def list_baskets(ctx: Context) -> list[str]:
        return [f"shop://baskets/{handle.id}" for handle in ctx.handles.list(basket)]

    @kit.tool
    def open_basket(ctx: Context) -> str:
        return ctx.handles.create(basket, {}).id

    @kit.template("shop://baskets/{number}", enumerate=list_baskets)
    def show(number: str, ctx: Context) -> str:
        return ctx.handles.get(number, basket).id

    assert [open_basket, show]
    client = GatewayClient(kit)
    opened = f"shop://baskets/{client.call('open_basket').text}"
    assert opened in [resource["uri"] for resource in client.list_resources()]


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"when": "local_datetime"}, "'when' of the form is a local_datetime"),
        ({"when": {"type": "local_datetime", "required": True}}, "'when' of the form is a local_datetime"),
        ({"type": "object", "properties": {"a": {"type": "string"}}, "minProperties": 1}, "minProperties"),
        ({"type": "object", "properties": {"a": {"type": "string"}}, "anyOf": [{"required": ["a"]}]}, "anyOf"),
    ],
)
def test_a_form_that_cannot_be_answered_as_its_author_means_is_refused(fields: Any, fault: str) -> None:
    with pytest.raises(QuestionRefused, match=fault):
        Elicit("When?", fields)
