"""A function as its author declares it. A declaration that cannot work is refused at import, when the author sees
it."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field
from inspect import (
    Parameter,
    isasyncgenfunction,
    isgeneratorfunction,
    signature,
)
from typing import cast

from signpost.calling.function_ids import FUNCTION_ID, is_function_id
from signpost.contract import MOST_CALLEES, PROMPT, Component, HostedFunction, is_declared_read_only
from signpost.directory.listing import MEMBER_CHECKS, check_flag
from signpost.directory.versions import is_version
from signpost.model import Json, JsonObject
from signpost.records import dataclass
from signpost.toolkit.async_functions import finish, prepare_async
from signpost.toolkit.context import Context

SEQUENCE_MEMBERS = ("icons", "needs")
"""Members that authors may also give as lists."""
ACCEPTED_PARAMETERS = "takes `args` and `ctx`, `args` alone, or nothing"


class DeclarationError(Exception):
    """Raised for a declaration of an executor that cannot work; the message names the place and the reason."""


@dataclass(frozen=True, slots=True)
class Function:
    """A Python callable with an id, schemas and options, as its author declares it."""

    id: str
    run: Callable[..., object]
    """The body, plain or async. It takes the arguments and the context, the arguments alone, or nothing."""
    input_schema: JsonObject | None = None
    permissions: Collection[str] = ()
    """The permissions that the function uses; a call is granted at most these."""
    timeout_ms: int | None = None
    isolate: bool = False
    """Whether the function runs in a process of its own, which the executor can always kill."""
    readable: bool | None = None
    """Whether a section of a skill may run the function and show its answer; None for functions that are annotated as
    read-only, and for no others."""
    description: str = ""
    """The effect of the function, for clients that choose among tools."""
    expose: bool = False
    """Whether the function is a tool also in deployments where only exposed functions are tools."""
    name: str | None = None
    """The name as a tool, in deployments where tools have names of their own."""
    title: str | None = None
    category: str | None = None
    output_schema: JsonObject | None = None
    """The schema of results. A result that does not satisfy it is not sent."""
    annotations: JsonObject = field(default_factory=dict[str, Json])
    icons: Sequence[JsonObject] = ()
    meta: JsonObject = field(default_factory=dict[str, Json])
    hidden: bool = False
    """Whether lists leave the function out. It can be called all the same."""
    idempotent: bool = False
    """Whether two calls have the same effect as one call."""
    doc: str | None = None
    """The id of the skill document that explains the function."""
    component: Component | None = None
    """The component that clients see instead of a tool."""
    calls: Collection[str] = ()
    """The ids of the functions that the function calls by its context. It can call no others."""
    needs: Sequence[str] = ()
    """The capabilities without which a client cannot use the function, such as `elicitation`."""
    task: str | None = None
    """Whether a call of the function is a task: `required`, `never` or `auto`."""
    visible_when: JsonObject | None = None
    """The condition under which lists show the function to a principal."""
    _parameter_count: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not is_id(self.id):
            raise DeclarationError(f"{self.id!r} is not a valid function id; it must match {FUNCTION_ID.pattern}.")
        fault = _first_fault(self)
        if fault:
            raise DeclarationError(f"{self.id}: {fault}.")
        object.__setattr__(self, "_parameter_count", count_parameters(self.id, self.run))

    @property
    def hosted(self) -> HostedFunction:
        return HostedFunction(
            self.id,
            self.timeout_ms,
            frozenset(self.permissions),
            self._is_readable(),
            exposed=self.expose,
            **{member: getattr(self, member) for member in MEMBER_CHECKS if member not in SEQUENCE_MEMBERS},
            icons=tuple(self.icons),
            needs=tuple(self.needs),
            callees=frozenset(self.calls),
            takes_client=True,
        )

    def _is_readable(self) -> bool:
        return is_declared_read_only(self.annotations) if self.readable is None else self.readable

    def answer(self, arguments: JsonObject, context: Context) -> object:
        return finish(self.run(*(arguments, context)[: self._parameter_count]))


def _first_fault(function: Function) -> str | None:
    faults = ((name, OPTIONS[name](getattr(function, name))) for name in OPTIONS)
    return next((f"{name} {fault}" for name, fault in faults if fault), None)


def check_distinct(functions: Sequence[Function]) -> None:
    """Check that no two functions share an id, a name or a URI. Raises DeclarationError."""
    for descriptions in (
        [f"called {function.id}" for function in functions],
        list(filter(None, map(_client_facing_words, functions))),
    ):
        duplicates = sorted(words for words, times in Counter(descriptions).items() if times > 1)
        if duplicates:
            raise DeclarationError(f"Two functions are {duplicates[0]}. Change one of them.")


@dataclass(frozen=True, slots=True)
class ExecutorFunctions:
    """All functions that one executor hosts, by id, with the executor's version."""

    functions: Mapping[str, Function]
    version: str | None = None


def functions_of(host: object) -> tuple[Function, ...]:
    """List the functions of a Function, a Toolkit or a RegisteredToolkit. Raises DeclarationError for other objects."""
    if isinstance(host, Function):
        return (host,)
    # Recognized by its attribute: an executor without toolkits does not import Toolkit.
    functions: object = getattr(host, "functions", None)
    if isinstance(functions, tuple):
        return cast("tuple[Function, ...]", functions)
    raise DeclarationError(f"{host!r} cannot be hosted: it is not a Toolkit, a RegisteredToolkit or a Function.")


