"""Plain functions as tools, prompts and resources: what an author writes beside each, and the functions of an executor
that come of it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from inspect import getdoc
from types import FunctionType
from typing import TYPE_CHECKING, Any, Unpack, cast, overload

from signpost.contract import PROMPT, RESOURCE, TEMPLATE
from signpost.execution.function_ids import FUNCTION_ID
from signpost.execution.listing import fault_of
from signpost.model import JsonObject
from signpost.records import dataclass
from signpost.toolkit import options
from signpost.toolkit.function import DeclarationError, Function, check_called, check_distinct, checked_version, is_id
from signpost.toolkit.options import ToolOptions
from signpost.toolkit.signatures import called, declared

if TYPE_CHECKING:
    from signpost.toolkit.component_options import PromptOptions, ResourceOptions, TemplateOptions
    from signpost.toolkit.trial import Surroundings, Tried
    from signpost.toolkit.trial_components import ComponentTrials, Read, Rendered

NO_ARGUMENTS: Mapping[str, object] = {}
NO_TEXTS: Mapping[str, str] = {}
TOOL = "tool"


@dataclass(frozen=True, slots=True)
class _Declared:
    kind: str
    said: Mapping[str, Any]


class Toolkit:
    """Tools, prompts and resources that share a namespace; a category, where tools name none; and a version."""

    def __init__(self, namespace: str, category: str | None = None, *, version: str | None = None) -> None:
        if not is_id(namespace):
            raise DeclarationError(f"{namespace!r} is no namespace ({FUNCTION_ID.pattern}).")
        if fault := fault_of("category", category):
            raise DeclarationError(f"{namespace}: category {fault}.")
        self.namespace = namespace
        self.category = category
        self.version = checked_version(namespace, version) if version is not None else None
        self._declared: dict[Callable[..., object], _Declared] = {}
        self._functions: tuple[Function, ...] | None = None

    @overload
    def tool[F: Callable[..., object]](self, function: F, /) -> F: ...
    @overload
    def tool[F: Callable[..., object]](self, /, **said: Unpack[ToolOptions]) -> Callable[[F], F]: ...
    def tool(self, function: Any = None, /, **said: Any) -> Any:
        """Makes a function a tool, and leaves it as it is. Of several, the one nearest to the function goes first."""
        return self._declares(TOOL, said) if function is None else self._declare(function, TOOL, said)

    @overload
    def prompt[F: Callable[..., object]](self, function: F, /) -> F: ...
    @overload
    def prompt[F: Callable[..., object]](self, /, **said: "Unpack[PromptOptions]") -> Callable[[F], F]: ...
    def prompt(self, function: Any = None, /, **said: Any) -> Any:
        """Makes a function a prompt, likewise."""
        return self._declares(PROMPT, said) if function is None else self._declare(function, PROMPT, said)

    def resource[F: Callable[..., object]](self, uri: str, /, **said: "Unpack[ResourceOptions]") -> Callable[[F], F]:
        """Makes a function what there is at a URI, likewise."""
        return self._declares(RESOURCE, {**said, "uri": uri})

    def template[F: Callable[..., object]](self, uri: str, /, **said: "Unpack[TemplateOptions]") -> Callable[[F], F]:
        """Makes a function what there is at all URIs of a pattern, likewise."""
        return self._declares(TEMPLATE, {**said, "uri": uri})

    @property
    def functions(self) -> tuple[Function, ...]:
        """In the order of their declaration. Raises DeclarationError."""
        if self._functions is None:
            made = (one for run, declared in self._declared.items() for one in self._made(run, declared))
            functions = tuple(made)
            check_distinct(functions)
            self._functions = functions
        return self._functions

    def test(self, name: str, args: Mapping[str, object] = NO_ARGUMENTS, **around: "Unpack[Surroundings]") -> "Tried":
        """Calls a tool as an executor would, here and now; docs/toolkits.md has more."""
        # An executor tests nothing.
        from signpost.toolkit.trial import trial_in, tried  # noqa: PLC0415

        tools = [one for one in self.functions if one.component is None]
        function = next((one for one in tools if one.name == name), None)
        if function is None:
            there = ", ".join(repr(one.name) for one in tools)
            raise LookupError(f"{self.namespace} has no tool {name!r}; it has {there or 'none'}.")
        return tried(function, args, trial_in(around))

    def get_prompt(self, name: str, args: Mapping[str, str] = NO_TEXTS, **around: "Unpack[Surroundings]") -> "Rendered":
        """What a client is told that asks for it, likewise."""
        return self._trials(around).rendered(name, args)

    def read(self, uri: str, **around: "Unpack[Surroundings]") -> "Read":
        """What there is at a URI, likewise. Raises LookupError if there is nothing."""
        return self._trials(around).read(uri)

    def complete(
        self,
        of: str,
        argument: str,
        value: str = "",
        given: Mapping[str, str] = NO_TEXTS,
        **around: "Unpack[Surroundings]",
    ) -> Sequence[str]:
        """What an argument of a prompt, by its name, or a variable of a template, by its pattern, may be. Raises
        LookupError if there is none."""
        return self._trials(around).completed(of, argument, {"value": value, "given": given})

    def instances(self, uri: str, **around: "Unpack[Surroundings]") -> Sequence[JsonObject]:
        """What a template lists, by its pattern."""
        return self._trials(around).listed(uri)

    def _trials(self, around: "Surroundings") -> "ComponentTrials":
        from signpost.toolkit.trial import trial_in  # noqa: PLC0415 - as in test
        from signpost.toolkit.trial_components import ComponentTrials  # noqa: PLC0415 - as in test

        return ComponentTrials(self.functions, trial_in(around))

    def _declares(self, kind: str, said: Mapping[str, Any]) -> Any:
        def declare[F: Callable[..., object]](decorated: F) -> F:
            return self._declare(decorated, kind, said)

        return declare

    def _declare[F](self, run: F, kind: str, said: Mapping[str, Any]) -> F:
        if not isinstance(run, FunctionType):
            raise DeclarationError(f"{self.namespace}: {run!r} is no function, and cannot be a {kind}.")
        name = self._id_of(run, kind)
        for option, value in said.items():
            if fault := _fault_of_option(kind, option, value):
                raise DeclarationError(f"{name}: {option} {fault}.")
        if any(other is not run and other.__name__ == run.__name__ for other in self._declared):
            raise DeclarationError(f"Two functions are called {name}.")
        before = self._declared.get(run, _Declared(kind, {}))
        if before.kind != kind:
            raise DeclarationError(f"{name}: it is a {before.kind} already, and cannot be a {kind}.")
        if before.said.get("uri", said.get("uri")) != said.get("uri"):
            raise DeclarationError(f"{name}: uri {said['uri']!r} is its second one.")
        self._declared[run] = _Declared(kind, {**said, **before.said})
        self._functions = None
        return cast("F", run)

    def _id_of(self, run: FunctionType, kind: str) -> str:
        """Raises DeclarationError for what has no name of its own, or one that says it is nobody else's."""
        name = f"{self.namespace}::{run.__name__}"
        if run.__name__.startswith("_"):
            raise DeclarationError(f"{name}: a name that begins with _ is private, and cannot be a {kind}.")
        if not is_id(name):
            raise DeclarationError(f"{name!r} is not the id of a function ({FUNCTION_ID.pattern}).")
        check_called(name, run)
        return name

    def _made(self, run: Callable[..., object], declared: _Declared) -> Iterator[Function]:
        name = f"{self.namespace}::{run.__name__}"
        if declared.kind == TOOL:
            return iter((self._tool(name, run, declared.said),))
        # Most toolkits have tools only.
        from signpost.toolkit.components import functions_of  # noqa: PLC0415

        return functions_of(name, run, declared.kind, declared.said)

    def _tool(self, name: str, run: Callable[..., object], said: Mapping[str, Any]) -> Function:
        call, taken = called(name, run, said)
        return Function(
            name,
            call,
            input_schema=taken.schema,
            output_schema=answered.schema if (answered := declared(name, "output", said)) else None,
            annotations=options.camel_case(said.get("annotations", {})),
            **{**self._defaults(run), **_plain(said)},
        )

    def _defaults(self, run: Callable[..., object]) -> dict[str, Any]:
        return {"name": run.__name__, "description": getdoc(run) or "", "category": self.category}


def _fault_of_option(kind: str, option: str, value: object) -> str | None:
    if kind == TOOL:
        return options.fault_of_option(option, value)
    from signpost.toolkit import component_options  # noqa: PLC0415 - as in _made

    return component_options.fault_of_option(kind, option, value)


def _plain(said: Mapping[str, Any]) -> dict[str, Any]:
    plain = {option: said[option] for option in options.PLAIN if option in said}
    return {"hidden": not said.get("visible", True), **plain}
