"""A call from its arrival at an executor to the reply."""

import contextlib
import hashlib
import json
import os
import re
import signal
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from signpost.calling.failures import FAILURES
from signpost.calling.wire import LARGEST_REPLY, call_message
from signpost.contract import CallReply, Failure, FunctionCall, HostedFunction, KeptResult, Result
from signpost.directory.manifest import parse_manifest
from signpost.errors import DeadlinePassed, Unavailable
from signpost.model import InputRequired, JsonObject, Trace
from signpost.toolkit import Answer, CallEnded, CallFailed, Context, DeclarationError, Function, ToolError
from tests.support import hosted
from tests.support.hosted import SOMEBODY, TOKEN, MemoryKeptResults, OneToken, Run, as_lambda_sends, call_of, running

SCHEMA: JsonObject = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
BOTH = pytest.mark.parametrize("isolate", [False, True], ids=["here", "apart"])


def code_of(reply: CallReply) -> str:
    assert isinstance(reply, Failure), reply
    return reply.code


@BOTH
@pytest.mark.parametrize("value", [None, True, 1, 1.5, "é😀", [1, [2]], {"a": {"b": []}}, ""], ids=repr)
def test_any_json_is_a_result(value: Any, isolate: bool) -> None:
    assert running(lambda: value, isolate=isolate).call("f") == Result(value, [])


@BOTH
def test_evidence_travels_beside_the_result(isolate: bool) -> None:
    reply = running(lambda: Answer({"sent": 1}, evidence=[{"kind": "message", "id": "m1"}]), isolate=isolate).call("f")
    assert reply == Result({"sent": 1}, [{"kind": "message", "id": "m1"}])


@BOTH
def test_a_function_may_ask_before_it_answers(isolate: bool) -> None:
    asked = InputRequired({"name": {"method": "elicitation/create", "params": {}}}, {"round": 1})
    world = running(lambda _, ctx: ctx.answers.get("name") or asked, isolate=isolate)
    assert world.call("f") == asked
    assert world.call("f", answers={"name": "Ada"}) == Result("Ada", [])


def test_a_function_knows_the_call_it_answers() -> None:
    seen: list[Context] = []

    def look(args: JsonObject, ctx: Context) -> object:
        seen.append(ctx)
        earlier, left, later = time.time(), ctx.remaining(), time.time()
        assert 40 < left <= 50
        assert earlier + left - 0.01 <= ctx.deadline <= later + left + 0.01
        return args

    trace = Trace("00-1-2-3")
    more = {"idempotency_key": "k", "step": "s", "depth": 2, "permissions": frozenset({"mail"}), "trace": trace}
    assert running(look).call("f", {"a": 1}, 50, state="kept", **more) == Result({"a": 1}, [])
    (ctx,) = seen
    assert (ctx.principal, ctx.tenant, ctx.call_id, ctx.state) == (SOMEBODY, "acme", "call-1", "kept")
    assert {name: getattr(ctx, name) for name in more} == more


@BOTH
def test_a_reported_failure_says_what_its_author_said(isolate: bool) -> None:
    def refuse() -> None:
        raise ToolError("Come back later.", "rate_limited", retry_after_ms=500)

    expected = Failure("reported", "rate_limited", "none", "Come back later.", 500)
    assert running(refuse, isolate=isolate).call("f") == expected


@BOTH
def test_a_failure_that_its_author_does_not_count_arrives_as_that(isolate: bool) -> None:
    def refuse() -> None:
        raise ToolError("The host that you named is dead.", "timeout", counts=False)

    expected = Failure("reported", "timeout", "none", "The host that you named is dead.", counts=False)
    assert running(refuse, isolate=isolate).call("f") == expected
    passed_on = running(lambda _, ctx: ctx.call("core::http_fetch"), nested=Gateway(expected)).call("f")
    assert (code_of(passed_on), getattr(passed_on, "counts", None)) == ("reported", False)


