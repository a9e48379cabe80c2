"""Effects of functions that run several times: each happens at most once, or is shown in doubt."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from signpost.calling.effects import CLAIM, CLAIM_MARGIN, DOUBT, KEPT_SECONDS, LONGEST_OUTCOME, RECORD, RELEASE
from signpost.contract import Failure, Result
from signpost.errors import Unavailable
from signpost.model import Principal
from signpost.toolkit import CallFailed, Context, EffectInDoubt, EffectRunning, Function, ToolError
from tests.support.crash_points import CrashPoints
from tests.support.function_host import host_callable
from tests.support.stateful_functions import ANN, DESK, StatefulFunctions

SECONDS = 20


class Desk:
    """A function `desk::charge` whose effect is counted."""

    def __init__(self, *, repeat: bool = False) -> None:
        self.effects: list[str] = []
        self.value: Any = {"order": 7}
        self.raises: BaseException | None = None
        self.during: Callable[[], object] = lambda: None
        """Acts while the effect happens."""
        self.name = "charge"
        self.repeat = repeat
        self.functions = StatefulFunctions(Function("desk::charge", self.run))

    def run(self, args: Any, ctx: Context) -> Any:
        return ctx.once(str(args.get("name", self.name)), self.happen, repeat=self.repeat)

    def happen(self) -> Any:
        self.effects.append(self.name)
        self.during()
        if self.raises is not None:
            raise self.raises
        return self.value

    def call(self, arguments: Any = None, **members: Any) -> Any:
        return self.functions.call("desk::charge", arguments, **members)

    def call_to_failure(self, arguments: Any = None, **members: Any) -> Failure:
        reply = self.call(arguments, **members)
        assert isinstance(reply, Failure), reply
        return reply

    def restart(self) -> None:
        """Start a new process, and let the claim of the former one end."""
        self.functions.transport.points = CrashPoints()
        self.functions.clock.advance(SECONDS + CLAIM_MARGIN)


@pytest.fixture
def desk() -> Desk:
    return Desk()


@pytest.mark.invariant(155)
def test_an_effect_happens_once_in_all_rounds_of_a_request(desk: Desk) -> None:
    assert [desk.call() for _ in range(3)] == [Result({"order": 7}, [])] * 3
    assert desk.effects == ["charge"]


def test_an_effect_happens_again_in_another_request(desk: Desk) -> None:
    desk.call(thread="t1")
    desk.call(thread="t2")
    desk.call(thread="")
    desk.call(thread="")  # a call without a thread is a request of its own
    assert len(desk.effects) == 4


def test_an_effect_happens_again_for_other_arguments(desk: Desk) -> None:
    desk.call({"amount": 30})
    desk.call({"amount": 50})
    assert len(desk.effects) == 2


def test_an_effect_happens_again_under_another_name_and_in_another_function(desk: Desk) -> None:
    functions = StatefulFunctions(Function("desk::charge", desk.run), Function("desk::other", desk.run))
    functions.call("desk::charge")
    functions.call("desk::other")
    desk.name = "refund"
    functions.call("desk::charge")
    assert desk.effects == ["charge", "charge", "refund"]


def test_the_attempts_of_a_workflow_step_share_their_effects(desk: Desk) -> None:
    for _ in range(2):
        assert desk.call(thread="wf_1.go.3", step="wf_1.go.3") == Result({"order": 7}, [])
    assert len(desk.effects) == 1


def test_effects_of_a_step_are_kept_for_ever_and_others_for_a_month(desk: Desk) -> None:
    desk.call(thread="wf_1.go.3", step="wf_1.go.3")
    desk.call(thread="t1")
    step, request = (record.kept_until for record in desk.functions.gateway.effects.records.values())
    assert step is None
    assert request == pytest.approx(desk.functions.clock.now() + SECONDS + KEPT_SECONDS, abs=1)


def test_the_value_has_the_same_form_in_every_round() -> None:
    seen: list[Any] = []

    def run(_: Any, ctx: Context) -> None:
        seen.append(ctx.once("tuple", lambda: (1, {"a": (2,)})))

    functions = StatefulFunctions(Function("desk::f", run))
    functions.call("desk::f")
    functions.call("desk::f")
    assert seen == [[1, {"a": [2]}]] * 2


def test_effects_can_be_nested() -> None:
    effects: list[str] = []

    def inner(ctx: Context) -> str:
        return ctx.once("inner", lambda: effects.append("inner") or "i")

    def run(_: Any, ctx: Context) -> str:
        return ctx.once("outer", lambda: inner(ctx) + "o")

    functions = StatefulFunctions(Function("desk::f", run))
    assert [functions.call("desk::f") for _ in range(2)] == [Result("io", [])] * 2
    assert effects == ["inner"]


@pytest.mark.invariant(155)
def test_a_concurrent_call_is_told_when_to_come_again(desk: Desk) -> None:
    seen: list[Failure] = []

    def call_concurrently() -> None:
        desk.during = lambda: None
        seen.append(desk.call_to_failure())

    desk.during = call_concurrently
    assert desk.call() == Result({"order": 7}, [])
    (failed,) = seen
    assert (failed.kind, failed.outcome, failed.counts) == ("transient_error", "unknown", False)
    assert failed.retry_after_ms == pytest.approx((SECONDS + CLAIM_MARGIN) * 1000, abs=2_000)
    assert "Another call of the same request is carrying out 'charge' of desk::charge." in failed.message
    assert desk.call() == Result({"order": 7}, [])
    assert len(desk.effects) == 1


def test_two_effects_of_one_name_in_one_call_are_one(desk: Desk) -> None:
    def run(_: Any, ctx: Context) -> Sequence[object]:
        return [ctx.once("send", desk.happen), ctx.once("send", desk.happen)]

    functions = StatefulFunctions(Function("desk::f", run))
    assert functions.call("desk::f") == Result([{"order": 7}] * 2, [])
    assert len(desk.effects) == 1


def test_an_effect_inside_of_itself_is_a_fault_of_the_author() -> None:
    def run(_: Any, ctx: Context) -> str:
        return ctx.once("send", lambda: ctx.once("send", lambda: "twice"))

    functions = StatefulFunctions(Function("desk::f", run))
    reply = functions.call("desk::f")
    assert isinstance(reply, Failure)
    assert reply.code == "exception"
    (line,) = functions.host.log.find_lines("fault")
    assert "give an effect inside of it another name" in line["fault"]


@pytest.mark.invariant(155)
def test_an_effect_that_reports_to_have_done_nothing_may_be_tried_again(desk: Desk) -> None:
    desk.raises = ToolError("The bank is closed.")
    failed = desk.call_to_failure()
    assert (failed.message, failed.outcome) == ("The bank is closed.", "none")
    desk.raises = None
    assert desk.call() == Result({"order": 7}, [])
    assert len(desk.effects) == 2


@pytest.mark.invariant(155)
@pytest.mark.parametrize("fault", [RuntimeError("odd"), KeyboardInterrupt(), SystemExit(1)])
def test_an_effect_that_fails_is_in_doubt_at_once(desk: Desk, fault: BaseException) -> None:
    desk.raises = fault
    assert desk.call_to_failure().code == "exception"
    desk.raises = None
    failed = desk.call_to_failure()
    assert (failed.kind, failed.outcome) == ("permanent_error", "unknown")
    assert failed.message == (
        "It is not known whether 'charge' of desk::charge has happened: a call that began it ended without "
        "recording an outcome. It is not repeated. Check whether it has happened; if it has not, send a new "
        "request."
    )
    assert len(desk.effects) == 1


def test_a_failed_nested_call_leaves_the_effect_in_doubt(desk: Desk) -> None:
    desk.raises = CallFailed(Failure("exception", "permanent_error", "unknown", "It failed."))
    assert desk.call_to_failure().outcome == "unknown"
    assert "It is not known" in desk.call_to_failure().message


@pytest.mark.invariant(155)
def test_an_author_may_consent_to_repeat_what_is_in_doubt() -> None:
    desk = Desk(repeat=True)
    desk.raises = RuntimeError("odd")
    desk.call()
    desk.raises = None
    assert [desk.call() for _ in range(2)] == [Result({"order": 7}, [])] * 2
    assert len(desk.effects) == 2


def test_consent_repeats_nothing_that_is_done_or_running() -> None:
    desk = Desk(repeat=True)
    seen: list[Failure] = []

    def call_concurrently() -> None:
        desk.during = lambda: None
        seen.append(desk.call_to_failure())

    desk.during = call_concurrently
    desk.call()
    desk.call()
    assert "is carrying out" in seen[0].message
    assert len(desk.effects) == 1


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (object(), "it is not JSON"),
        (float("nan"), "it is not JSON"),
        ("x" * LONGEST_OUTCOME, f"it has more than {LONGEST_OUTCOME} characters of JSON"),
    ],
)
def test_an_effect_whose_value_cannot_be_kept_is_not_repeated(value: object, reason: str) -> None:
    desk = Desk(repeat=True)
    desk.value = value
    for _ in range(2):
        failed = desk.call_to_failure()
        assert failed.outcome == "unknown"
        assert f"has happened and is not repeated, but its value could not be kept: {reason}" in failed.message
    assert len(desk.effects) == 1


def test_a_value_that_is_nested_too_deeply_is_not_kept(desk: Desk) -> None:
    desk.value = []
    for _ in range(100):
        desk.value = [desk.value]
    assert "it is nested too deeply" in desk.call_to_failure().message
    assert "it is nested too deeply" in desk.call_to_failure().message


@pytest.mark.parametrize("name", ["", "x" * 201])
def test_a_name_that_no_effect_can_have_is_a_fault_of_the_author(desk: Desk, name: str) -> None:
    assert desk.call_to_failure({"name": name}).code == "exception"
    assert desk.effects == []


@pytest.mark.invariant(156)
@pytest.mark.parametrize("action", [CLAIM, RECORD])
@pytest.mark.parametrize("lost", ["lost_before", "lost_after"])
@pytest.mark.parametrize("times", [1, 2])
def test_a_lost_message_is_sent_again_and_recognised(
    desk: Desk, action: str, lost: str, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("signpost.toolkit.operations.PAUSE", 0)
    getattr(desk.functions.transport, lost)[action] = times
    assert [desk.call() for _ in range(2)] == [Result({"order": 7}, [])] * 2
    assert len(desk.effects) == 1


@pytest.mark.parametrize("lost", ["lost_before", "lost_after"])
def test_a_lost_release_is_sent_again(desk: Desk, lost: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("signpost.toolkit.operations.PAUSE", 0)
    getattr(desk.functions.transport, lost)[RELEASE] = 1
    desk.raises = ToolError("Closed.")
    desk.call()
    desk.raises = None
    assert desk.call() == Result({"order": 7}, [])


def test_an_effect_that_cannot_be_claimed_does_not_happen(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("signpost.toolkit.operations.PAUSE", 0)
    desk.functions.transport.lost_before[CLAIM] = 3
    assert desk.call_to_failure().kind == "connection_error"
    assert desk.effects == []
    assert desk.call() == Result({"order": 7}, [])


@pytest.mark.invariant(156)
def test_a_function_does_not_go_on_without_a_recorded_outcome(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("signpost.toolkit.operations.PAUSE", 0)
    desk.functions.transport.lost_before[RECORD] = 3
    failed = desk.call_to_failure()
    assert failed.outcome == "unknown"
    assert "'charge' of desk::charge has happened, but its outcome could not be recorded." in failed.message
    desk.restart()
    assert "It is not known" in desk.call_to_failure().message
    assert len(desk.effects) == 1


def test_a_refused_operation_is_not_sent_again(desk: Desk) -> None:
    desk.functions.transport.refused[CLAIM] = "access_denied"
    assert desk.call_to_failure().kind == "permanent_error"
    assert desk.functions.transport.actions == [CLAIM]


def test_an_unavailable_store_lets_nothing_happen(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("signpost.toolkit.operations.PAUSE", 0)

    def refuse(*_: Any) -> Any:
        raise Unavailable("busy")

    with monkeypatch.context() as patched:
        patched.setattr(desk.functions.gateway.effects, "add", refuse)
        assert desk.call_to_failure().kind == "connection_error"
    assert desk.effects == []


@pytest.mark.invariant(155)
@pytest.mark.parametrize("consents", [False, True])
@pytest.mark.parametrize("point", range(6))
def test_a_killed_process_repeats_nothing_without_consent(point: int, consents: bool) -> None:
    desk = Desk(repeat=consents)
    points = CrashPoints(at=point)
    desk.functions.transport.points = points
    desk.during = lambda: points.call("effect", lambda: None)
    assert desk.call_to_failure().code == "exception"
    assert points.was_reached
    desk.during = lambda: None
    desk.restart()
    happened, reply = len(desk.effects), desk.call()
    if points.passed_points[-1] == f"before {CLAIM}":
        assert (happened, reply, len(desk.effects)) == (0, Result({"order": 7}, []), 1)
    elif points.passed_points[-1] == f"after {RECORD}":
        assert (happened, reply, len(desk.effects)) == (1, Result({"order": 7}, []), 1)
    elif consents:
        assert (reply, len(desk.effects)) == (Result({"order": 7}, []), happened + 1)
    else:
        assert isinstance(reply, Failure)
        assert "It is not known" in reply.message
        assert len(desk.effects) == happened


def test_a_late_outcome_ends_the_doubt(desk: Desk) -> None:
    """The clock of the gateway passed the deadline while the effect was under way."""
    desk.during = lambda: desk.functions.clock.advance(SECONDS - 1)
    assert desk.call(seconds=SECONDS) == Result({"order": 7}, [])
    assert desk.call() == Result({"order": 7}, [])


def test_an_effect_that_another_call_took_over_is_not_recorded_twice() -> None:
    desk = Desk(repeat=True)
    replies: list[Any] = []

    def sleep_past_the_deadline() -> None:
        desk.during = lambda: None
        desk.functions.clock.advance(SECONDS + CLAIM_MARGIN)
        replies.append(desk.call())
        desk.functions.clock.advance(-SECONDS - CLAIM_MARGIN)

    desk.during = sleep_past_the_deadline
    failed = desk.call_to_failure()
    assert "has happened, but its outcome could not be recorded. Another call has taken it over." in failed.message
    assert replies == [desk.call()]


def test_an_async_effect_is_awaited_and_happens_once() -> None:
    effects: list[str] = []

    async def send() -> str:
        effects.append("sent")
        return "ok"

    async def run(_: Any, ctx: Context) -> list[str]:
        return [await ctx.once("function", send), await ctx.once("lambda", lambda: send())]  # noqa: PLW0108 - as authors write it

    functions = StatefulFunctions(Function("desk::f", run))
    assert [functions.call("desk::f") for _ in range(2)] == [Result(["ok", "ok"], [])] * 2
    assert effects == ["sent", "sent"]


def test_a_plain_effect_of_an_async_function_is_not_awaited() -> None:
    async def run(_: Any, ctx: Context) -> str:
        return ctx.once("plain", lambda: "ok")

    functions = StatefulFunctions(Function("desk::f", run))
    assert [functions.call("desk::f") for _ in range(2)] == [Result("ok", [])] * 2


def test_a_plain_function_may_have_an_async_effect() -> None:
    effects: list[str] = []

    async def send() -> str:
        effects.append("sent")
        return "ok"

    def run(_: Any, ctx: Context) -> object:
        return ctx.once("send", send)

    functions = StatefulFunctions(Function("desk::f", run))
    assert [functions.call("desk::f") for _ in range(2)] == [Result("ok", [])] * 2
    assert effects == ["sent"]


def test_an_async_effect_that_fails_is_in_doubt() -> None:
    async def fail() -> str:
        raise RuntimeError("odd")

    async def run(_: Any, ctx: Context) -> str:
        return await ctx.once("send", fail)

    functions = StatefulFunctions(Function("desk::f", run))
    assert [getattr(functions.call("desk::f"), "code", "") for _ in range(2)] == ["exception", "reported"]


def test_an_executor_without_the_gateway_says_so() -> None:
    reply = host_callable(lambda _, ctx: ctx.once("send", lambda: 1)).call("f")
    assert isinstance(reply, Failure)
    assert (reply.code, reply.outcome) == ("reported", "none")
    assert reply.message.startswith("ctx.once is not possible: this executor was deployed without GATEWAY_FUNCTION.")


def test_a_finished_call_carries_out_nothing(desk: Desk) -> None:
    kept: list[Context] = []

    def keep(_: Any, ctx: Context) -> None:
        kept.append(ctx)

    functions = StatefulFunctions(Function("desk::f", keep))
    functions.call("desk::f")
    with pytest.raises(Exception, match="is over"):
        kept[0].once("send", desk.happen)
    assert desk.effects == []


def test_a_recorded_outcome_has_no_secret() -> None:
    secret = "correct horse battery"

    def run(_: Any, ctx: Context) -> object:
        return ctx.once("s", lambda: {"pin": ctx.secret("pin")})

    functions = StatefulFunctions(Function("desk::f", run), secrets={"pin": secret})
    assert [functions.call("desk::f") for _ in range(2)] == [Result({"pin": "***"}, [])] * 2
    (record,) = functions.gateway.effects.records.values()
    assert secret not in str(record)


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"name": "", "scope": "s", "claim": "c"},
        {"name": "n" * 201, "scope": "s", "claim": "c"},
        {"name": 7, "scope": "s", "claim": "c"},
        {"name": "n", "scope": "s", "claim": "c" * 65},
        {"name": "n", "scope": "s", "claim": "\ud800"},
    ],
)
@pytest.mark.parametrize("action", [CLAIM, RECORD, RELEASE, DOUBT])
def test_malformed_operations_are_refused(desk: Desk, action: str, fields: Any) -> None:
    reply = desk.functions.perform(read_token(desk), action, {"text": "1", "loss": "", **fields})
    assert isinstance(reply, Failure)
    assert reply.code == "not_understood"


@pytest.mark.parametrize(
    "outcome",
    [
        {"text": "{", "loss": ""},
        {"text": "NaN", "loss": ""},
        {"text": "[" * 100_000, "loss": ""},
        {"text": f'"{"x" * LONGEST_OUTCOME}"', "loss": ""},
        {"text": '"\ud800"', "loss": ""},
        {"text": 1, "loss": ""},
        {"text": "1"},
    ],
)
def test_a_malformed_outcome_is_refused(desk: Desk, outcome: Any) -> None:
    fields = {"name": "n", "scope": "s", "claim": "c", **outcome}
    reply = desk.functions.perform(read_token(desk), RECORD, fields)
    assert isinstance(reply, Failure)
    assert reply.code == "not_understood"


@pytest.mark.invariant(157)
def test_no_field_names_another_thread_function_or_tenant(desk: Desk) -> None:
    desk.call()
    named = {"name": "charge", "scope": "s", "claim": "c", "repeat": True}
    forged = {"tenant": "acme", "thread": "t2", "function": "desk::other", "call": "x", "principal": "bob"}
    token = read_token(desk)
    first = desk.functions.perform(token, CLAIM, named)
    assert desk.functions.perform(token, CLAIM, {**named, **forged}) == first
    assert {key.tenant for key in desk.functions.gateway.effects.records} == {ANN.tenant}


def test_another_principal_of_the_same_step_finds_the_outcome(desk: Desk) -> None:
    """A person who resolves a step goes on with the step that another caller began."""
    desk.call(thread="wf_1.go.3", step="wf_1.go.3")
    desk.call(thread="wf_1.go.3", step="wf_1.go.3", principal=Principal("bob", "default", "signpost:test"))
    assert len(desk.effects) == 1


def read_token(desk: Desk) -> str:
    """Return the token of a call that is under way."""
    tokens: list[str] = []
    handle = desk.functions.gateway.executors[DESK.arn]

    def record(event: Any) -> Any:
        tokens.append(event["token"])
        return handle(event)

    desk.functions.gateway.executors[DESK.arn] = record
    desk.call({"name": "of another effect"})
    return tokens[-1]


def test_the_errors_are_reports_of_the_author() -> None:
    assert EffectRunning("x").outcome == EffectInDoubt("x").outcome == "unknown"


@pytest.mark.parametrize("answer", [{}, {"state": "odd"}, [], None])
def test_an_answer_that_does_not_allow_the_effect_carries_it_out_never(desk: Desk, answer: Any) -> None:
    """A gateway of another release may answer in another form."""

    def answer_oddly(*_: Any) -> Result:
        return Result(answer)

    functions = StatefulFunctions(Function("desk::charge", desk.run))
    functions.transport.answer = answer_oddly
    reply = functions.call("desk::charge")
    assert isinstance(reply, Failure)
    assert "The gateway did not say whether the effect may happen." in reply.message
    assert desk.effects == []
