"""Answers are bound to their questions: a table of retried requests by clients that break the rules."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest

from signpost.mcp.retry_state import LONGEST_STATE, MOST_ROUNDS, STATE_LIFETIME
from signpost.model import Json, JsonObject
from signpost.toolkit import Context, Elicit, Toolkit
from tests.support.asked_clients import DECLINED, AskedClient, MemoryUsedNonces, accept

FIELDS: Any = {
    "branch": {"type": "enum", "values": ["main", "dev"], "required": True},
    "force": "boolean",
    "day": "date",
}
ARGUMENTS: JsonObject = {"env": "test"}
FITTING = {"target": accept(branch="main"), "sure": accept(yes=True)}


@dataclass
class Desk:
    """A toolkit whose function asks two questions in one round, behind a gateway."""

    seen: list[Any] = field(default_factory=list[Any])
    used: MemoryUsedNonces = field(default_factory=MemoryUsedNonces)

    def __post_init__(self) -> None:
        kit = Toolkit("desk")

        def deploy(env: str, ctx: Context, *, once: bool) -> str:
            asks = {"target": Elicit("Which branch?", FIELDS), "sure": Elicit("Sure?", {"yes": "boolean"})}
            answers = ctx.ask_all(asks, single_use=once)
            self.seen.append((dict(ctx.answers), answers))
            return f"{env} {answers['target'].action}"

        @kit.tool(name="deploy")
        def deploy_often(env: str, ctx: Context) -> str:
            return deploy(env, ctx, once=False)

        @kit.tool(name="deploy_once")
        def deploy_once(env: str, ctx: Context) -> str:
            return deploy(env, ctx, once=True)

        assert [deploy_often, deploy_once]
        self.client = AskedClient(kit, used=self.used)

    def ask(self, tool: str = "desk__deploy_often") -> Any:
        return self.client.call(tool, ARGUMENTS)


def nest(depth: int) -> Json:
    return {"action": "accept", "content": nest(depth - 1)} if depth else True


type Outcome = Literal["runs", "asked", "refused"]


def outcome_of(answer: Any) -> Outcome:
    if "error" in answer:
        assert answer["error"]["code"] == -32602, answer
        return "refused"
    return "asked" if answer["result"]["resultType"] == "input_required" else "runs"


@dataclass(frozen=True)
class Retry:
    """The second request of a client: what it sends, and what comes of it."""

    outcome: Outcome
    responses: Json = field(default_factory=lambda: FITTING)
    arguments: JsonObject = field(default_factory=lambda: ARGUMENTS)
    tool: str = "desk__deploy_often"
    edit: Callable[[str], str | None] = lambda state: state
    still_asked: tuple[str, ...] = ("target", "sure")
    foreign: bool = False
    later: float = 0.0


RETRIES: dict[str, Retry] = {
    "all answers": Retry("runs"),
    "a refusal counts as an answer": Retry("runs", {"target": DECLINED, "sure": DECLINED}),
    "an unasked answer is dropped": Retry("runs", {**FITTING, "unasked": accept(branch="main"), "role": {"a": 1}}),
    "no state: the answers answer nothing": Retry("asked", edit=lambda _: None),
    "an edited state": Retry("refused", edit=lambda state: f"{state[:-3]}AAA"),
    "a state with something appended": Retry("refused", edit=lambda state: f"{state}-TAMPERED"),
    "an empty state": Retry("refused", edit=lambda _: ""),
    "a foreign principal": Retry("refused", foreign=True),
    "another tool": Retry("refused", tool="desk__deploy_once"),
    "other arguments": Retry("refused", arguments={"env": "production"}),
    "an expired state": Retry("refused", later=STATE_LIFETIME),
    "no answers": Retry("asked", {}),
    "one answer missing": Retry("asked", {"target": accept(branch="main")}, still_asked=("sure",)),
    "an answer under another key": Retry("asked", {"sure": accept(yes=True), "Target": accept(branch="main")},
                                         still_asked=("target",)),
    "a field of the wrong type": Retry("asked", {**FITTING, "sure": accept(yes="yes")}, still_asked=("sure",)),
    "a choice that was not offered": Retry("asked", {**FITTING, "target": accept(branch="prod")},
                                           still_asked=("target",)),
    "a field that was not asked": Retry("asked", {**FITTING, "target": accept(branch="main", role="admin")},
                                        still_asked=("target",)),
    "a required field missing": Retry("asked", {**FITTING, "target": accept(force=True)}, still_asked=("target",)),
    "null in a required field": Retry("asked", {**FITTING, "target": accept(branch=None)}, still_asked=("target",)),
    "null in a field that was left empty": Retry("runs", {**FITTING, "target": accept(branch="main", day=None)}),
    "a deep answer": Retry("asked", {**FITTING, "sure": nest(30)}, still_asked=("sure",)),
    "a text that is no date": Retry("asked", {**FITTING, "target": accept(branch="main", day="2027-02-30")},
                                    still_asked=("target",)),
    "an unknown action": Retry("asked", {**FITTING, "sure": {"action": "maybe"}}, still_asked=("sure",)),
    "a number as an answer": Retry("asked", {**FITTING, "sure": 12345}, still_asked=("sure",)),
    "null as an answer": Retry("asked", {**FITTING, "sure": None}, still_asked=("sure",)),
    "responses that are no object": Retry("refused", []),
    "null responses": Retry("refused", None),
    "endless responses": Retry("refused", {**FITTING, "unasked": "x" * 300_000}),
}  # fmt: skip


@pytest.mark.invariant(149)
@pytest.mark.parametrize("retry", RETRIES.values(), ids=RETRIES)
def test_answers_count_only_for_the_questions_that_were_asked(retry: Retry) -> None:
    desk = Desk()
    asked = desk.ask()
    runs = desk.client.runs
    state = retry.edit(asked["requestState"])
    sealed: JsonObject = {} if state is None else {"requestState": state}
    if retry.foreign:
        desk.client.credential = str(desk.client.served.gateway.make_key())
    desk.client.served.gateway.clock.advance(retry.later)
    params: JsonObject = {"name": retry.tool, "arguments": retry.arguments}
    answer = desk.client.send("tools/call", params, inputResponses=retry.responses, **sealed).json
    assert outcome_of(answer) == retry.outcome, answer
    for raw, _ in desk.seen:
        assert raw.keys() == {"target", "sure"}
    assert len(desk.seen) == (retry.outcome == "runs")
    if retry.outcome == "asked":
        assert answer["result"]["inputRequests"].keys() == set(retry.still_asked)
        assert desk.client.runs - runs == (state is None), "an open question ran the function"


@pytest.mark.invariant(149)
def test_missing_answers_are_asked_again_without_running_the_function_and_those_given_are_kept() -> None:
    desk = Desk()
    asked = desk.ask()
    runs = desk.client.runs
    again = desk.client.call(
        "desk__deploy_often",
        ARGUMENTS,
        inputResponses={"target": accept(branch="dev")},
        requestState=asked["requestState"],
    )
    assert (list(again["inputRequests"]), desk.client.runs) == (["sure"], runs)
    done = desk.client.call(
        "desk__deploy_often",
        ARGUMENTS,
        inputResponses={"sure": accept(yes=False), "target": accept(branch="main")},
        requestState=again["requestState"],
    )
    assert done["content"][0]["text"] == "test accept"
    ((_, answers),) = desk.seen
    assert (answers["target"].content, answers["sure"].content) == ({"branch": "dev"}, {"yes": False})


@pytest.mark.invariant(150)
@pytest.mark.parametrize(("tool", "second"), [("desk__deploy_often", "runs"), ("desk__deploy_once", "refused")])
def test_an_answer_that_counts_once_is_used_up_before_the_function_runs(tool: str, second: Outcome) -> None:
    desk = Desk()
    asked = desk.ask(tool)
    params: JsonObject = {"name": tool, "arguments": ARGUMENTS}
    outcomes = [
        outcome_of(
            desk.client.send("tools/call", params, inputResponses=FITTING, requestState=asked["requestState"]).json
        )
        for _ in range(2)
    ]
    assert outcomes == ["runs", second]
    assert len(desk.seen) == outcomes.count("runs")


@pytest.mark.invariant(150)
def test_asking_again_uses_up_nothing_and_all_its_states_are_used_up_together() -> None:
    desk = Desk()
    first = desk.ask("desk__deploy_once")
    params: JsonObject = {"name": "desk__deploy_once", "arguments": ARGUMENTS}
    second = desk.client.request("tools/call", params, inputResponses={}, requestState=first["requestState"])
    outcomes = [
        outcome_of(desk.client.send("tools/call", params, inputResponses=FITTING, requestState=state).json)
        for state in (second["requestState"], first["requestState"])
    ]
    assert outcomes == ["runs", "refused"]


def test_the_record_of_used_answers_outlives_the_state() -> None:
    desk = Desk()
    asked = desk.ask("desk__deploy_once")
    desk.client.call("desk__deploy_once", ARGUMENTS, inputResponses=FITTING, requestState=asked["requestState"])
    ((key, expires_at),) = desk.used.used.items()
    assert key[0].subject.startswith("api-key:")
    assert 0 < expires_at - desk.client.served.gateway.clock.now() <= STATE_LIFETIME


def test_a_gateway_without_a_record_of_used_answers_asks_no_question_that_counts_once() -> None:
    desk = Desk()
    desk.client.served.gateway.replace_adapters(used_nonces=None)
    result = desk.ask("desk__deploy_once")
    assert result["isError"] is True
    assert "counts once, and this deployment has no record of used answers" in result["content"][0]["text"]


def build_endless_kit(keys: Callable[[int], str], message: str = "More?") -> Toolkit:
    kit = Toolkit("endless")

    @kit.tool
    def ask(ctx: Context) -> str:
        for number in range(100):
            ctx.elicit(keys(number), message, {"more": "boolean"})
        return "done"

    assert ask
    return kit


def answer_all(client: AskedClient, result: Any, tool: str) -> tuple[int, Any]:
    """Answer every question of a tool until it ends. Return the number of rounds and the last result."""
    rounds = 0
    while result["resultType"] == "input_required":
        rounds += 1
        answers = {key: accept(more=True) for key in result["inputRequests"]}
        result = client.call(tool, inputResponses=answers, requestState=result["requestState"])
    return rounds, result


@pytest.mark.invariant(151)
def test_a_function_that_asks_without_end_is_ended_after_ten_rounds() -> None:
    client = AskedClient(build_endless_kit(str))
    rounds, last = answer_all(client, client.call("endless__ask"), "endless__ask")
    assert (rounds, last["isError"]) == (MOST_ROUNDS, True)
    assert "asked 10 times" in last["content"][0]["text"]


@pytest.mark.invariant(151)
def test_a_client_that_never_answers_is_asked_ten_times_at_most() -> None:
    client = AskedClient(build_endless_kit(str))
    result, rounds = client.call("endless__ask"), 0
    while result["resultType"] == "input_required":
        rounds += 1
        result = client.call("endless__ask", inputResponses={}, requestState=result["requestState"])
    assert (rounds, client.runs, result["isError"]) == (MOST_ROUNDS, 1, True)


@pytest.mark.invariant(151)
def test_questions_that_are_too_long_to_travel_fail_the_call_with_a_sentence() -> None:
    client = AskedClient(build_endless_kit(lambda number: f"k{number}"))
    kit = Toolkit("long")

    @kit.tool
    def ask(ctx: Context) -> str:
        ctx.sample("a", "x" * LONGEST_STATE)
        return "done"

    assert ask
    result = AskedClient(kit).call("long__ask")
    assert result["isError"] is True
    assert f"more than {LONGEST_STATE} characters and were not sent" in result["content"][0]["text"]
    assert client.call("endless__ask")["resultType"] == "input_required"


def test_one_request_keeps_its_thread_over_all_rounds_and_another_request_has_another() -> None:
    kit = Toolkit("spy")

    @kit.tool
    def ask(ctx: Context) -> str:
        ctx.elicit("a", "A?", {"a": "boolean"})
        ctx.elicit("b", "B?", {"b": "boolean"})
        return "done"

    assert ask
    client = AskedClient(kit)
    result = client.call("spy__ask")
    for key in ("a", "b"):
        answers = {key: accept(**{key: True})}
        result = client.call("spy__ask", inputResponses=answers, requestState=result["requestState"])
    client.call("spy__ask")
    assert result["content"][0]["text"] == "done"
    clients: list[Any] = [call["client"] for call in client.served.received_calls]
    threads = [each["thread"] for each in clients]
    assert threads[0] == threads[1] == threads[2] != threads[3]
    assert all(len(thread) > 20 for thread in threads)
