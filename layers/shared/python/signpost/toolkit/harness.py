"""What stands between a call and the function: nothing of it runs before the call is known to be allowed, and however
it ends, there is a reply."""

import hashlib
import json
import os
import time
import traceback
from dataclasses import replace

from signpost.contract import Failure, FunctionCall, KeptResult, Reply, Result, Shown
from signpost.errors import DeadlinePassed, Unavailable
from signpost.execution.failures import failure
from signpost.execution.manifest import manifest_message
from signpost.execution.wire import (
    LARGEST_REPLY,
    NotOurs,
    call_of,
    operation_of,
    reply_message,
)
from signpost.model import InputRequired, Json, JsonObject, as_object
from signpost.ports import Clock
from signpost.schema.validation import SchemaRefused, Validators, Violation
from signpost.toolkit.attempt import Ran, Value, attempt, fault_of_result, refused_arguments, shown_of
from signpost.toolkit.context import Context, World
from signpost.toolkit.deadline import Ring
from signpost.toolkit.function import DeclarationError, Function, Hosting
from signpost.toolkit.isolation import run_apart
from signpost.toolkit.leftovers import Leftovers, kill
from signpost.toolkit.ports import KeptResults, TokenCheck

RESERVE = 0.2
"""Seconds before the end of the sandbox by which a function is stopped, so that its reply still leaves."""
CHECKED_WITHIN = 2.0
"""Seconds for holding arguments, or a result, against their schema."""
LONGEST_MESSAGE = 4_000
LONGEST_NAME = 128
ENVELOPE = len(json.dumps(reply_message(Result([], [{}], Shown()))))