def test_a_class_of_failure_that_there_is_not_is_an_exception() -> None:
    wrong: Any = "nonsense"

    class CarelessError(ToolError):
        kind = wrong

        def __init__(self) -> None: ...

    def refuse(args: JsonObject) -> None:
        raise ToolError("no", wrong) if args else CarelessError

    assert code_of(running(refuse).call("f")) == "exception"
    assert code_of(running(refuse).call("f", {"a": 1})) == "exception"


def recurse() -> Any:
    return recurse()


class UnprintableError(Exception):
    def __str__(self) -> str:
        raise SystemExit


def raising(fault: BaseException) -> Callable[[], None]:
    def run() -> None:
        raise fault

    return run


@BOTH
@pytest.mark.parametrize(
    "run",
    [
        raising(ValueError("the author's own words")), raising(SystemExit(3)), raising(KeyboardInterrupt()),
        raising(MemoryError()), raising(GeneratorExit()), raising(BaseException()), raising(UnprintableError()),
        raising(Unavailable("x")), raising(ExceptionGroup("all", [ValueError()])), recurse,
    ],
    ids=["ValueError", "SystemExit", "KeyboardInterrupt", "MemoryError", "GeneratorExit", "BaseException",
         "unprintable", "Unavailable", "a group", "recursion"],
)  # fmt: skip
def test_whatever_else_it_raises_is_an_exception_whose_words_stay_in_the_log(run: Any, isolate: bool) -> None:
    world = running(run, isolate=isolate)
    reply = world.call("f")
    assert reply == Failure("exception", "permanent_error", "unknown", "f failed unexpectedly.")
    (line,) = world.log.of("fault")
    assert line["call_id"] == "call-1"
    assert "Traceback" in line["fault"]
    assert TOKEN not in json.dumps(world.log.lines)


def test_a_deadline_that_a_function_invents_is_an_exception() -> None:
    assert code_of(running(raising(DeadlinePassed())).call("f")) == "exception"
    assert code_of(running(raising(DeadlinePassed()), isolate=True).call("f")) == "crashed"


EVIDENCE: Any = [1]
NO_REQUESTS: Any = []
NO_REQUEST: Any = {"a": 1}


class NoJson:
    """Names its tests the same in every process, as the workers of a run need it."""

    def __repr__(self) -> str:
        return "NoJson()"


NO_STATE: Any = NoJson()


class Hostile(dict[str, Any]):
    def items(self) -> Any:
        raise SystemExit


@BOTH
@pytest.mark.parametrize(
    "value", [float("nan"), "\ud800", b"", {1}, {1: 1}, Answer(NO_STATE), Answer(1, EVIDENCE)], ids=repr
)
def test_what_is_no_json_is_a_bad_result(value: Any, isolate: bool) -> None:
    assert code_of(running(lambda: value, isolate=isolate).call("f")) == "bad_result"


@pytest.mark.parametrize(
    "wrong", [InputRequired(NO_REQUESTS), InputRequired(NO_REQUEST), InputRequired({}, NO_STATE)], ids=repr
)
def test_a_question_that_is_no_json_is_a_bad_result(wrong: Any) -> None:
    assert code_of(running(lambda: wrong).call("f")) == "bad_result"


def test_the_methods_of_a_result_are_the_authors_code_too() -> None:
    assert code_of(running(lambda: Hostile(a=1)).call("f")) == "exception"


def test_what_a_function_keeps_changing_does_not_change_the_reply() -> None:
    kept: dict[str, Any] = {"n": 1}
    world = running(lambda: kept)
    answer = world.harness.handle(call_message(call_of("f"), TOKEN), 60_000)
    kept["n"] = object()
    assert json.loads(as_lambda_sends(answer))["result"] == {"n": 1}


# Before anything runs


class Witness:
    def __init__(self) -> None:
        self.ran = 0

    def __call__(self) -> int:
        self.ran += 1
        return self.ran


