"""A function as its author declares it. What cannot work is refused at import, when somebody is looking."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field
from inspect import (
    Parameter,
    isasyncgenfunction,
    iscoroutinefunction,
    isgeneratorfunction,
    signature,
)
from typing import cast

from signpost.contract import PROMPT, Component, Hosted
from signpost.execution.function_ids import FUNCTION_ID, is_function_id
from signpost.execution.listing import MEMBERS, no_flag
from signpost.execution.versions import is_version
from signpost.model import Json, JsonObject
from signpost.records import dataclass
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
    name: str | None = None
    """What it is called as a tool where functions have names of their own."""
    title: str | None = None
    category: str | None = None
    output_schema: JsonObject | None = None
    """A result that does not satisfy it is not sent."""
    annotations: JsonObject = field(default_factory=dict[str, Json])
    icons: Sequence[JsonObject] = ()
    meta: JsonObject = field(default_factory=dict[str, Json])
    hidden: bool = False
    """Whether lists leave it out; it is called as any other."""
    idempotent: bool = False
    """Whether calling it twice does what calling it once does."""
    doc: str | None = None
    """The id of the skill document that explains it."""
    component: Component | None = None
    """What it is to clients instead of a tool."""
    _takes: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not is_id(self.id):
            raise DeclarationError(f"{self.id!r} is not the id of a function ({FUNCTION_ID.pattern}).")
        fault = _fault(self)
        if fault:
            raise DeclarationError(f"{self.id}: {fault}.")
        object.__setattr__(self, "_takes", parameters_taken(self.id, self.run))

    @property
    def hosted(self) -> Hosted:
        return Hosted(
            self.id,
            self.timeout_ms,
            frozenset(self.permissions),
            self.readable,
            exposed=self.expose,
            **{member: getattr(self, member) for member in MEMBERS if member != "icons"},
            icons=tuple(self.icons),
        )

    def answer(self, arguments: JsonObject, context: Context) -> object:
        return self.run(*(arguments, context)[: self._takes])


def _fault(function: Function) -> str | None:
    faults = ((name, OPTIONS[name](getattr(function, name))) for name in OPTIONS)
    return next((f"{name} {fault}" for name, fault in faults if fault), None)


def check_distinct(functions: Sequence[Function]) -> None:
    """Raises DeclarationError if two have one id, or clients could not tell them apart."""
    for known_as in (
        [f"called {function.id}" for function in functions],
        list(filter(None, map(_asked_for, functions))),
    ):
        twice = sorted(words for words, times in Counter(known_as).items() if times > 1)
        if twice:
            raise DeclarationError(f"Two functions are {twice[0]}.")


@dataclass(frozen=True, slots=True)
class Hosting:
    """Everything that an executor hosts, by id."""

    functions: Mapping[str, Function]
    version: str | None = None


def functions_of(hosted: object) -> tuple[Function, ...]:
    """Of whatever somebody wants to host. Raises DeclarationError."""
    if isinstance(hosted, Function):
        return (hosted,)
    # By what it has: who hosts no Toolkit need not import it.
    functions: object = getattr(hosted, "functions", None)
    if isinstance(functions, tuple):
        return cast("tuple[Function, ...]", functions)
    raise DeclarationError(f"{hosted!r} is neither a Toolkit nor a Function.")


def checked_version(what: str, version: object) -> str:
    """Raises DeclarationError."""
    if not isinstance(version, str) or not is_version(version):
        raise DeclarationError(f"{what}: version {version!r} is no text of one to four numbers, like 1.2.0.")
    return version


def _asked_for(function: Function) -> str | None:
    """What it is to a client that asks for it, in words that follow "are"."""
    component = function.component
    if component is not None and component.kind != PROMPT:
        return component.uri and f"{component.kind}s at {component.uri}"
    return function.name and f"{'tools' if component is None else 'prompts'} of the name {function.name!r}"


# What an author writes is not what the types say until somebody looks.


def is_id(value: object) -> bool:
    return isinstance(value, str) and is_function_id(value)


def _are_texts(value: object) -> bool:
    if not isinstance(value, list | tuple | set | frozenset):
        return False
    return all(isinstance(name, str) for name in cast("Collection[object]", value))


def _is_positive(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _permissions(value: object) -> str | None:
    return None if _are_texts(value) else "is not a sequence of texts"


def _timeout(value: object) -> str | None:
    return None if value is None or _is_positive(value) else "is not a positive number of milliseconds"


OWN: Mapping[str, Callable[[object], str | None]] = {
    "permissions": _permissions,
    "timeout_ms": _timeout,
    "isolate": no_flag,
    "readable": no_flag,
    "expose": no_flag,
}
OPTIONS = {**OWN, **MEMBERS}
"""What there is to say of a function beside its id and what it runs."""


def check_called(name: str, run: Callable[..., object]) -> None:
    """Raises DeclarationError."""
    if any(test(run) for test in (iscoroutinefunction, isgeneratorfunction, isasyncgenfunction)):
        raise DeclarationError(f"{name}: a function is called and returns; it is neither async nor a generator.")


def parameters_taken(name: str, run: Callable[..., object]) -> int:
    """How many of the arguments and the context it takes. Raises DeclarationError."""
    check_called(name, run)
    try:
        parameters = list(signature(run).parameters.values())
    except (TypeError, ValueError) as fault:
        raise DeclarationError(f"{name}: what it runs has no signature; a function {TAKES}.") from fault
    taken = _taken(parameters)
    if taken is None:
        raise DeclarationError(f"{name}: its parameters are {signature(run)}; a function {TAKES}.")
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
