"""Plain functions as tools: what an author writes beside each, and the functions of an executor that come of it."""

from collections.abc import Callable, Collection, Mapping
from inspect import getdoc
from types import FunctionType
from typing import TYPE_CHECKING, Any, Unpack, cast, overload

from signpost.execution.function_ids import FUNCTION_ID
from signpost.execution.listing import fault_of
from signpost.model import InputRequired, Json, JsonObject, Principal
from signpost.toolkit import forms, options
from signpost.toolkit.by_name import Named, named
from signpost.toolkit.context import Context
from signpost.toolkit.fields import Reader, SpecRefused
from signpost.toolkit.forms import Shape, ShapeRefused
from signpost.toolkit.function import DeclarationError, Function, check_called, check_distinct, is_id, parameters_taken
from signpost.toolkit.options import ToolOptions

if TYPE_CHECKING:
    from signpost.toolkit.trial import Tried

type Run = Callable[[JsonObject, Context], object]
NO_ARGUMENTS: Mapping[str, object] = {}


class Toolkit:
    """Tools that share a namespace, and a category where they name none."""

    def __init__(self, namespace: str, category: str | None = None) -> None:
        if not is_id(namespace):
            raise DeclarationError(f"{namespace!r} is no namespace ({FUNCTION_ID.pattern}).")
        if fault := fault_of("category", category):
            raise DeclarationError(f"{namespace}: category {fault}.")
        self.namespace = namespace
        self.category = category
        self._declared: dict[Callable[..., object], dict[str, Any]] = {}
        self._functions: tuple[Function, ...] | None = None

    @overload
    def tool[F: Callable[..., object]](self, function: F, /) -> F: ...
    @overload
    def tool[F: Callable[..., object]](self, /, **said: Unpack[ToolOptions]) -> Callable[[F], F]: ...
    def tool(self, function: Any = None, /, **said: Any) -> Any:
        """Makes a function a tool, and leaves it as it is. Of several, the one nearest to the function goes first."""

        def declare[F: Callable[..., object]](decorated: F) -> F:
            return self._declare(decorated, said)

        return declare if function is None else declare(function)

    @property
    def functions(self) -> tuple[Function, ...]:
        """In the order of their declaration. Raises DeclarationError."""
        if self._functions is None:
            functions = tuple(self._function(run, said) for run, said in self._declared.items())
            check_distinct(functions)
            self._functions = functions
        return self._functions

    def test(
        self,
        name: str,
        args: Mapping[str, object] = NO_ARGUMENTS,
        *,
        principal: Principal | str = "tester",
        permissions: Collection[str] | None = None,
        calls: Mapping[str, Callable[[JsonObject], object]] | None = None,
        after: InputRequired | None = None,
        answers: Mapping[str, Json] | None = None,
    ) -> "Tried":
        """Calls a tool as an executor would, here and now; docs/toolkits.md has more."""
        # An executor tests nothing.
        from signpost.toolkit.trial import Trial, tried  # noqa: PLC0415

        function = next((one for one in self.functions if one.name == name), None)
        if function is None:
            there = ", ".join(repr(one.name) for one in self.functions)
            raise LookupError(f"{self.namespace} has no tool {name!r}; it has {there or 'none'}.")
        state = after.state if after else None
        granted = None if permissions is None else frozenset(permissions)
        return tried(function, args, Trial(principal, granted, calls or {}, answers or {}, state))

    def _declare[F](self, run: F, said: Mapping[str, Any]) -> F:
        if not isinstance(run, FunctionType):
            raise DeclarationError(f"{self.namespace}: {run!r} is no function, and cannot be a tool.")
        name = self._id_of(run)
        for option, value in said.items():
            if fault := options.fault_of_option(option, value):
                raise DeclarationError(f"{name}: {option} {fault}.")
        if any(other is not run and other.__name__ == run.__name__ for other in self._declared):
            raise DeclarationError(f"Two functions are called {name}.")
        self._declared[run] = {**said, **self._declared.get(run, {})}
        self._functions = None
        return cast("F", run)

    def _id_of(self, run: FunctionType) -> str:
        """Raises DeclarationError for what has no name of its own, or one that says it is nobody else's."""
        name = f"{self.namespace}::{run.__name__}"
        if run.__name__.startswith("_"):
            raise DeclarationError(f"{name}: a name that begins with _ is private, and cannot be a tool.")
        if not is_id(name):
            raise DeclarationError(f"{name!r} is not the id of a function ({FUNCTION_ID.pattern}).")
        check_called(name, run)
        return name

    def _function(self, run: Callable[..., object], said: Mapping[str, Any]) -> Function:
        name = f"{self.namespace}::{run.__name__}"
        called, taken = _called(name, run, said)
        return Function(
            name,
            called,
            input_schema=taken.schema,
            output_schema=answered.schema if (answered := _declared(name, "output", said)) else None,
            annotations=options.camel_case(said.get("annotations", {})),
            **{**self._defaults(run), **_plain(said)},
        )

    def _defaults(self, run: Callable[..., object]) -> dict[str, Any]:
        return {"name": run.__name__, "description": getdoc(run) or "", "category": self.category}


def _plain(said: Mapping[str, Any]) -> dict[str, Any]:
    plain = {option: said[option] for option in options.PLAIN if option in said}
    return {"hidden": not said.get("visible", True), **plain}


def _called(name: str, run: Callable[..., object], said: Mapping[str, Any]) -> tuple[Run, Shape]:
    """What calls it, and what it takes. Raises DeclarationError."""
    declared = _declared(name, "input", said)
    by_name = named(name, run) if declared is None else None
    if by_name is not None:
        return _called_by_name(name, run, by_name, strict=said.get("strict", False))
    takes = parameters_taken(name, run)
    if declared is None and said.get("strict"):
        raise DeclarationError(f"{name}: strict is for what is declared, and it takes any arguments.")
    shape = declared or forms.ANYTHING
    return lambda args, ctx: run(*(shape.delivered(args), ctx)[:takes]), shape


def _called_by_name(name: str, run: Callable[..., object], by_name: Named, *, strict: bool) -> tuple[Run, Shape]:
    try:
        # Made into what is given by name: what is left out has Python's default.
        read = Reader(strict=strict).record(by_name.fields, make=dict)
    except SpecRefused as fault:
        raise DeclarationError(f"{name}: {fault}.") from fault
    shape = Shape(read.schema, read.cast)
    context = by_name.context
    if context is None:
        return lambda args, ctx: run(**shape.delivered(args)), shape  # noqa: ARG005 - it is called as any other
    return lambda args, ctx: run(**shape.delivered(args), **{context: ctx}), shape


def _declared(name: str, of: str, said: Mapping[str, Any]) -> Shape | None:
    """None if nothing is. Raises DeclarationError."""
    option = next((form for form in options.FORMS if form in said and form.startswith(of)), None)
    if option is None:
        return None
    try:
        return options.shape(option, said[option], strict=said.get("strict", False))
    except ShapeRefused as fault:
        raise DeclarationError(f"{name}: {option} cannot be: {fault}.") from fault