@pytest.fixture
def witness() -> Iterator[Witness]:
    """A function that has not run when the test is over."""
    witness = Witness()
    yield witness
    assert witness.ran == 0


MESSAGE = call_message(call_of("f"), TOKEN)


def changed(**fields: Any) -> JsonObject:
    call: Any = MESSAGE["call"]
    return {**MESSAGE, "call": {**call, **fields}}


@pytest.mark.parametrize(
    "event",
    [
        None, [], "text", {}, {**MESSAGE, "signpost": 2}, {**MESSAGE, "operation": "dance"}, {**MESSAGE, "token": 1},
        {**MESSAGE, "call": None}, changed(function=1), changed(deadline="soon"), changed(depth=float("nan")),
        changed(depth=float("inf")), changed(arguments=[]), changed(function="\ud800" * 1000, deadline=None),
    ],
)  # fmt: skip
def test_what_is_no_call_is_not_understood(event: Any, witness: Witness) -> None:
    assert code_of(running(witness).handle(event)) == "not_understood"


def test_a_token_that_is_not_ours_is_refused(witness: Witness) -> None:
    assert code_of(running(witness).handle({**MESSAGE, "token": "another"})) == "invalid_token"


@pytest.mark.parametrize("refusal", ["invalid_token", "token_expired", "too_deep"])
def test_a_refused_token_is_refused_in_the_words_of_the_table(refusal: str, witness: Witness) -> None:
    reply = running(witness, tokens=OneToken(lambda: refusal)).call("f")
    assert code_of(reply) == refusal
    assert FAILURES[refusal].outcome == "none"


@pytest.mark.parametrize(("fault", "code"), [(Unavailable("x"), "unreachable"), (ValueError("x"), "not_loadable")])
def test_a_token_that_cannot_be_checked_is_not_taken(fault: Exception, code: str, witness: Witness) -> None:
    def fail() -> None:
        raise fault

    reply = running(witness, tokens=OneToken(fail)).call("f")
    assert code_of(reply) == code
    assert FAILURES[code].outcome == "none"


def test_who_has_no_token_does_not_learn_what_there_is(witness: Witness) -> None:
    assert code_of(running(witness).handle({**changed(function="nothing"), "token": ""})) == "invalid_token"


def test_a_function_that_is_not_hosted_is_unknown(witness: Witness) -> None:
    reply = running(witness).call("\ud800" + "g" * 10_000)
    assert code_of(reply) == "unknown_function"


@pytest.mark.parametrize(("seconds", "remaining_ms"), [(0, 60_000), (-5, 60_000), (10, 100)])
def test_a_call_that_is_late_does_not_run(seconds: float, remaining_ms: float, witness: Witness) -> None:
    world = running(witness)
    assert code_of(world.handle(call_message(call_of("f", {}, seconds), TOKEN), remaining_ms)) == "late"


def with_schema(run: Run, schema: JsonObject) -> hosted.Hosted:
    return hosted.Hosted([Function("f", run, input_schema=schema)])


def test_arguments_satisfy_the_schema(witness: Witness) -> None:
    reply = with_schema(witness, SCHEMA).call("f", {"n": "one"})
    assert code_of(reply) == "invalid_arguments"
    assert isinstance(reply, Failure)
    assert reply.message.startswith("f was not called: the argument `n` did not satisfy its input schema: ")
    assert with_schema(lambda args: args["n"], SCHEMA).call("f", {"n": 1}) == Result(1, [])


def test_half_characters_in_what_is_wrong_do_not_harm_the_reply(witness: Witness) -> None:
    closed: JsonObject = {"type": "object", "additionalProperties": False}
    assert code_of(with_schema(witness, closed).call("f", {"\ud800": "\udfff"})) == "invalid_arguments"


SLOW: JsonObject = {"properties": {"a": {"uniqueItems": True}}}
MANY: JsonObject = {"a": [{"n": number} for number in range(20_000)]}


