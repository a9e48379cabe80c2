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
from signpost.model import InputRequired, JsonObject, Principal, Trace
from signpost.toolkit import Answer, CallEnded, CallFailed, Context, DeclarationError, Function, ToolError
from tests.support import function_host
from tests.support.function_host import (
    PRINCIPAL,
    TOKEN,
    HostedCallable,
    MemoryKeptResults,
    SingleTokenCheck,
    build_call,
    encode_reply,
    host_callable,
)

SCHEMA: JsonObject = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
BOTH = pytest.mark.parametrize("isolate", [False, True], ids=["here", "apart"])


def code_of(reply: CallReply) -> str:
    assert isinstance(reply, Failure), reply
    return reply.code


@BOTH
@pytest.mark.parametrize("value", [None, True, 1, 1.5, "é😀", [1, [2]], {"a": {"b": []}}, ""], ids=repr)
def test_any_json_is_a_result(value: Any, isolate: bool) -> None:
    assert host_callable(lambda: value, isolate=isolate).call("f") == Result(value, [])


@BOTH
def test_evidence_is_returned_beside_the_result(isolate: bool) -> None:
    reply = host_callable(
        lambda: Answer({"sent": 1}, evidence=[{"kind": "message", "id": "m1"}]), isolate=isolate
    ).call("f")
    assert reply == Result({"sent": 1}, [{"kind": "message", "id": "m1"}])


@BOTH
def test_a_function_can_require_input_before_its_result(isolate: bool) -> None:
    asked = InputRequired({"name": {"method": "elicitation/create", "params": {}}}, {"round": 1})
    world = host_callable(lambda _, ctx: ctx.answers.get("name") or asked, isolate=isolate)
    assert world.call("f") == asked
    assert world.call("f", answers={"name": "Ada"}) == Result("Ada", [])


def test_the_context_of_a_function_describes_its_call() -> None:
    seen: list[Context] = []

    def look(args: JsonObject, ctx: Context) -> object:
        seen.append(ctx)
        earlier, left, later = time.time(), ctx.remaining(), time.time()
        assert 40 < left <= 50
        assert earlier + left - 0.01 <= ctx.deadline <= later + left + 0.01
        return args

    trace = Trace("00-1-2-3")
    more = {"idempotency_key": "k", "step": "s", "depth": 2, "permissions": frozenset({"mail"}), "trace": trace}
    assert host_callable(look).call("f", {"a": 1}, 50, state="kept", **more) == Result({"a": 1}, [])
    (ctx,) = seen
    assert (ctx.principal, ctx.tenant, ctx.call_id, ctx.state) == (PRINCIPAL, "acme", "call-1", "kept")
    assert {name: getattr(ctx, name) for name in more} == more


@BOTH
def test_a_reported_failure_has_the_message_kind_and_delay_of_its_author(isolate: bool) -> None:
    def refuse() -> None:
        raise ToolError("Come back later.", "rate_limited", retry_after_ms=500)

    expected = Failure("reported", "rate_limited", "none", "Come back later.", 500)
    assert host_callable(refuse, isolate=isolate).call("f") == expected


@BOTH
def test_a_failure_with_counts_false_keeps_it_also_from_a_nested_call(isolate: bool) -> None:
    def refuse() -> None:
        raise ToolError("The host that you named is dead.", "timeout", counts=False)

    expected = Failure("reported", "timeout", "none", "The host that you named is dead.", counts=False)
    assert host_callable(refuse, isolate=isolate).call("f") == expected
    passed_on = host_callable(
        lambda _, ctx: ctx.call("core::http_fetch"), calls=["core::http_fetch"], nested=FakeGateway(expected)
    ).call("f")
    assert (code_of(passed_on), getattr(passed_on, "counts", None)) == ("reported", False)


