"""The harness: the code between a call and the function.

It checks token, deadline and arguments before any of the function's code runs, and always replies.
"""

import hashlib
import json
import os
import time
import traceback
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from signpost.calling.failures import failure
from signpost.calling.wire import LARGEST_REPLY, MalformedMessage, operation_of, parse_call, reply_message
from signpost.contract import CallReply, ClientPresentation, Failure, FunctionCall, KeptResult, Result
from signpost.directory.manifest import manifest_message
from signpost.errors import DeadlinePassed, Unavailable
from signpost.model import InputRequired, Json, JsonObject, as_object
from signpost.schema.validation import SchemaRefusal, Validators, Violation
from signpost.toolkit.attempt import (
    EncodedResult,
    RunResult,
    arguments_failure,
    attempt,
    fault_of_result,
    shown_of,
)
from signpost.toolkit.call_log import LONGEST_NAME, names_of
from signpost.toolkit.context import Context, ContextServices, notices_of
from signpost.toolkit.deadline import DeadlineTimer
from signpost.toolkit.function import DeclarationError, ExecutorFunctions, Function
from signpost.toolkit.isolation import IsolatedAct, NoticeSink, run_isolated
from signpost.toolkit.orphans import OrphanTracker, kill_processes

if TYPE_CHECKING:
    from signpost.ports import Clock
    from signpost.toolkit.ports import KeptResults, TokenCheck

RESERVE = 0.2
"""Seconds before the Lambda timeout at which a function is stopped, so that the reply can still be sent."""
LONGEST_MESSAGE = 4_000
ENVELOPE = len(json.dumps(reply_message(Result([], [{}], ClientPresentation()))))