def test_arguments_whose_check_outlasts_the_deadline_are_late(witness: Witness) -> None:
    assert code_of(with_schema(witness, SLOW).call("f", MANY, 0.1)) == "late"


def test_arguments_that_take_for_ever_to_check_are_refused(witness: Witness, monkeypatch: Any) -> None:
    monkeypatch.setattr("signpost.toolkit.harness.CHECK_TIMEOUT", 0.1)
    reply = with_schema(witness, SLOW).call("f", MANY)
    assert code_of(reply) == "invalid_arguments"
    assert isinstance(reply, Failure)
    assert "takes too long" in reply.message


def test_a_schema_that_leads_nowhere_is_refused_when_the_handler_is_made() -> None:
    function = Function("email::send", lambda: None, input_schema={"$ref": "#/$defs/missing"})
    with pytest.raises(DeclarationError, match="email::send"):
        hosted.Hosted([function])


def test_a_reference_that_leads_nowhere_for_some_arguments_is_refused_with_them(witness: Witness) -> None:
    world = with_schema(witness, {"properties": {"a": {"$ref": "#/$defs/missing"}}})
    assert code_of(world.call("f", {"a": 1})) == "invalid_arguments"


def test_two_functions_of_one_name_are_refused() -> None:
    with pytest.raises(DeclarationError, match="email::send"):
        hosted.Hosted([Function("email::send", lambda: None)] * 2)


def test_the_manifest_needs_no_token_and_lists_what_is_hosted() -> None:
    world = hosted.Hosted([Function("a", lambda: 1, permissions=["mail"]), Function("b", lambda: 1, timeout_ms=9)])
    answer = world.harness.handle({"signpost": 1, "operation": "manifest"}, 1000)
    assert parse_manifest(as_lambda_sends(answer)).functions == [
        HostedFunction("a", None, frozenset({"mail"})),
        HostedFunction("b", 9),
    ]


def test_the_manifest_says_what_tools_show() -> None:
    told = Function("a", lambda: 1, description="Sends a mail.", input_schema=SCHEMA, expose=True)
    answer = hosted.Hosted([told]).harness.handle({"signpost": 1, "operation": "manifest"}, 1000)
    expected = HostedFunction("a", description="Sends a mail.", input_schema=SCHEMA, exposed=True)
    assert parse_manifest(as_lambda_sends(answer)).functions == [expected]


class AnyFunction(Mapping[str, Function]):
    """Hosts one function under every id."""

    def __getitem__(self, name: str) -> Function:
        def answer(args: JsonObject, ctx: Context) -> object:
            return ctx.function if args else object()

        return Function("any", answer)

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


def test_functions_may_be_any_mapping() -> None:
    world = hosted.Hosted(AnyFunction())
    assert world.call("a::b", {"n": 1}) == Result("a::b", [])
    reply = world.call("a::b")
    assert isinstance(reply, Failure)
    assert reply.message == "a::b returned a value that is not JSON."


# Long results

LONG = "x" * LARGEST_REPLY


@BOTH
def test_a_long_result_is_kept_and_its_place_sent(isolate: bool) -> None:
    store = MemoryKeptResults()
    world = running(lambda: Answer(LONG, evidence=[{"id": 1}]), isolate=isolate, kept_results=store)
    reply = world.call("f", keep_at="results/1")
    body = store.kept["results/1"]
    assert json.loads(body) == LONG
    assert reply == KeptResult("results/1", len(body), hashlib.sha256(body).hexdigest(), [{"id": 1}])