def test_a_tool_error_of_an_unknown_kind_is_an_exception() -> None:
    wrong: Any = "nonsense"

    class CarelessError(ToolError):
        kind = wrong

        def __init__(self) -> None: ...

    def refuse(args: JsonObject) -> None:
        raise ToolError("no", wrong) if args else CarelessError

    assert code_of(host_callable(refuse).call("f")) == "exception"
    assert code_of(host_callable(refuse).call("f", {"a": 1})) == "exception"


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
def test_any_other_raised_error_is_an_exception_with_details_only_in_the_log(run: Any, isolate: bool) -> None:
    world = host_callable(run, isolate=isolate)
    reply = world.call("f")
    assert reply == Failure("exception", "permanent_error", "unknown", "f failed unexpectedly.")
    (line,) = world.log.find_lines("fault")
    assert line["call_id"] == "call-1"
    assert "Traceback" in line["fault"]
    assert TOKEN not in json.dumps(world.log.lines)


def test_a_deadline_error_raised_by_the_function_itself_is_an_exception() -> None:
    assert code_of(host_callable(raising(DeadlinePassed())).call("f")) == "exception"
    assert code_of(host_callable(raising(DeadlinePassed()), isolate=True).call("f")) == "crashed"


EVIDENCE: Any = [1]
NO_REQUESTS: Any = []
NO_REQUEST: Any = {"a": 1}


class NotJson:
    """Names its tests the same in every process, as the workers of a run need it."""

    def __repr__(self) -> str:
        return "NoJson()"


NO_STATE: Any = NotJson()


class Hostile(dict[str, Any]):
    def items(self) -> Any:
        raise SystemExit


@BOTH
@pytest.mark.parametrize(
    "value", [float("nan"), "\ud800", b"", {1}, {1: 1}, Answer(NO_STATE), Answer(1, EVIDENCE)], ids=repr
)
def test_a_value_that_is_no_json_is_a_bad_result(value: Any, isolate: bool) -> None:
    assert code_of(host_callable(lambda: value, isolate=isolate).call("f")) == "bad_result"


@pytest.mark.parametrize(
    "wrong", [InputRequired(NO_REQUESTS), InputRequired(NO_REQUEST), InputRequired({}, NO_STATE)], ids=repr
)
def test_an_input_request_that_is_no_json_is_a_bad_result(wrong: Any) -> None:
    assert code_of(host_callable(lambda: wrong).call("f")) == "bad_result"


def test_an_error_in_a_method_of_a_result_is_an_exception() -> None:
    assert code_of(host_callable(lambda: Hostile(a=1)).call("f")) == "exception"


def test_a_value_changed_after_the_call_does_not_change_the_reply() -> None:
    kept: dict[str, Any] = {"n": 1}
    world = host_callable(lambda: kept)
    answer = world.harness.handle(call_message(build_call("f"), TOKEN), 60_000)
    kept["n"] = object()
    assert json.loads(encode_reply(answer))["result"] == {"n": 1}


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


MESSAGE = call_message(build_call("f"), TOKEN)


def message_with(**fields: Any) -> JsonObject:
    call: Any = MESSAGE["call"]
    return {**MESSAGE, "call": {**call, **fields}}


@pytest.mark.parametrize(
    "event",
    [
        None, [], "text", {}, {**MESSAGE, "signpost": 2}, {**MESSAGE, "operation": "dance"},
        {**MESSAGE, "token": 1},
        {**MESSAGE, "call": None}, message_with(function=1), message_with(deadline="soon"),
        message_with(depth=float("nan")),
        message_with(depth=float("inf")), message_with(arguments=[]),
        message_with(function="\ud800" * 1000, deadline=None),
    ],
)  # fmt: skip
def test_an_event_that_is_no_call_is_not_understood(event: Any, witness: Witness) -> None:
    assert code_of(host_callable(witness).handle(event)) == "not_understood"


def test_an_unknown_token_is_refused(witness: Witness) -> None:
    assert code_of(host_callable(witness).handle({**MESSAGE, "token": "another"})) == "invalid_token"


