"""A function as its author declares it. What cannot work is refused at import, when somebody is looking."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import field
from inspect import (
    Parameter,
    isasyncgenfunction,
    iscoroutinefunction,
    isgeneratorfunction,
    signature,
)
from typing import cast

from signpost.contract import LONGEST_DESCRIPTION, Hosted
from signpost.execution.function_ids import FUNCTION_ID, is_function_id
from signpost.model import JsonObject
from signpost.records import dataclass
from signpost.schema.validation import SchemaRefused, check
from signpost.toolkit.context import Context

TAKES = "takes `args` and `ctx`, `args` alone, or nothing"


class DeclarationError(Exception):
    """An executor is declared in a way that cannot work; the message says where and why."""


@dataclass(frozen=True, slots=True)
class Function:
    id: str
    run: Callable[..., object]
    """Takes the arguments and the context, the arguments alone, or nothing."""
    input_schema: JsonObject | None = None
    permissions: Collection[str] = ()
    """What it uses; a call is granted these at most."""
    timeout_ms: int | None = None
    isolate: bool = False
    """Whether it runs in a process of its own, which can be killed whatever it does."""
    readable: bool = True
    """Whether a section of a skill may show what it answers."""
    description: str = ""
    """What it does, for whoever chooses among tools."""
    expose: bool = False
    """Whether it is a tool also where only those are that say so."""
    _takes: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not _is_id(self.id):
            raise DeclarationError(f"{self.id!r} is not the id of a function ({FUNCTION_ID.pattern}).")
        fault = _fault(self)
        if fault:
            raise DeclarationError(f"{self.id}: {fault}.")
        object.__setattr__(self, "_takes", _parameters_taken(self))

    @property
    def hosted(self) -> Hosted:
        return Hosted(
            self.id,
            self.timeout_ms,
            frozenset(self.permissions),
            self.readable,
            self.description,
            self.input_schema,
            self.expose,
        )

    def answer(self, arguments: JsonObject, context: Context) -> object:
        return self.run(*(arguments, context)[: self._takes])


def _fault(function: Function) -> str | None:
    if not _are_texts(function.permissions):
        return "permissions is not a sequence of texts"
    if function.timeout_ms is not None and not _is_positive(function.timeout_ms):
        return "timeout_ms is not a positive number of milliseconds"
    if not _is_description(function.description):
        return f"description is no text of {LONGEST_DESCRIPTION} characters at most"
    return _fault_of_schema(function.input_schema)


# What an author writes is not what the types say until somebody looks.


def _is_id(value: object) -> bool:
    return isinstance(value, str) and is_function_id(value)


def _are_texts(value: object) -> bool:
    if not isinstance(value, list | tuple | set | frozenset):
        return False
    return all(isinstance(name, str) for name in cast("Collection[object]", value))


def _is_description(value: object) -> bool:
    return isinstance(value, str) and len(value) <= LONGEST_DESCRIPTION


def _is_positive(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _fault_of_schema(schema: JsonObject | None) -> str | None:
    if schema is None:
        return None
    try:
        check(schema)
    except SchemaRefused as fault:
        return f"its input schema is refused, because {fault}"
    except (AttributeError, RecursionError, TypeError, ValueError):
        return "its input schema is no JSON object"
    return None


def _parameters_taken(function: Function) -> int:
    """How many of the arguments and the context it takes."""
    run = function.run
    if any(test(run) for test in (iscoroutinefunction, isgeneratorfunction, isasyncgenfunction)):
        raise DeclarationError(f"{function.id}: a function is called and returns; it is neither async nor a generator.")
    try:
        parameters = list(signature(run).parameters.values())
    except (TypeError, ValueError) as fault:
        raise DeclarationError(f"{function.id}: what it runs has no signature; a function {TAKES}.") from fault
    taken = _taken(parameters)
    if taken is None:
        raise DeclarationError(f"{function.id}: its parameters are {signature(run)}; a function {TAKES}.")
    return taken


def _taken(parameters: Sequence[Parameter]) -> int | None:
    """None if none of the forms fits. A second parameter with a default is the context only if it is named so."""
    if any(parameter.kind is Parameter.KEYWORD_ONLY and _is_required(parameter) for parameter in parameters):
        return None
    if any(parameter.kind is Parameter.VAR_POSITIONAL for parameter in parameters):
        return 2
    places = [one for one in parameters if one.kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)]
    required = sum(_is_required(parameter) for parameter in places)
    if required > 2 or (places and places[0].name == "ctx"):
        return None
    wants_context = required == 2 or (len(places) > 1 and places[1].name == "ctx")
    return 2 if wants_context else min(len(places), 1)


def _is_required(parameter: Parameter) -> bool:
    return parameter.default is Parameter.empty
