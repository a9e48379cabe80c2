"""Toolkits: decorators that declare plain functions as tools, prompts, resources and templates, and build the
executor's functions from them."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from inspect import getdoc
from types import FunctionType
from typing import TYPE_CHECKING, Any, Unpack, cast, overload

from signpost.calling.function_ids import FUNCTION_ID
from signpost.contract import PROMPT, RESOURCE, TEMPLATE
from signpost.directory.listing import fault_of
from signpost.model import JsonObject
from signpost.records import dataclass
from signpost.toolkit import options
from signpost.toolkit.function import (
    OPTIONS,
    DeclarationError,
    Function,
    check_callable,
    check_distinct,
    check_version,
    is_id,
)
from signpost.toolkit.options import ToolOptions
from signpost.toolkit.signatures import build_call, find_declared_schema

if TYPE_CHECKING:
    from signpost.toolkit.component_options import PromptOptions, ResourceOptions, TemplateOptions
    from signpost.toolkit.testing import TrialOptions, TrialResult
    from signpost.toolkit.testing_components import ComponentTrials, PromptTrialResult, ResourceTrialResult

NO_ARGUMENTS: Mapping[str, object] = {}
NO_TEXTS: Mapping[str, str] = {}
TOOL = "tool"


@dataclass(frozen=True, slots=True)
class _Declaration:
    """A kind of component, with the options that its decorators gave."""

    kind: str
    options: Mapping[str, Any]


class Toolkit:
    """Tools, prompts, resources and templates that share a namespace, a version, and defaults of some options."""

    def __init__(
        self,
        namespace: str,
        category: str | None = None,
        *,
        version: str | None = None,
        calls: Collection[str] = (),
    ) -> None:
        """`category` is the default of tools. `calls` names the functions that each function may call, unless it
        declares its own."""
        if not is_id(namespace):
            raise DeclarationError(f"{namespace!r} is not a valid namespace; it must match {FUNCTION_ID.pattern}.")
        if fault := fault_of("category", category):
            raise DeclarationError(f"{namespace}: category {fault}.")
        if fault := OPTIONS["calls"](calls):
            raise DeclarationError(f"{namespace}: calls {fault}.")
        self.namespace = namespace
        self.calls = tuple(calls)
        self.category = category
        self.version = check_version(namespace, version) if version is not None else None
        self._declarations: dict[Callable[..., object], _Declaration] = {}
        self._functions: tuple[Function, ...] | None = None

    @overload
    def tool[F: Callable[..., object]](self, function: F, /) -> F: ...
    @overload
    def tool[F: Callable[..., object]](self, /, **author_options: Unpack[ToolOptions]) -> Callable[[F], F]: ...
    def tool(self, function: Any = None, /, **author_options: Any) -> Any:
        """Declare a function as a tool; the function itself stays unchanged. If several decorators set the same option,
        that of the decorator nearest to the function counts."""
        return (
            self._build_decorator(TOOL, author_options)
            if function is None
            else self._declare(function, TOOL, author_options)
        )

    @overload
    def prompt[F: Callable[..., object]](self, function: F, /) -> F: ...
    @overload
    def prompt[F: Callable[..., object]](self, /, **author_options: "Unpack[PromptOptions]") -> Callable[[F], F]: ...
    def prompt(self, function: Any = None, /, **author_options: Any) -> Any:
        """Declare a function as a prompt; the function itself stays unchanged."""
        return (
            self._build_decorator(PROMPT, author_options)
            if function is None
            else self._declare(function, PROMPT, author_options)
        )

    def resource[F: Callable[..., object]](
        self, uri: str, /, **author_options: "Unpack[ResourceOptions]"
    ) -> Callable[[F], F]:
        """Declare a function as the resource at a URI; the function itself stays unchanged."""
        return self._build_decorator(RESOURCE, {**author_options, "uri": uri})

    def template[F: Callable[..., object]](
        self, uri: str, /, **author_options: "Unpack[TemplateOptions]"
    ) -> Callable[[F], F]:
        """Declare a function as the resource template of a URI pattern; the function itself stays unchanged."""
        return self._build_decorator(TEMPLATE, {**author_options, "uri": uri})

    @property
    def functions(self) -> tuple[Function, ...]:
        """The executor functions of the toolkit, in the order of their declaration. Raises DeclarationError."""
        if self._functions is None:
            built = (
                function
                for run, declaration in self._declarations.items()
                for function in self._build_functions(run, declaration)
            )
            functions = tuple(built)
            check_distinct(functions)
            self._functions = functions
        return self._functions

    def test(
        self, name: str, args: Mapping[str, object] = NO_ARGUMENTS, **trial_options: "Unpack[TrialOptions]"
    ) -> "TrialResult":
        """Call a tool in this process with the checks of an executor, for tests; see docs/toolkits.md. Raises
        LookupError if there is no such tool."""
        # Imported on first use: executors run no tests.
        from signpost.toolkit.testing import build_trial_setup, run_trial  # noqa: PLC0415

        tools = [tool for tool in self.functions if tool.component is None]
        function = next((tool for tool in tools if tool.name == name), None)
        if function is None:
            tool_names = ", ".join(repr(tool.name) for tool in tools)
            raise LookupError(f"{self.namespace} has no tool {name!r}; it has {tool_names or 'none'}.")
        return run_trial(function, args, build_trial_setup(trial_options))

    def get_prompt(
        self, name: str, args: Mapping[str, str] = NO_TEXTS, **trial_options: "Unpack[TrialOptions]"
    ) -> "PromptTrialResult":
        """Render a prompt in this process, for tests. Raises LookupError if there is no such prompt."""
        return self._component_trials(trial_options).render_prompt(name, args)

    def read(self, uri: str, **trial_options: "Unpack[TrialOptions]") -> "ResourceTrialResult":
        """Read a resource in this process, for tests. Raises LookupError if there is nothing at the URI."""
        return self._component_trials(trial_options).read_resource(uri)

    def complete(
        self,
        of: str,
        argument: str,
        value: str = "",
        given: Mapping[str, str] = NO_TEXTS,
        **trial_options: "Unpack[TrialOptions]",
    ) -> Sequence[str]:
        """Complete an argument of a prompt, or a variable of a template, for tests. `of` is the name of the prompt or
        the pattern of the template. Raises LookupError if there is no such argument."""
        return self._component_trials(trial_options).complete_argument(of, argument, {"value": value, "given": given})

    def instances(self, uri: str, **trial_options: "Unpack[TrialOptions]") -> Sequence[JsonObject]:
        """List the instances of the template with this pattern, for tests. Raises LookupError if there is none."""
        return self._component_trials(trial_options).list_instances(uri)

    def _component_trials(self, trial_options: "TrialOptions") -> "ComponentTrials":
        from signpost.toolkit.testing import build_trial_setup  # noqa: PLC0415 - as in test
        from signpost.toolkit.testing_components import ComponentTrials  # noqa: PLC0415 - as in test

        return ComponentTrials(self.functions, build_trial_setup(trial_options))

    def _build_decorator(self, kind: str, author_options: Mapping[str, Any]) -> Any:
        def declare[F: Callable[..., object]](decorated: F) -> F:
            return self._declare(decorated, kind, author_options)

        return declare

    def _declare[F](self, run: F, kind: str, author_options: Mapping[str, Any]) -> F:
        if not isinstance(run, FunctionType):
            raise DeclarationError(f"{self.namespace}: {run!r} is not a function, and cannot be a {kind}.")
        name = self._id_of(run, kind)
        for option, value in author_options.items():
            if fault := _fault_of_option(kind, option, value):
                raise DeclarationError(f"{name}: {option} {fault}.")
        if any(other is not run and other.__name__ == run.__name__ for other in self._declarations):
            raise DeclarationError(f"Two functions are called {name}. Rename one of them.")
        previous = self._declarations.get(run, _Declaration(kind, {}))
        if previous.kind != kind:
            raise DeclarationError(f"{name}: it is a {previous.kind} already, and cannot be a {kind}.")
        if previous.options.get("uri", author_options.get("uri")) != author_options.get("uri"):
            raise DeclarationError(f"{name}: it has a uri already, and cannot also have {author_options['uri']!r}.")
        self._declarations[run] = _Declaration(kind, {**author_options, **previous.options})
        self._functions = None
        return cast("F", run)

    def _id_of(self, run: FunctionType, kind: str) -> str:
        """Build the id of a function. Raises DeclarationError for a function without a name, or with a private one."""
        name = f"{self.namespace}::{run.__name__}"
        if run.__name__.startswith("_"):
            raise DeclarationError(f"{name}: its name begins with _ and is private; rename it to make it a {kind}.")
        if not is_id(name):
            raise DeclarationError(f"{name!r} is not a valid function id; it must match {FUNCTION_ID.pattern}.")
        check_callable(name, run)
        return name

    def _build_functions(self, run: Callable[..., object], declaration: _Declaration) -> Iterator[Function]:
        name = f"{self.namespace}::{run.__name__}"
        if declaration.kind == TOOL:
            return iter((self._build_tool(name, run, declaration.options),))
        # Imported on first use: most toolkits have tools only.
        from signpost.toolkit.components import build_component_functions  # noqa: PLC0415

        options_with_default = {"calls": self.calls, **declaration.options}
        return build_component_functions(name, run, declaration.kind, options_with_default)

    def _build_tool(self, name: str, run: Callable[..., object], author_options: Mapping[str, Any]) -> Function:
        call, parameters = build_call(name, run, author_options)
        return Function(
            name,
            call,
            input_schema=parameters.schema,
            output_schema=output.schema if (output := find_declared_schema(name, "output", author_options)) else None,
            annotations=options.camel_case(author_options.get("annotations", {})),
            **{**self._default_options(run), **_function_options(author_options)},
        )

    def _default_options(self, run: Callable[..., object]) -> dict[str, Any]:
        return {"name": run.__name__, "description": getdoc(run) or "", "category": self.category, "calls": self.calls}


def _fault_of_option(kind: str, option: str, value: object) -> str | None:
    if kind == TOOL:
        return options.fault_of_option(option, value)
    from signpost.toolkit import component_options  # noqa: PLC0415 - as in _build_functions

    return component_options.fault_of_option(kind, option, value)


def _function_options(author_options: Mapping[str, Any]) -> dict[str, Any]:
    plain = {option: author_options[option] for option in options.COPIED_OPTIONS if option in author_options}
    return {"hidden": not author_options.get("visible", True), **plain}