@pytest.mark.parametrize("refusal", ["invalid_token", "token_expired", "too_deep"])
def test_a_refused_token_is_a_failure_with_the_code_of_its_refusal(refusal: str, witness: Witness) -> None:
    reply = host_callable(witness, tokens=SingleTokenCheck(lambda: refusal)).call("f")
    assert code_of(reply) == refusal
    assert FAILURES[refusal].outcome == "none"


@pytest.mark.parametrize(("fault", "code"), [(Unavailable("x"), "unreachable"), (ValueError("x"), "not_loadable")])
def test_a_token_that_cannot_be_checked_is_refused(fault: Exception, code: str, witness: Witness) -> None:
    def fail() -> None:
        raise fault

    reply = host_callable(witness, tokens=SingleTokenCheck(fail)).call("f")
    assert code_of(reply) == code
    assert FAILURES[code].outcome == "none"


def test_a_call_without_a_token_does_not_reveal_if_its_function_exists(witness: Witness) -> None:
    assert code_of(host_callable(witness).handle({**message_with(function="nothing"), "token": ""})) == "invalid_token"


def test_a_function_that_is_not_hosted_is_unknown(witness: Witness) -> None:
    reply = host_callable(witness).call("\ud800" + "g" * 10_000)
    assert code_of(reply) == "unknown_function"


@pytest.mark.parametrize(("seconds", "remaining_ms"), [(0, 60_000), (-5, 60_000), (10, 100)])
def test_a_call_past_its_deadline_does_not_run(seconds: float, remaining_ms: float, witness: Witness) -> None:
    world = host_callable(witness)
    assert code_of(world.handle(call_message(build_call("f", {}, seconds), TOKEN), remaining_ms)) == "late"


def with_schema(run: HostedCallable, schema: JsonObject) -> function_host.FunctionHost:
    return function_host.FunctionHost([Function("f", run, input_schema=schema)])


def test_arguments_that_violate_the_schema_are_refused(witness: Witness) -> None:
    reply = with_schema(witness, SCHEMA).call("f", {"n": "one"})
    assert code_of(reply) == "invalid_arguments"
    assert isinstance(reply, Failure)
    assert reply.message.startswith("f was not called: the argument `n` did not satisfy its input schema: ")
    assert with_schema(lambda args: args["n"], SCHEMA).call("f", {"n": 1}) == Result(1, [])


def test_half_a_surrogate_pair_in_invalid_arguments_does_not_break_the_reply(witness: Witness) -> None:
    closed: JsonObject = {"type": "object", "additionalProperties": False}
    assert code_of(with_schema(witness, closed).call("f", {"\ud800": "\udfff"})) == "invalid_arguments"


SLOW: JsonObject = {"properties": {"a": {"uniqueItems": True}}}
MANY: JsonObject = {"a": [{"n": number} for number in range(20_000)]}


def test_arguments_validated_past_the_deadline_are_late(witness: Witness) -> None:
    assert code_of(with_schema(witness, SLOW).call("f", MANY, 0.1)) == "late"


def test_arguments_that_take_too_long_to_validate_are_refused(witness: Witness, monkeypatch: Any) -> None:
    monkeypatch.setattr("signpost.schema.validation.VALIDATION_TIME_LIMIT", 0.1)
    reply = with_schema(witness, SLOW).call("f", MANY)
    assert code_of(reply) == "invalid_arguments"
    assert isinstance(reply, Failure)
    assert "takes too long" in reply.message


def test_a_schema_with_a_dangling_reference_is_refused_at_declaration() -> None:
    function = Function("email::send", lambda: None, input_schema={"$ref": "#/$defs/missing"})
    with pytest.raises(DeclarationError, match="email::send"):
        function_host.FunctionHost([function])


def test_arguments_that_reach_a_dangling_reference_are_refused(witness: Witness) -> None:
    world = with_schema(witness, {"properties": {"a": {"$ref": "#/$defs/missing"}}})
    assert code_of(world.call("f", {"a": 1})) == "invalid_arguments"