class Harness:
    def __init__(
        self,
        hosting: Hosting,
        *,
        tokens: TokenCheck,
        clock: Clock,
        validators: Validators,
        world: World,
        kept_results: KeptResults | None = None,
    ) -> None:
        """Without a place for them, results that are too long to be sent are refused."""
        self._functions = hosting.functions
        self._version = hosting.version
        self._tokens = tokens
        self._clock = clock
        self._log = world.log
        self._validators = validators
        self._kept_results = kept_results
        self._world = world
        self._ring = Ring()
        for function in hosting.functions.values():
            self._compile(function)

    def handle(self, event: Json, remaining_ms: float) -> JsonObject:
        """Raises nothing. `remaining_ms` is what the sandbox has left."""
        try:
            return self._answer(event, remaining_ms)
        except Exception as fault:  # noqa: BLE001 - a fault of ours: whoever called learns no more than that
            self._log.event("ERROR", "failed", fault=type(fault).__name__, traceback=traceback.format_exc())
            return reply_message(_clean(failure("exception", _named(event))))

    def _compile(self, function: Function) -> None:
        """At init, where the processor is ours alone. What a call would show of a schema shows now."""
        for name, schema in (("input_schema", function.input_schema), ("output_schema", function.output_schema)):
            try:
                if schema is not None:
                    self._validators.violation(schema, {})
            except SchemaRefused as fault:
                raise DeclarationError(f"{function.id}: {name} is refused, because {fault}.") from fault

    def _answer(self, event: Json, remaining_ms: float) -> JsonObject:
        try:
            if operation_of(event) == "manifest":
                return manifest_message([function.hosted for function in self._functions.values()], self._version)
            call, token = _call_in(event)
        except NotOurs as fault:
            self._log.event("ERROR", "not understood", reason=str(fault))
            return reply_message(_clean(failure("not_understood", _named(event))))
        return reply_message(self._called(call, token, remaining_ms))

    def _called(self, call: FunctionCall, token: str, remaining_ms: float) -> Reply:
        began = time.monotonic()
        seconds = min(call.deadline - self._clock.now(), remaining_ms / 1000 - RESERVE)
        reply = self._reply(call, token, began + seconds)
        if isinstance(reply, Failure):
            reply = _clean(reply)
        milliseconds = round((time.monotonic() - began) * 1000, 2)
        self._note("INFO", "called", call, outcome=_word_for(reply), ms=milliseconds)
        return reply

    def _reply(self, call: FunctionCall, token: str, ends_at: float) -> Reply:
        refusal = self._refusal(call, token)
        if refusal:
            return failure(refusal, call.function)
        function = self._functions.get(call.function)
        if function is None:
            return failure("unknown_function", call.function)
        if time.monotonic() >= ends_at:
            return failure("late", call.function)
        refused = self._refusal_of_arguments(function, call, ends_at)
        return refused or self._run(function, call, token, ends_at)

    def _refusal(self, call: FunctionCall, token: str) -> str | None:
        """A check that cannot be made is not passed."""
        try:
            return self._tokens.refusal(token, call)
        except Exception as fault:  # noqa: BLE001 - whatever keeps us from the keys, nothing runs
            self._note("ERROR", "token not checked", call, fault=type(fault).__name__, reason=str(fault))
            return "unreachable" if isinstance(fault, Unavailable) else "not_loadable"

    def _refusal_of_arguments(self, function: Function, call: FunctionCall, ends_at: float) -> Failure | None:
        if function.input_schema is None:
            return None
        try:
            violation = self._violation(function.input_schema, call.arguments, ends_at)
        except DeadlinePassed:
            return failure("late", call.function)
        except SchemaRefused as fault:
            message = f"{call.function} cannot be called: its input schema is refused, because {fault}."
            return failure("invalid_arguments", call.function, message=message)
        return refused_arguments(call.function, violation) if violation else None

    def _violation(self, schema: JsonObject, value: Json, ends_at: float) -> Violation | None:
        """Raises DeadlinePassed, or SchemaRefused."""
        until = min(ends_at, time.monotonic() + CHECKED_WITHIN)
        try:
            return self._ring.within(until, lambda: self._validators.violation(schema, value))
        except DeadlinePassed:
            if until == ends_at:
                raise
            return Violation("", "takes too long to check")

    def _run(self, function: Function, call: FunctionCall, token: str, ends_at: float) -> Reply:
        context = Context(call, token, self._world, seconds=ends_at - time.monotonic())
        leftovers = Leftovers()
        try:
            ran = self._checked(self._ran(function, call.arguments, context, ends_at), function, call, ends_at)
        finally:
            context.end()
        word = _word_for(ran.outcome)
        if ran.fault:
            self._note("ERROR", "fault", call, outcome=word, fault=ran.fault)
        self._look_after(leftovers, call, failed=isinstance(ran.outcome, Failure), overran=word == "timed_out")
        return self._delivered(ran.outcome, call) if isinstance(ran.outcome, Value) else ran.outcome

    def _checked(self, ran: Ran, function: Function, call: FunctionCall, ends_at: float) -> Ran:
        """What does not conform is not sent, and its author is told where."""
        if function.output_schema is None or not isinstance(ran.outcome, Value):
            return ran
        try:
            violation = self._violation(function.output_schema, json.loads(ran.outcome.text), ends_at)
        except DeadlinePassed:
            return Ran(failure("timed_out", call.function), "its result came too late to be checked")
        except SchemaRefused as refused:
            violation = Violation("", f"the schema is refused, because {refused}")
        return Ran(failure("result_refused", call.function), fault_of_result(violation)) if violation else ran

    def _ran(self, function: Function, arguments: JsonObject, context: Context, ends_at: float) -> Ran:
        own = os.getpid()

        def act() -> Ran:
            return attempt(function, arguments, context, self._world.secrets)

        try:
            if function.isolate:
                return run_apart(context.function, ends_at, act)
            ran = self._ring.within(ends_at, act)
        except DeadlinePassed:
            if time.monotonic() < ends_at:
                return Ran(failure("exception", context.function), "it raised DeadlinePassed itself")
            return Ran(failure("timed_out", context.function), "it was stopped at its deadline")
        if os.getpid() != own:
            os._exit(1)  # a process that the function forked came back with it: the reply is its parent's to give
        if time.monotonic() >= ends_at:
            told = f"it was not to be stopped, and came back late. {ran.fault}"
            return Ran(failure("timed_out", context.function), told)
        return ran

    def _look_after(self, leftovers: Leftovers, call: FunctionCall, *, failed: bool, overran: bool) -> None:
        """Threads cannot be ended from outside. Processes can; while a function works, they are its own business."""
        threads = leftovers.threads()
        processes = leftovers.processes() if failed else ()
        if threads or processes:
            named = [str(process) for process in processes]
            self._note("WARNING", "left behind", call, threads=threads, processes=named, killed=overran)
        if overran:
            kill(processes)

    def _delivered(self, value: Value, call: FunctionCall) -> Reply:
        evidence = json.loads(value.evidence)
        if ENVELOPE + len(value.text) + len(value.evidence) + len(value.shown) <= LARGEST_REPLY:
            return Result(json.loads(value.text), evidence, shown_of(value))
        # What is shown beside a value has no place of its own to be kept at.
        fits = not value.shown and len(value.evidence) <= LARGEST_REPLY - ENVELOPE
        if self._kept_results is None or call.keep_at is None or not fits:
            return failure("result_too_large", call.function)
        body = value.text.encode("ascii")
        try:
            self._kept_results.keep(call.keep_at, body)
        except Exception as fault:  # noqa: BLE001 - whatever happened to the result, the function has run
            self._note("ERROR", "result not kept", call, fault=type(fault).__name__, reason=str(fault))
            return failure("service_error", call.function)
        return KeptResult(call.keep_at, len(body), hashlib.sha256(body).hexdigest(), evidence)

    def _note(self, level: str, message: str, call: FunctionCall, **facts: Json) -> None:
        names = {"call_id": call.call_id[:LONGEST_NAME], "function": call.function[:LONGEST_NAME]}
        self._log.event(level, message, **names, **facts)


def _call_in(event: Json) -> tuple[FunctionCall, str]:
    """Raises NotOurs."""
    if operation_of(event) != "call":
        raise NotOurs("there is no such operation")
    return call_of(as_object(event))


def _named(event: Json) -> str:
    name = as_object(as_object(event).get("call")).get("function")
    return name[:LONGEST_NAME] if isinstance(name, str) else "the function"


def _word_for(outcome: Value | Reply) -> str:
    match outcome:
        case Failure(code):
            return code
        case InputRequired():
            return "input_required"
        case KeptResult():
            return "kept"
        case _:
            return "result"


def _clean(failed: Failure) -> Failure:
    """With a message that can be sent: it may quote what a caller or an author wrote, half characters and all."""
    return replace(failed, message=failed.message[:LONGEST_MESSAGE].encode(errors="replace").decode())