class Harness:
    """Handles the events of one executor: calls of its functions, and requests for its manifest."""

    def __init__(
        self,
        hosting: ExecutorFunctions,
        *,
        tokens: "TokenCheck",
        clock: "Clock",
        validators: Validators,
        services: ContextServices,
        kept_results: "KeptResults | None" = None,
    ) -> None:
        """Without `kept_results`, results that are too large to be sent are refused."""
        self._functions = hosting.functions
        self._version = hosting.version
        self._tokens = tokens
        self._clock = clock
        self._log = services.log
        self._validators = validators
        self._kept_results = kept_results
        self._services = services
        self._timer = DeadlineTimer()
        for function in hosting.functions.values():
            self._compile(function)

    def handle(self, event: Json, remaining_ms: float) -> JsonObject:
        """Answer an event of the gateway. Raises nothing. `remaining_ms` is the time until the Lambda timeout."""
        try:
            return self._answer(event, remaining_ms)
        except Exception as fault:  # noqa: BLE001 - a fault of the harness; the caller learns no details
            self._log.write_event("ERROR", "failed", fault=type(fault).__name__, traceback=traceback.format_exc())
            return reply_message(_clean(failure("exception", _function_name_in(event))))

    def _compile(self, function: Function) -> None:
        """Compile the schemas of a function. This happens at init, where the full processor is available and a refused
        schema stops the deployment instead of a call. Raises DeclarationError."""
        for name, schema in (("input_schema", function.input_schema), ("output_schema", function.output_schema)):
            try:
                if schema is not None:
                    self._validators.find_violation(schema, {})
            except SchemaRefusal as fault:
                raise DeclarationError(f"{function.id}: {name} is refused, because {fault}.") from fault

    def _answer(self, event: Json, remaining_ms: float) -> JsonObject:
        try:
            if operation_of(event) == "manifest":
                return manifest_message([function.hosted for function in self._functions.values()], self._version)
            call, token = _parse_call(event)
        except MalformedMessage as fault:
            self._log.write_event("ERROR", "not understood", reason=str(fault))
            return reply_message(_clean(failure("not_understood", _function_name_in(event))))
        return reply_message(self._handle_call(call, token, remaining_ms))

    def _handle_call(self, call: FunctionCall, token: str, remaining_ms: float) -> CallReply:
        started_at = time.monotonic()
        seconds = min(call.deadline - self._clock.now(), remaining_ms / 1000 - RESERVE)
        reply = self._reply_to(call, token, started_at + seconds)
        if isinstance(reply, Failure):
            reply = _clean(reply)
        milliseconds = round((time.monotonic() - started_at) * 1000, 2)
        self._note("INFO", "called", call, outcome=_outcome_word(reply), ms=milliseconds)
        return reply

    def _reply_to(self, call: FunctionCall, token: str, ends_at: float) -> CallReply:
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
        """Check the token of a call and return the code of the refusal. A check that fails to run is a refusal, too."""
        try:
            return self._tokens.refusal(token, call)
        except Exception as fault:  # noqa: BLE001 - if the token cannot be checked for any reason, nothing runs
            self._note("ERROR", "token not checked", call, fault=type(fault).__name__, reason=str(fault))
            return "unreachable" if isinstance(fault, Unavailable) else "not_loadable"

    def _refusal_of_arguments(self, function: Function, call: FunctionCall, ends_at: float) -> Failure | None:
        if function.input_schema is None:
            return None
        try:
            violation = self._find_violation(function.input_schema, call.arguments, ends_at)
        except DeadlinePassed:
            return failure("late", call.function)
        except SchemaRefusal as fault:
            message = f"{call.function} cannot be called: its input schema is refused, because {fault}."
            return failure("invalid_arguments", call.function, message=message)
        return arguments_failure(call.function, violation) if violation else None

    def _find_violation(self, schema: JsonObject, value: Json, ends_at: float) -> Violation | None:
        """Validate a value before the deadline of the call. Raises DeadlinePassed, or SchemaRefusal."""
        violation = self._timer.run_within(ends_at, lambda: self._validators.find_violation(schema, value))
        if violation is not None and time.monotonic() >= ends_at:
            raise DeadlinePassed  # the deadline has ended the check, not the limit of checks
        return violation

    def _run(self, function: Function, call: FunctionCall, token: str, ends_at: float) -> CallReply:
        context = Context(call, token, self._services, seconds=ends_at - time.monotonic())
        orphans = OrphanTracker()
        try:
            run_result = self._check_result(
                self._run_function(function, call.arguments, context, ends_at), function, call, ends_at
            )
        finally:
            context.end()
        outcome = _outcome_word(run_result.outcome)
        if run_result.fault:
            self._note("ERROR", "fault", call, outcome=outcome, fault=run_result.fault)
        self._clean_up_orphans(
            orphans, call, failed=isinstance(run_result.outcome, Failure), overran=outcome == "timed_out"
        )
        reply = (
            self._deliver(run_result.outcome, call)
            if isinstance(run_result.outcome, EncodedResult)
            else run_result.outcome
        )
        return replace(reply, notices=notices_of(context).take())

    def _check_result(self, run_result: RunResult, function: Function, call: FunctionCall, ends_at: float) -> RunResult:
        """Check the result against the output schema. A result that does not satisfy it becomes a failure, and its
        fault is logged for the author."""
        if function.output_schema is None or not isinstance(run_result.outcome, EncodedResult):
            return run_result
        try:
            violation = self._find_violation(function.output_schema, json.loads(run_result.outcome.text), ends_at)
        except DeadlinePassed:
            return RunResult(failure("timed_out", call.function), "it returned too late for its result to be checked")
        except SchemaRefusal as refused:
            violation = Violation("", f"the schema is refused, because {refused}")
        return (
            RunResult(failure("result_refused", call.function), fault_of_result(violation)) if violation else run_result
        )

    def _run_function(self, function: Function, arguments: JsonObject, context: Context, ends_at: float) -> RunResult:
        own_pid = os.getpid()

        def act() -> RunResult:
            return attempt(function, arguments, context, self._services.secrets)

        try:
            if function.isolate:
                return run_isolated(context.function, ends_at, _tell_notices(act, context), notices_of(context).add)
            run_result = self._timer.run_within(ends_at, act)
        except DeadlinePassed:
            if time.monotonic() < ends_at:
                return RunResult(failure("exception", context.function), "it raised DeadlinePassed itself")
            return RunResult(failure("timed_out", context.function), "it was stopped at its deadline")
        if os.getpid() != own_pid:
            os._exit(1)  # this is a process that the function forked; only its parent replies
        if time.monotonic() >= ends_at:
            fault = f"it could not be stopped at its deadline, and returned late. {run_result.fault}"
            return RunResult(failure("timed_out", context.function), fault)
        return run_result

    def _clean_up_orphans(self, orphans: OrphanTracker, call: FunctionCall, *, failed: bool, overran: bool) -> None:
        """Log the threads and processes that a function left running, and kill the processes if it overran its
        deadline.

        Threads cannot be ended from outside. Processes of a function that succeeded are left alone: it may want them.
        """
        threads = orphans.threads()
        processes = orphans.processes() if failed else ()
        if threads or processes:
            descriptions = [str(process) for process in processes]
            self._note("WARNING", "left behind", call, threads=threads, processes=descriptions, killed=overran)
        if overran:
            kill_processes(processes)

    def _deliver(self, value: EncodedResult, call: FunctionCall) -> CallReply:
        evidence = json.loads(value.evidence)
        if ENVELOPE + len(value.text) + len(value.evidence) + len(value.shown) <= LARGEST_REPLY:
            return Result(json.loads(value.text), evidence, shown_of(value))
        # Only the value can be kept in the bucket; there is no place for a presentation beside it.
        fits = not value.shown and len(value.evidence) <= LARGEST_REPLY - ENVELOPE
        if self._kept_results is None or call.keep_at is None or not fits:
            return failure("result_too_large", call.function)
        body = value.text.encode("ascii")
        try:
            self._kept_results.keep(call.keep_at, body)
        except Exception as fault:  # noqa: BLE001 - the function has run; the caller must learn that its result is lost
            self._note("ERROR", "result not kept", call, fault=type(fault).__name__, reason=str(fault))
            return failure("service_error", call.function)
        return KeptResult(call.keep_at, len(body), hashlib.sha256(body).hexdigest(), evidence)

    def _note(self, level: str, message: str, call: FunctionCall, **facts: Json) -> None:
        self._log.write_event(level, message, **names_of(call), **facts)