def test_two_functions_of_one_name_are_refused() -> None:
    with pytest.raises(DeclarationError, match="email::send"):
        function_host.FunctionHost([Function("email::send", lambda: None)] * 2)


def test_the_manifest_needs_no_token_and_lists_the_hosted_functions() -> None:
    world = function_host.FunctionHost(
        [Function("a", lambda: 1, permissions=["mail"]), Function("b", lambda: 1, timeout_ms=9)]
    )
    answer = world.harness.handle({"signpost": 1, "operation": "manifest"}, 1000)
    assert parse_manifest(encode_reply(answer)).functions == [
        HostedFunction("a", None, frozenset({"mail"}), takes_client=True),
        HostedFunction("b", 9, takes_client=True),
    ]


def test_the_manifest_carries_description_schema_and_exposure() -> None:
    told = Function("a", lambda: 1, description="Sends a mail.", input_schema=SCHEMA, expose=True)
    answer = function_host.FunctionHost([told]).harness.handle({"signpost": 1, "operation": "manifest"}, 1000)
    expected = HostedFunction("a", description="Sends a mail.", input_schema=SCHEMA, exposed=True, takes_client=True)
    assert parse_manifest(encode_reply(answer)).functions == [expected]


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


def test_functions_can_be_any_mapping() -> None:
    world = function_host.FunctionHost(AnyFunction())
    assert world.call("a::b", {"n": 1}) == Result("a::b", [])
    reply = world.call("a::b")
    assert isinstance(reply, Failure)
    assert reply.message == "a::b returned a value that is not JSON."


# Long results

LONG = "x" * LARGEST_REPLY


@BOTH
def test_a_long_result_is_kept_and_its_key_is_sent(isolate: bool) -> None:
    store = MemoryKeptResults()
    world = host_callable(lambda: Answer(LONG, evidence=[{"id": 1}]), isolate=isolate, kept_results=store)
    reply = world.call("f", keep_at="results/1")
    body = store.results["results/1"]
    assert json.loads(body) == LONG
    assert reply == KeptResult("results/1", len(body), hashlib.sha256(body).hexdigest(), [{"id": 1}])


