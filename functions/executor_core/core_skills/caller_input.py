"""The boundary around the core functions: a failure that a caller's input can cause never counts for the breaker.

Callers send templates, expressions, data, URLs and queries. Every exception while a function evaluates them is
reported as the caller's failure, so a defect that some input reaches harms only the callers who send that input. The
failures that count say that the function itself is broken: its program or sandbox (`OUTAGES`, a crash, no memory), or
a dependency that the operator has chosen.
"""

import traceback
from collections.abc import Callable
from dataclasses import replace

from signpost.errors import DeadlinePassed
from signpost.model import JsonObject
from signpost.toolkit import Context, Function, ToolError, Toolkit
from signpost.toolkit.answers import ArgumentsRefused
from signpost.toolkit.deadline import nested_alarm
from signpost.toolkit.json_text import NotJson, json_text

RESERVE = 0.5
"""Seconds of a call that the functions reserve for their answer."""
STOP_RESERVE = 0.25
"""Seconds before the deadline at which a function that still runs is stopped here. The deadline itself counts."""
OUTAGES = (ImportError, OSError)
"""Exceptions of a broken deployment or sandbox. Functions turn errors of the network into failures themselves."""

MOST_PLACES = 10

type FunctionBody = Callable[[JsonObject, Context], object]


class CoreToolkit(Toolkit):
    """A toolkit of core functions behind the boundary.

    With `has_dependency`, a function depends on a service that the operator has chosen. Its exceptions, timeouts and
    reported failures count then, and only arguments and results that JSON cannot express do not.
    """

    def __init__(self, category: str, *, has_dependency: bool = False) -> None:
        super().__init__("core", category=category)
        self._has_dependency = has_dependency

    @property
    def functions(self) -> tuple[Function, ...]:
        return tuple(replace(function, run=self._contain(function)) for function in super().functions)

    def _contain(self, function: Function) -> FunctionBody:
        evaluate = function.answer if self._has_dependency else _contain_failures(function.answer)

        def run(arguments: JsonObject, ctx: Context) -> object:
            _check_json(arguments, "The arguments cannot be used")
            answer = evaluate(arguments, ctx)
            _check_json(answer, "The result cannot be answered")
            return answer

        return run


def _contain_failures(evaluate: FunctionBody) -> FunctionBody:
    """Make every failure of the body the caller's, except outages."""

    def run(arguments: JsonObject, ctx: Context) -> object:
        remaining = ctx.remaining()
        try:
            with nested_alarm(max(remaining - STOP_RESERVE, remaining / 2)):
                return evaluate(arguments, ctx)
        except ToolError as error:
            error.counts = False
            raise
        except DeadlinePassed:
            raise ToolError("It took too long; ask for less.", "timeout", counts=False) from None
        except (ArgumentsRefused, *OUTAGES):
            raise
        except Exception as fault:  # noqa: BLE001 - whatever the exception is: the input has caused it
            _log_fault(ctx, fault)
            message = f"The arguments could not be evaluated ({type(fault).__name__}); change them."
            raise ToolError(message, counts=False) from None

    return run


def _log_fault(ctx: Context, fault: Exception) -> None:
    """Log an exception by its type and its places in the code: its message may quote the caller's input."""
    frames = traceback.extract_tb(fault.__traceback__)[-MOST_PLACES:]
    places = [f"{frame.filename.rpartition('/')[2]}:{frame.lineno}" for frame in frames]
    ctx.log.error("the arguments could not be evaluated", fault=type(fault).__name__, places=places)


def _check_json(value: object, sentence: str) -> None:
    """Check that a value has a form in strict JSON. Raises ToolError."""
    try:
        json_text(value)
    except NotJson as fault:
        raise ToolError(f"{sentence}: {fault}. Change the arguments.", counts=False) from None
