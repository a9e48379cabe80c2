"""A function that asks in several rounds and writes in between: the write happens once."""

from typing import Any

import pytest

from signpost.toolkit import Context, Toolkit
from tests.support.asked_clients import AskedClient, accept
from tests.support.crash_points import CrashPoints

NAME: Any = {"name": {"type": "string", "required": True}}


def build_ordering_kit(effects: list[str]) -> Toolkit:
    kit = Toolkit("desk")

    @kit.tool
    def order(ctx: Context) -> str:
        """Asks two questions, writes, and asks a third one."""
        who = ctx.elicit("who", "Who are you?", NAME).content["name"]
        what = ctx.elicit("what", "What do you want?", NAME).content["name"]
        number = ctx.once("order", lambda: effects.append(f"{what} for {who}") or len(effects))
        thanks = ctx.elicit("thanks", "How did you find us?", NAME).content["name"]
        return f"{number}: {thanks}"

    assert order
    return kit


def play(client: AskedClient, crashes: dict[int, CrashPoints]) -> Any:
    result, rounds = client.call("desk__order"), 0
    while result.get("resultType") == "input_required" and rounds < 9:
        rounds += 1
        answers = {key: accept(name=key) for key in result["inputRequests"]}
        client.served.transport.points = crashes.get(rounds, CrashPoints())
        state = result["requestState"]
        result = client.call("desk__order", inputResponses=answers, requestState=state)
        if result.get("isError"):  # the client sends its request again
            client.served.transport.points = CrashPoints()
            result = client.call("desk__order", inputResponses=answers, requestState=state)
    return result


def test_a_function_writes_once_between_its_questions() -> None:
    effects: list[str] = []
    result = play(AskedClient(build_ordering_kit(effects)), {})
    assert result["content"][0]["text"] == "1: thanks", result
    assert effects == ["what for who"]


@pytest.mark.parametrize("round_number", range(1, 4))
@pytest.mark.parametrize("point", range(4))
def test_a_process_killed_around_the_write_writes_once_or_leaves_it_in_doubt(round_number: int, point: int) -> None:
    effects: list[str] = []
    result = play(AskedClient(build_ordering_kit(effects)), {round_number: CrashPoints(at=point)})
    text = result["content"][0]["text"]
    assert len(effects) <= 1
    assert text == "1: thanks" or "carrying out 'order'" in text or "It is not known" in text, result
    if "1: thanks" in text:
        assert effects == ["what for who"]


def test_a_question_inside_of_an_effect_is_refused() -> None:
    """It would end the run in the middle of the effect."""
    effects: list[str] = []
    kit = Toolkit("desk")

    @kit.tool
    def order(ctx: Context) -> str:
        """Asks inside of its effect."""
        return ctx.once("order", lambda: effects.append(ctx.elicit("who", "Who?", NAME).content["name"]) or "done")

    assert order
    result = AskedClient(kit).call("desk__order")
    assert "it is asked inside of the effect 'order'" in result["content"][0]["text"], result
    assert effects == []
