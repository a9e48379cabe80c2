"""Builds executor functions from the prompts, resources and templates of a toolkit."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from inspect import Parameter, getdoc, signature
from typing import Any, cast

from signpost.calling.components import COMPLETE_SUFFIX, ENUMERATE_SUFFIX, fault_of_component
from signpost.calling.uri_templates import parse_uri_template
from signpost.contract import HELPER, PROMPT, RESOURCE, TEMPLATE, Component
from signpost.model import JsonObject, as_object
from signpost.toolkit.async_functions import finish
from signpost.toolkit.component_options import COPIED_OPTIONS
from signpost.toolkit.content import build_annotations
from signpost.toolkit.context import Context
from signpost.toolkit.function import DeclarationError, Function, check_callable
from signpost.toolkit.json_text import NotJson
from signpost.toolkit.messages import prompt_value
from signpost.toolkit.resource_contents import instances_value, name_from_uri, resource_value
from signpost.toolkit.signatures import FunctionBody, build_call
from signpost.toolkit.text_arguments import TextArguments

MOST_COMPLETIONS = 100
NO_ARGUMENTS_SCHEMA: JsonObject = {"type": "object"}
COMPLETION_SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "argument": {"type": "string"},
        "value": {"type": "string"},
        "given": {"type": "object", "additionalProperties": {"type": "string"}},
    },
    "required": ["argument", "value"],
}


def build_component_functions(
    name: str, run: Callable[..., object], kind: str, options: Mapping[str, Any]
) -> Iterator[Function]:
    """Build the function of a component and its helpers for completion and enumeration. Raises DeclarationError."""
    yield _BUILDERS[kind](name, run, options)
    callbacks = {argument: callback for argument, callback in options.get("complete", {}).items() if callable(callback)}
    if callbacks:
        yield _build_helper(name + COMPLETE_SUFFIX, _build_completer(name, callbacks), COMPLETION_SCHEMA, options)
    if enumerates := options.get("enumerate"):
        yield _build_helper(
            name + ENUMERATE_SUFFIX, _build_enumerator(name, enumerates, options["uri"]), NO_ARGUMENTS_SCHEMA, options
        )


def _build_prompt(name: str, run: Callable[..., object], options: Mapping[str, Any]) -> Function:
    declared_input = {"input": options["arguments"]} if "arguments" in options else {}
    call, texts = _build_text_call(name, run, declared_input, "declare its arguments as `arguments`")
    component = Component(PROMPT, arguments=tuple(texts.arguments), complete=_completions_of(options))
    return _build_function(name, run, options, component, lambda args, ctx: prompt_value(call(args, ctx)), texts.schema)


def _build_resource(name: str, run: Callable[..., object], options: Mapping[str, Any]) -> Function:
    component = Component(
        RESOURCE, _uri_of(name, options), options.get("mime_type"), options.get("size"), _annotations_of(options)
    )
    parameter_count = _count_positional(name, run, 1, "takes `ctx` or nothing")
    return _build_function(
        name,
        run,
        {"name": name_from_uri(options["uri"]), **options},
        component,
        lambda _args, ctx: resource_value(finish(run(*(ctx,)[:parameter_count])), component.mime_type),
        NO_ARGUMENTS_SCHEMA,
    )


def _build_template(name: str, run: Callable[..., object], options: Mapping[str, Any]) -> Function:
    call, texts = _build_text_call(name, run, {}, "annotate its parameters")
    variables = parse_uri_template(_uri_of(name, options)).names
    _check_variables(name, [argument.name for argument in texts.arguments], variables)
    component = Component(
        TEMPLATE,
        options["uri"],
        options.get("mime_type"),
        annotations=_annotations_of(options),
        complete=_completions_of(options),
        enumerates="enumerate" in options,
    )
    schema: JsonObject = {
        "type": "object",
        "properties": {variable: {"type": "string"} for variable in variables},
        "required": list(variables),
    }
    return _build_function(
        name, run, options, component, lambda args, ctx: resource_value(call(args, ctx), component.mime_type), schema
    )


_BUILDERS: Mapping[str, Callable[[str, Callable[..., object], Mapping[str, Any]], Function]] = {
    PROMPT: _build_prompt,
    RESOURCE: _build_resource,
    TEMPLATE: _build_template,
}


def _build_function(
    name: str,
    run: Callable[..., object],
    options: Mapping[str, Any],
    component: Component,
    call: FunctionBody,
    schema: JsonObject,
) -> Function:
    if fault := fault_of_component(component):
        raise DeclarationError(f"{name}: it {fault}.")
    defaults: dict[str, Any] = {
        "name": run.__name__,
        "description": getdoc(run) or "",
        "hidden": not options.get("visible", True),
    }
    plain = {option: options[option] for option in COPIED_OPTIONS if option in options}
    # Not readable: clients read the component itself, not sections of skills made of it.
    return Function(name, call, component=component, input_schema=schema, readable=False, **{**defaults, **plain})


def _build_helper(name: str, run: FunctionBody, schema: JsonObject, options: Mapping[str, Any]) -> Function:
    shared = {
        option: options[option] for option in ("timeout_ms", "permissions", "isolate", "calls") if option in options
    }
    return Function(name, run, component=Component(HELPER), input_schema=schema, readable=False, hidden=True, **shared)


def _uri_of(name: str, options: Mapping[str, Any]) -> str:
    if "uri" not in options:
        raise DeclarationError(f"{name}: its uri is missing; declare it as `uri`.")
    return options["uri"]


def _annotations_of(options: Mapping[str, Any]) -> JsonObject:
    return build_annotations(options.get("annotations", {}))


def _completions_of(options: Mapping[str, Any]) -> Mapping[str, Sequence[str] | None]:
    return {
        name: None if callable(completion) else tuple(completion)
        for name, completion in options.get("complete", {}).items()
    }


def _build_text_call(
    name: str, run: Callable[..., object], options: Mapping[str, Any], advice: str
) -> tuple[FunctionBody, TextArguments]:
    call, cast_schema = build_call(name, run, options, advice)
    texts = TextArguments(cast_schema)
    return lambda args, ctx: call(texts.read(args), ctx), texts


def _check_variables(name: str, parameters: Sequence[str], variables: Sequence[str]) -> None:
    if parameters and (missing := [variable for variable in variables if variable not in parameters]):
        raise DeclarationError(f"{name}: its uri has the variable {missing[0]}; give the function this parameter.")
    if unknown := [parameter for parameter in parameters if parameter not in variables]:
        raise DeclarationError(f"{name}: it has the parameter {unknown[0]}; give its uri this variable.")


def _count_positional(name: str, run: Callable[..., object], maximum: int, expected: str) -> int:
    """Count the positional parameters of a function that takes at most `maximum`. Raises DeclarationError."""
    check_callable(name, run)
    parameters = signature(run).parameters.values()
    positional = [
        parameter
        for parameter in parameters
        if parameter.kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    ]
    if len(positional) > maximum or len(positional) < len(parameters):
        raise DeclarationError(f"{name}: its parameters are {signature(run)}; it {expected}.")
    return len(positional)


def _build_completer(name: str, callbacks: Mapping[str, Callable[..., object]]) -> FunctionBody:
    expected = "takes the typed text, the other arguments and `ctx`, or the first one or two of these, or nothing"
    parameter_counts = {
        argument: _count_positional(f"{name}: complete of {argument}", callback, 3, expected)
        for argument, callback in callbacks.items()
    }

    def complete(args: JsonObject, ctx: Context) -> object:
        argument = str(args["argument"])
        if argument not in callbacks:
            return completion_value(())
        inputs = (args["value"], as_object(args.get("given")), ctx)
        return completion_value(finish(callbacks[argument](*inputs[: parameter_counts[argument]])))

    return complete


def completion_value(answer: object) -> JsonObject:
    """Encode completions in the form of MCP. Raises NotJson."""
    items = cast("Sequence[object]", answer if isinstance(answer, list | tuple) else (answer,))
    if not all(isinstance(item, str) for item in items):
        raise NotJson("the function that completes an argument must answer a list of texts")
    texts = cast("Sequence[str]", items)
    return {"values": list(texts[:MOST_COMPLETIONS]), "total": len(texts), "hasMore": len(texts) > MOST_COMPLETIONS}


def _build_enumerator(name: str, enumerates: Callable[..., object], pattern: str) -> FunctionBody:
    parameter_count = _count_positional(f"{name}: enumerate", enumerates, 1, "takes `ctx` or nothing")
    template = parse_uri_template(pattern)
    return lambda _args, ctx: instances_value(finish(enumerates(*(ctx,)[:parameter_count])), template)