def check_version(owner: str, version: object) -> str:
    """Return the version if it is one. Raises DeclarationError."""
    if not isinstance(version, str) or not is_version(version):
        raise DeclarationError(f"{owner}: version {version!r} must be a text of one to four numbers, such as 1.2.0.")
    return version


def _client_facing_words(function: Function) -> str | None:
    """Describe the name or URI by which clients ask for the function, in words that follow "are"; None or empty if it
    has none."""
    component = function.component
    if component is not None and component.kind != PROMPT:
        return component.uri and f"{component.kind}s at {component.uri}"
    return function.name and f"{'tools' if component is None else 'prompts'} of the name {function.name!r}"


# Authors need not use a type checker, so the values of options are checked at run time.


def is_id(value: object) -> bool:
    return isinstance(value, str) and is_function_id(value)


def _are_texts(value: object) -> bool:
    if not isinstance(value, list | tuple | set | frozenset):
        return False
    return all(isinstance(name, str) for name in cast("Collection[object]", value))


def _is_positive(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _fault_of_permissions(value: object) -> str | None:
    return None if _are_texts(value) else "must be a sequence of texts"


def _fault_of_calls(value: object) -> str | None:
    if not _are_texts(value):
        return "must be a sequence of function ids"
    ids = cast("Collection[str]", value)
    if invalid := [function for function in ids if not is_id(function)]:
        return f"has {invalid[0]!r}, which is not a valid function id"
    return None if len(ids) <= MOST_CALLEES else f"has more than {MOST_CALLEES} functions"


def _fault_of_timeout(value: object) -> str | None:
    return None if value is None or _is_positive(value) else "must be a positive number of milliseconds"


def _fault_of_readable(value: object) -> str | None:
    return None if value is None else check_flag(value)


OWN: Mapping[str, Callable[[object], str | None]] = {
    "permissions": _fault_of_permissions,
    "timeout_ms": _fault_of_timeout,
    "calls": _fault_of_calls,
    "isolate": check_flag,
    "readable": _fault_of_readable,
    "expose": check_flag,
}


def _fault_of_input_schema(value: object) -> str | None:
    """Check a schema as the gateway does when it loads the executor, and also the headers that it names."""
    fault = MEMBER_CHECKS["input_schema"](value)
    if fault or "x-mcp-header" not in str(value):
        return fault
    # Imported on first use: few tools have arguments that clients repeat in headers.
    from signpost.mcp.mirrored_arguments import find_header_fault  # noqa: PLC0415

    return find_header_fault(cast("JsonObject", value))


OPTIONS = {**OWN, **MEMBER_CHECKS, "input_schema": _fault_of_input_schema}
"""The checks of a function's options: all its fields but the id and the body."""


def check_callable(name: str, run: Callable[..., object]) -> None:
    """Check that a callable is not a generator, plain or async. Raises DeclarationError."""
    if isgeneratorfunction(run) or isasyncgenfunction(run):
        form = "a generator" if isgeneratorfunction(run) else "an async generator"
        raise DeclarationError(
            f"{name}: it is {form}, because it has a `yield`, and an answer is sent in one piece; return the answer."
        )
    prepare_async(run)
    _check_questions(name, run)


ASKING = frozenset(("elicit", "elicit_url", "Elicit", "ElicitUrl"))


def _check_questions(name: str, run: Callable[..., object]) -> None:
    """Check the questions that the body of a callable writes out. Raises DeclarationError."""
    if ASKING.isdisjoint(getattr(getattr(run, "__code__", None), "co_names", ())):
        return
    from signpost.toolkit.literal_questions import find_literal_fault  # noqa: PLC0415 - few functions ask

    if (fault := find_literal_fault(run)) is not None:
        raise DeclarationError(f"{name}: {fault}")


def count_parameters(name: str, run: Callable[..., object]) -> int:
    """Count the parameters for (arguments, context) that a callable takes: 0, 1 or 2. Raises DeclarationError."""
    check_callable(name, run)
    try:
        parameters = list(signature(run).parameters.values())
    except (TypeError, ValueError) as fault:
        raise DeclarationError(f"{name}: its body has no signature; a function {ACCEPTED_PARAMETERS}.") from fault
    count = _count_accepted(parameters)
    if count is None:
        raise DeclarationError(f"{name}: its parameters are {signature(run)}; a function {ACCEPTED_PARAMETERS}.")
    return count


def _count_accepted(parameters: Sequence[Parameter]) -> int | None:
    """Count the accepted parameters; None if the form is not accepted. A second parameter with a default takes the
    context only if its name is `ctx`."""
    if any(parameter.kind is Parameter.KEYWORD_ONLY and _is_required(parameter) for parameter in parameters):
        return None
    if any(parameter.kind is Parameter.VAR_POSITIONAL for parameter in parameters):
        return 2
    positional = [
        parameter
        for parameter in parameters
        if parameter.kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    ]
    required = sum(_is_required(parameter) for parameter in positional)
    if required > 2 or (positional and positional[0].name == "ctx"):
        return None
    wants_context = required == 2 or (len(positional) > 1 and positional[1].name == "ctx")
    return 2 if wants_context else min(len(positional), 1)


def _is_required(parameter: Parameter) -> bool:
    return parameter.default is Parameter.empty