@BOTH
def test_the_size_of_a_result_is_measured_as_lambda_encodes_it(isolate: bool) -> None:
    digits = [1] * (LARGEST_REPLY // 3)
    world = host_callable(lambda args: digits[: args["n"]], isolate=isolate)
    assert isinstance(world.call("f", {"n": len(digits) - 100}), Result)
    assert code_of(world.call("f", {"n": len(digits)})) == "result_too_large"


@pytest.mark.parametrize(("keep_at", "store"), [(None, MemoryKeptResults()), ("results/1", None)])
def test_a_long_result_that_cannot_be_kept_is_too_large(keep_at: str | None, store: Any) -> None:
    assert code_of(host_callable(lambda: LONG, kept_results=store).call("f", keep_at=keep_at)) == "result_too_large"


@BOTH
def test_a_result_over_the_limit_of_kept_results_is_too_large(isolate: bool, monkeypatch: Any) -> None:
    monkeypatch.setattr("signpost.toolkit.attempt.LARGEST_KEPT_RESULT", len(LONG) + 2)
    world = host_callable(lambda args: LONG + args["more"], isolate=isolate, kept_results=MemoryKeptResults())
    assert isinstance(world.call("f", {"more": ""}, keep_at="k"), KeptResult)
    assert code_of(world.call("f", {"more": "x"}, keep_at="k")) == "result_too_large"


def test_long_evidence_and_input_requests_are_too_large() -> None:
    store = MemoryKeptResults()
    assert code_of(host_callable(lambda: Answer(1, [{"a": LONG}]), kept_results=store).call("f", keep_at="k")) == (
        "result_too_large"
    )
    asked = InputRequired({"a": {"text": LONG}})
    assert code_of(host_callable(lambda: asked, kept_results=store).call("f", keep_at="k")) == "result_too_large"


def test_a_result_lost_while_it_is_kept_has_an_unknown_outcome() -> None:
    class Broken:
        def keep(self, key: str, body: bytes) -> None:
            raise Unavailable(f"{key} {len(body)}")

    reply = host_callable(lambda: LONG, kept_results=Broken()).call("f", keep_at="k")
    assert code_of(reply) == "service_error"
    assert isinstance(reply, Failure)
    assert reply.outcome == "unknown"


# The context


class FakeGateway:
    """Stands for the gateway: answers what it was given, and remembers what it was asked."""

    def __init__(self, reply: CallReply) -> None:
        self.reply = reply
        self.asked: list[tuple[str, FunctionCall, str, JsonObject]] = []

    def call(self, token: str, parent: FunctionCall, function: str, arguments: JsonObject) -> CallReply:
        self.asked.append((token, parent, function, arguments))
        return self.reply


def test_a_nested_call_is_sent_with_the_token_of_its_caller() -> None:
    gateway = FakeGateway(Result({"id": 7}))
    reply = host_callable(
        lambda _, ctx: ctx.call("crm::find", {"name": "x"}), calls=["crm::find"], nested=gateway
    ).call("f")
    assert reply == Result({"id": 7}, [])
    ((token, parent, function, arguments),) = gateway.asked
    assert (token, parent.call_id, function, arguments) == (TOKEN, "call-1", "crm::find", {"name": "x"})


THROTTLED = Failure("throttled", "rate_limited", "none", "busy", 50)


def test_a_failed_nested_call_is_raised_and_can_be_caught() -> None:
    def fall_back(_args: JsonObject, ctx: Context) -> object:
        try:
            return ctx.call("crm::find")
        except CallFailed as failed:
            return failed.failure.code

    assert host_callable(fall_back, calls=["crm::find"], nested=FakeGateway(THROTTLED)).call("f") == Result(
        "throttled", []
    )


def test_an_uncaught_failed_nested_call_has_an_unknown_outcome() -> None:
    reply = host_callable(
        lambda _, ctx: ctx.call("crm::find"), calls=["crm::find"], nested=FakeGateway(THROTTLED)
    ).call("f")
    assert reply == Failure("reported", "rate_limited", "unknown", "busy", 50)


@pytest.mark.parametrize("reply", [KeptResult("k", 1, ""), InputRequired({}), None])
def test_a_nested_reply_without_a_result_is_a_failed_call(reply: Any) -> None:
    world = host_callable(
        lambda _, ctx: ctx.call("crm::find"), calls=["crm::find"], nested=FakeGateway(reply) if reply else None
    )
    assert code_of(world.call("f")) == "reported"


def test_a_missing_permission_is_a_failure_that_names_it() -> None:
    def send(_args: JsonObject, ctx: Context) -> object:
        ctx.require("mail")
        return "sent"

    world = host_callable(send)
    assert world.call("f", permissions=frozenset({"mail"})) == Result("sent", [])
    reply = world.call("f")
    assert isinstance(reply, Failure)
    assert (reply.code, reply.kind, reply.outcome) == ("reported", "permanent_error", "none")
    assert "`mail`" in reply.message


@pytest.mark.invariant(82)
def test_a_caller_without_a_permission_is_refused_although_the_function_declares_it() -> None:
    def purge(_args: JsonObject, ctx: Context) -> object:
        ctx.require("admin")
        return "purged"

    world = host_callable(purge)
    granted = frozenset({"admin"})
    reply = world.call("f", permissions=granted)
    assert isinstance(reply, Failure)
    assert reply.message.startswith("You do not have the permission `admin`.")
    admin = Principal("ada", "acme", "signpost:api-key", permissions=granted)
    assert world.handle(call_message(replace(build_call("f", permissions=granted), principal=admin), TOKEN)) == Result(
        "purged", []
    )


@pytest.mark.invariant(83)
def test_a_call_of_an_undeclared_function_is_refused_and_says_how_to_declare_it() -> None:
    gateway = FakeGateway(Result("anything"))

    def ask(_args: JsonObject, ctx: Context) -> object:
        return ctx.call("crm::purge")

    reply = host_callable(ask, calls=["crm::find"], nested=gateway).call("f")
    assert isinstance(reply, Failure)
    assert 'adds "crm::purge" to `calls`' in reply.message
    assert gateway.asked == []


def test_the_context_of_an_ended_call_refuses_nested_calls() -> None:
    kept: list[Context] = []
    gateway = FakeGateway(Result(1))
    host_callable(lambda _, ctx: kept.append(ctx), nested=gateway).call("f")
    with pytest.raises(CallEnded):
        kept[0].call("crm::find")
    assert gateway.asked == []


# The log


def test_a_call_is_logged_as_one_line_without_arguments() -> None:
    world = host_callable(lambda args: args)
    world.call("f", {"secret": "in-argument"})
    (line,) = world.log.lines
    assert line.pop("ms") < 1000
    assert line == {
        "level": "INFO", "message": "called", "call_id": "call-1", "function": "f", "outcome": "result",
    }  # fmt: skip


def test_every_outcome_is_logged_with_its_name() -> None:
    world = host_callable(lambda args: LONG if args else InputRequired({}), kept_results=MemoryKeptResults())
    world.call("f")
    world.call("f", {"a": 1}, keep_at="k")
    world.call("g")
    assert [line["outcome"] for line in world.log.find_lines("called")] == [
        "input_required",
        "kept",
        "unknown_function",
    ]


def test_threads_that_a_call_leaves_behind_are_named_once() -> None:
    over = threading.Event()
    thread = threading.Thread(target=over.wait, name="the-poller", daemon=True)
    world = host_callable(lambda args: thread.start() if args else None)
    world.call("f", {"a": 1})
    world.call("f")
    over.set()
    thread.join()
    (line,) = world.log.find_lines("left behind")
    assert line["threads"] == ["the-poller"]


def test_a_fault_of_the_harness_is_a_reply() -> None:
    world = host_callable(lambda: 1, tokens=SingleTokenCheck(lambda: "a code that there is not"))
    assert code_of(world.call("f")) == "exception"
    assert world.log.find_lines("failed")


def test_a_process_forked_by_a_function_sends_no_reply() -> None:
    def fork() -> int:
        child = os.fork()
        return os.waitpid(child, 0)[1] if child else 0

    own = os.getpid()
    assert host_callable(fork).call("f") == Result(256, [])
    assert os.getpid() == own


def test_the_harness_answers_outside_the_main_thread_too() -> None:
    replies: list[CallReply] = []
    world = host_callable(lambda: 1)
    thread = threading.Thread(target=lambda: replies.append(world.call("f")))
    thread.start()
    thread.join()
    assert replies == [Result(1, [])]


# A process of its own


def test_an_isolated_function_runs_in_its_own_process() -> None:
    before = function_host.list_child_processes()
    seen: list[int] = []
    world = host_callable(lambda: (seen.append(1), os.getpid())[1], isolate=True)
    reply = world.call("f")
    assert isinstance(reply, Result)
    assert reply.value != os.getpid()
    assert seen == []
    assert function_host.list_child_processes() <= before


@pytest.mark.parametrize(
    ("run", "code", "says"),
    [
        (lambda: os._exit(3), "crashed", "exit code 3"),
        (lambda: os._exit(0), "crashed", "exit code 0"),
        (lambda: os.kill(os.getpid(), 9), "out_of_memory", "signal 9"),
        (lambda: os.kill(os.getpid(), 15), "crashed", "signal 15"),
        (lambda: os.kill(os.getpid(), 14), "crashed", "signal 14"),
        # Its end is seen first, or that its pipe is closed.
        (lambda: os.closerange(3, os.sysconf("SC_OPEN_MAX")), "crashed", "exit code 1|it closed the pipe"),
    ],
)
def test_a_process_that_ends_without_a_result_has_crashed(run: Any, code: str, says: str) -> None:
    world = host_callable(run, isolate=True)
    reply = world.call("f")
    assert code_of(reply) == code
    (line,) = world.log.find_lines("fault")
    assert re.search(says, line["fault"])


NOT_WAITED_FOR = 20
"""Seconds, of the sixty that the child would take: far from both, so that a busy machine is no fault."""


def test_a_process_that_closed_its_pipe_is_not_waited_for() -> None:
    before = function_host.list_child_processes()

    def close_and_stay() -> None:
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))
        time.sleep(60)

    began = time.monotonic()
    assert code_of(host_callable(close_and_stay, isolate=True).call("f", seconds=50)) == "crashed"
    assert time.monotonic() - began < NOT_WAITED_FOR
    assert function_host.list_child_processes() <= before