def _tell_notices(act: Callable[[], RunResult], context: Context) -> IsolatedAct:
    """Return the act in the form for a child process, which tells its notices while it runs."""

    def act_and_tell(receive: NoticeSink) -> RunResult:
        notices_of(context).pass_on(receive)
        run_result = act()
        for notice in notices_of(context).take():
            receive(notice)
        return run_result

    return act_and_tell


def _parse_call(event: Json) -> tuple[FunctionCall, str]:
    """Parse the call and its token. Raises MalformedMessage."""
    if operation_of(event) != "call":
        raise MalformedMessage("it has no known operation")
    return parse_call(as_object(event))


def _function_name_in(event: Json) -> str:
    name = as_object(as_object(event).get("call")).get("function")
    return name[:LONGEST_NAME] if isinstance(name, str) else "the function"


def _outcome_word(outcome: EncodedResult | CallReply) -> str:
    match outcome:
        case Failure(code):
            return code
        case InputRequired():
            return "input_required"
        case KeptResult():
            return "kept"
        case _:
            return "result"


def _clean(failure: Failure) -> Failure:
    """Make the message of a failure sendable: it may quote texts of callers or authors that are long or hold lone
    surrogates."""
    return replace(failure, message=failure.message[:LONGEST_MESSAGE].encode(errors="replace").decode())