@BOTH
def test_what_is_sent_is_measured_as_lambda_writes_it(isolate: bool) -> None:
    digits = [1] * (LARGEST_REPLY // 3)
    world = running(lambda args: digits[: args["n"]], isolate=isolate)
    assert isinstance(world.call("f", {"n": len(digits) - 100}), Result)
    assert code_of(world.call("f", {"n": len(digits)})) == "result_too_large"


@pytest.mark.parametrize(("keep_at", "store"), [(None, MemoryKeptResults()), ("results/1", None)])
def test_a_long_result_that_has_no_place_is_too_large(keep_at: str | None, store: Any) -> None:
    assert code_of(running(lambda: LONG, kept_results=store).call("f", keep_at=keep_at)) == "result_too_large"


@BOTH
def test_a_result_that_is_longer_than_what_is_kept_is_too_large(isolate: bool, monkeypatch: Any) -> None:
    monkeypatch.setattr("signpost.toolkit.attempt.LARGEST_KEPT_RESULT", len(LONG) + 2)
    world = running(lambda args: LONG + args["more"], isolate=isolate, kept_results=MemoryKeptResults())
    assert isinstance(world.call("f", {"more": ""}, keep_at="k"), KeptResult)
    assert code_of(world.call("f", {"more": "x"}, keep_at="k")) == "result_too_large"


def test_evidence_and_questions_have_no_place_but_the_reply() -> None:
    store = MemoryKeptResults()
    assert code_of(running(lambda: Answer(1, [{"a": LONG}]), kept_results=store).call("f", keep_at="k")) == (
        "result_too_large"
    )
    asked = InputRequired({"a": {"text": LONG}})
    assert code_of(running(lambda: asked, kept_results=store).call("f", keep_at="k")) == "result_too_large"


def test_a_result_that_cannot_be_kept_is_lost_and_nobody_knows_what_happened() -> None:
    class Broken:
        def keep(self, key: str, body: bytes) -> None:
            raise Unavailable(f"{key} {len(body)}")

    reply = running(lambda: LONG, kept_results=Broken()).call("f", keep_at="k")
    assert code_of(reply) == "service_error"
    assert isinstance(reply, Failure)
    assert reply.outcome == "unknown"


# The context


class Gateway:
    """Stands for the gateway: answers what it was given, and remembers what it was asked."""

    def __init__(self, reply: CallReply) -> None:
        self.reply = reply
        self.asked: list[tuple[str, FunctionCall, str, JsonObject]] = []

    def call(self, token: str, parent: FunctionCall, function: str, arguments: JsonObject) -> CallReply:
        self.asked.append((token, parent, function, arguments))
        return self.reply


def test_a_function_calls_another_with_its_own_token() -> None:
    gateway = Gateway(Result({"id": 7}))
    reply = running(lambda _, ctx: ctx.call("crm::find", {"name": "x"}), nested=gateway).call("f")
    assert reply == Result({"id": 7}, [])
    ((token, parent, function, arguments),) = gateway.asked
    assert (token, parent.call_id, function, arguments) == (TOKEN, "call-1", "crm::find", {"name": "x"})


THROTTLED = Failure("throttled", "rate_limited", "none", "busy", 50)


def test_a_failed_call_is_raised_and_can_be_caught() -> None:
    def fall_back(_args: JsonObject, ctx: Context) -> object:
        try:
            return ctx.call("crm::find")
        except CallFailed as failed:
            return failed.failure.code

    assert running(fall_back, nested=Gateway(THROTTLED)).call("f") == Result("throttled", [])


def test_a_failed_call_that_nobody_catches_leaves_open_what_was_done_before() -> None:
    reply = running(lambda _, ctx: ctx.call("crm::find"), nested=Gateway(THROTTLED)).call("f")
    assert reply == Failure("reported", "rate_limited", "unknown", "busy", 50)


@pytest.mark.parametrize("reply", [KeptResult("k", 1, ""), InputRequired({}), None])
def test_what_a_function_cannot_be_given_is_a_failed_call(reply: Any) -> None:
    world = running(lambda _, ctx: ctx.call("crm::find"), nested=Gateway(reply) if reply else None)
    assert code_of(world.call("f")) == "reported"


def test_a_permission_is_required_where_it_matters() -> None:
    def send(_args: JsonObject, ctx: Context) -> object:
        ctx.require("mail")
        return "sent"

    world = running(send)
    assert world.call("f", permissions=frozenset({"mail"})) == Result("sent", [])
    reply = world.call("f")
    assert isinstance(reply, Failure)
    assert (reply.code, reply.kind, reply.outcome) == ("reported", "permanent_error", "none")
    assert "`mail`" in reply.message


def test_the_context_of_a_call_that_is_over_refuses_to_act() -> None:
    kept: list[Context] = []
    gateway = Gateway(Result(1))
    running(lambda _, ctx: kept.append(ctx), nested=gateway).call("f")
    with pytest.raises(CallEnded):
        kept[0].call("crm::find")
    assert gateway.asked == []


# The log


def test_a_call_is_one_line_that_quotes_nothing() -> None:
    world = running(lambda args: args)
    world.call("f", {"secret": "in-argument"})
    (line,) = world.log.lines
    assert line.pop("ms") < 1000
    assert line == {
        "level": "INFO", "message": "called", "call_id": "call-1", "function": "f", "outcome": "result",
    }  # fmt: skip


def test_every_outcome_has_its_word() -> None:
    world = running(lambda args: LONG if args else InputRequired({}), kept_results=MemoryKeptResults())
    world.call("f")
    world.call("f", {"a": 1}, keep_at="k")
    world.call("g")
    assert [line["outcome"] for line in world.log.of("called")] == ["input_required", "kept", "unknown_function"]


def test_threads_that_a_call_leaves_behind_are_named_once() -> None:
    over = threading.Event()
    thread = threading.Thread(target=over.wait, name="the-poller", daemon=True)
    world = running(lambda args: thread.start() if args else None)
    world.call("f", {"a": 1})
    world.call("f")
    over.set()
    thread.join()
    (line,) = world.log.of("left behind")
    assert line["threads"] == ["the-poller"]


def test_a_fault_of_ours_is_a_reply_too() -> None:
    world = running(lambda: 1, tokens=OneToken(lambda: "a code that there is not"))
    assert code_of(world.call("f")) == "exception"
    assert world.log.of("failed")


def test_a_process_that_a_function_forks_does_not_come_back_with_a_reply() -> None:
    def fork() -> int:
        child = os.fork()
        return os.waitpid(child, 0)[1] if child else 0

    own = os.getpid()
    assert running(fork).call("f") == Result(256, [])
    assert os.getpid() == own


def test_the_harness_answers_outside_the_main_thread_too() -> None:
    replies: list[CallReply] = []
    world = running(lambda: 1)
    thread = threading.Thread(target=lambda: replies.append(world.call("f")))
    thread.start()
    thread.join()
    assert replies == [Result(1, [])]


# A process of its own


def test_a_function_apart_changes_nothing_here() -> None:
    before = hosted.children()
    seen: list[int] = []
    world = running(lambda: (seen.append(1), os.getpid())[1], isolate=True)
    reply = world.call("f")
    assert isinstance(reply, Result)
    assert reply.value != os.getpid()
    assert seen == []
    assert hosted.children() <= before


@pytest.mark.parametrize(
    ("run", "code", "says"),
    [
        (lambda: os._exit(3), "crashed", "exit code 3"),
        (lambda: os._exit(0), "crashed", "exit code 0"),
        (lambda: os.kill(os.getpid(), 9), "out_of_memory", "signal 9"),
        (lambda: os.kill(os.getpid(), 15), "crashed", "signal 15"),
        (lambda: os.kill(os.getpid(), 14), "crashed", "signal 14"),
        # Its end is seen first, or that its pipe is closed.
        (lambda: os.closerange(3, 1000), "crashed", "exit code 1|it closed the pipe"),
    ],
)
def test_a_process_that_ends_without_a_result_has_crashed(run: Any, code: str, says: str) -> None:
    world = running(run, isolate=True)
    reply = world.call("f")
    assert code_of(reply) == code
    (line,) = world.log.of("fault")
    assert re.search(says, line["fault"])


NOT_WAITED_FOR = 20
"""Seconds, of the sixty that the child would take: far from both, so that a busy machine is no fault."""


def test_who_closes_the_pipe_and_stays_is_not_waited_for() -> None:
    before = hosted.children()

    def close_and_stay() -> None:
        os.closerange(3, 1000)
        time.sleep(60)

    began = time.monotonic()
    assert code_of(running(close_and_stay, isolate=True).call("f", seconds=50)) == "crashed"
    assert time.monotonic() - began < NOT_WAITED_FOR
    assert hosted.children() <= before


def test_a_grandchild_that_holds_the_pipe_does_not_hide_the_death_of_the_child() -> None:
    def die() -> None:
        if os.fork():
            os._exit(4)
        time.sleep(60)

    began = time.monotonic()
    assert code_of(running(die, isolate=True).call("f", seconds=50)) == "crashed"
    assert time.monotonic() - began < NOT_WAITED_FOR


def test_what_a_function_apart_writes_into_its_pipe_is_no_reply() -> None:
    before = hosted.descriptors()

    def write() -> None:
        for descriptor in hosted.descriptors() - before:
            with contextlib.suppress(OSError):
                if stat.S_ISFIFO(os.fstat(descriptor).st_mode):
                    os.write(descriptor, (5).to_bytes(8) + b"hello")

    assert code_of(running(write, isolate=True).call("f")) == "crashed"


def test_a_function_apart_that_forks_answers_once() -> None:
    def fork() -> str:
        return "child" if os.fork() else "parent"

    reply = running(fork, isolate=True).call("f")
    assert isinstance(reply, Result)
    assert reply.value == "child"


def test_what_a_function_apart_prints_is_printed_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def speak() -> None:
        sys.stdout.write("from the function\n")

    output = tmp_path / "output"
    with output.open("w") as buffered:
        monkeypatch.setattr(sys, "stdout", buffered)
        buffered.write("before the call\n")
        running(speak, isolate=True).call("f")
    assert output.read_text() == "before the call\nfrom the function\n"


def test_megabytes_come_through_the_pipe() -> None:
    value = ["😀" * 1000] * 300
    assert running(lambda: value, isolate=True).call("f") == Result(value, [])


def test_calls_apart_leave_no_files_open() -> None:
    world = running(lambda: 1, isolate=True)
    world.call("f")
    before = hosted.descriptors()
    for _ in range(5):
        world.call("f")
    assert hosted.descriptors() == before


def test_a_fork_that_fails_is_a_reply(monkeypatch: Any) -> None:
    def fail() -> int:
        raise BlockingIOError

    monkeypatch.setattr("os.fork", fail)
    before = hosted.descriptors()
    assert code_of(running(lambda: 1, isolate=True).call("f")) == "unreachable"
    assert hosted.descriptors() == before


def test_the_call_is_what_the_token_check_sees() -> None:
    seen: list[FunctionCall] = []

    class Recording(OneToken):
        def refusal(self, token: str, call: FunctionCall) -> str | None:
            seen.append(call)
            return super().refusal(token, call)

    call = call_of("f", {"a": 1}, depth=2)
    hosted.Hosted([Function("f", lambda: 1)], tokens=Recording()).handle(call_message(call, TOKEN))
    assert seen == [replace(call)]


def test_an_author_who_wants_no_news_of_children_gets_results_all_the_same() -> None:
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        world = running(lambda args: os._exit(args["code"]) if args else "well", isolate=True)
        assert world.call("f") == Result("well", [])
        assert code_of(world.call("f", {"code": 1})) == "crashed"
    finally:
        signal.signal(signal.SIGCHLD, before)