def test_a_crash_is_seen_while_a_grandchild_holds_the_pipe() -> None:
    def die() -> None:
        if os.fork():
            os._exit(4)
        time.sleep(60)

    began = time.monotonic()
    assert code_of(host_callable(die, isolate=True).call("f", seconds=50)) == "crashed"
    assert time.monotonic() - began < NOT_WAITED_FOR


def test_bytes_that_an_isolated_function_writes_into_its_pipe_are_no_reply() -> None:
    before = function_host.list_open_descriptors()

    def write() -> None:
        for descriptor in function_host.list_open_descriptors() - before:
            with contextlib.suppress(OSError):
                if stat.S_ISFIFO(os.fstat(descriptor).st_mode):
                    os.write(descriptor, (5).to_bytes(8) + b"hello")

    assert code_of(host_callable(write, isolate=True).call("f")) == "crashed"


def test_an_isolated_function_that_forks_replies_once() -> None:
    def fork() -> str:
        return "child" if os.fork() else "parent"

    reply = host_callable(fork, isolate=True).call("f")
    assert isinstance(reply, Result)
    assert reply.value == "child"


def test_output_of_an_isolated_function_is_printed_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def speak() -> None:
        sys.stdout.write("from the function\n")

    output = tmp_path / "output"
    with output.open("w") as buffered:
        monkeypatch.setattr(sys, "stdout", buffered)
        buffered.write("before the call\n")
        host_callable(speak, isolate=True).call("f")
    assert output.read_text() == "before the call\nfrom the function\n"


def test_megabytes_are_sent_through_the_pipe() -> None:
    value = ["😀" * 1000] * 300
    assert host_callable(lambda: value, isolate=True).call("f") == Result(value, [])


def test_isolated_calls_leave_no_files_open() -> None:
    world = host_callable(lambda: 1, isolate=True)
    world.call("f")
    before = function_host.list_open_descriptors()
    for _ in range(5):
        world.call("f")
    assert function_host.list_open_descriptors() == before


def test_a_fork_that_fails_is_a_reply(monkeypatch: Any) -> None:
    def fail() -> int:
        raise BlockingIOError

    monkeypatch.setattr("os.fork", fail)
    before = function_host.list_open_descriptors()
    assert code_of(host_callable(lambda: 1, isolate=True).call("f")) == "unreachable"
    assert function_host.list_open_descriptors() == before


def test_the_token_is_checked_against_the_whole_call() -> None:
    seen: list[FunctionCall] = []

    class Recording(SingleTokenCheck):
        def refusal(self, token: str, call: FunctionCall) -> str | None:
            seen.append(call)
            return super().refusal(token, call)

    call = build_call("f", {"a": 1}, depth=2)
    function_host.FunctionHost([Function("f", lambda: 1)], tokens=Recording()).handle(call_message(call, TOKEN))
    assert seen == [replace(call)]


def test_isolated_calls_work_while_sigchld_is_ignored() -> None:
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        world = host_callable(lambda args: os._exit(args["code"]) if args else "well", isolate=True)
        assert world.call("f") == Result("well", [])
        assert code_of(world.call("f", {"code": 1})) == "crashed"
    finally:
        signal.signal(signal.SIGCHLD, before)
