"""Prompts, resources and templates of a toolkit as functions of its executor."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from inspect import Parameter, getdoc, signature
from typing import Any, cast

from signpost.contract import HELPER, PROMPT, RESOURCE, TEMPLATE, Component
from signpost.execution.components import COMPLETES, ENUMERATES, fault_of_component
from signpost.execution.uri_templates import uri_template
from signpost.model import JsonObject, as_object
from signpost.toolkit.component_options import PLAIN
from signpost.toolkit.content import annotations_in
from signpost.toolkit.contents import instances_value, name_in, resource_value
from signpost.toolkit.context import Context
from signpost.toolkit.function import DeclarationError, Function, check_called
from signpost.toolkit.json_text import NotJson
from signpost.toolkit.messages import prompt_value
from signpost.toolkit.signatures import Run, called
from signpost.toolkit.texts import Texts

MOST_COMPLETIONS = 100
NOTHING: JsonObject = {"type": "object"}
COMPLETION: JsonObject = {
    "type": "object",
    "properties": {
        "argument": {"type": "string"},
        "value": {"type": "string"},
        "given": {"type": "object", "additionalProperties": {"type": "string"}},
    },
    "required": ["argument", "value"],
}


def functions_of(name: str, run: Callable[..., object], kind: str, said: Mapping[str, Any]) -> Iterator[Function]:
    """What becomes of one, and what helps it. Raises DeclarationError."""
    yield _MAKERS[kind](name, run, said)
    callbacks = {argument: one for argument, one in said.get("complete", {}).items() if callable(one)}
    if callbacks:
        yield _helper(name + COMPLETES, _completing(name, callbacks), COMPLETION, said)
    if enumerates := said.get("enumerate"):
        yield _helper(name + ENUMERATES, _enumerating(name, enumerates, said["uri"]), NOTHING, said)


def _prompt(name: str, run: Callable[..., object], said: Mapping[str, Any]) -> Function:
    stated = {"input": said["arguments"]} if "arguments" in said else {}
    call, texts = _taking_texts(name, run, stated, "say what it takes as `arguments`")
    component = Component(PROMPT, arguments=tuple(texts.arguments), complete=_completions(said))
    return _function(name, run, said, component, lambda args, ctx: prompt_value(call(args, ctx)), texts.schema)


def _resource(name: str, run: Callable[..., object], said: Mapping[str, Any]) -> Function:
    component = Component(RESOURCE, _uri(name, said), said.get("mime_type"), said.get("size"), _annotations(said))
    takes = _positions(name, run, 1, "takes `ctx` or nothing")
    return _function(
        name,
        run,
        {"name": name_in(said["uri"]), **said},
        component,
        lambda _args, ctx: resource_value(run(*(ctx,)[:takes]), component.mime_type),
        NOTHING,
    )


def _template(name: str, run: Callable[..., object], said: Mapping[str, Any]) -> Function:
    call, texts = _taking_texts(name, run, {}, "annotate it")
    variables = uri_template(_uri(name, said)).names
    _check_variables(name, [one.name for one in texts.arguments], variables)
    component = Component(
        TEMPLATE,
        said["uri"],
        said.get("mime_type"),
        annotations=_annotations(said),
        complete=_completions(said),
        enumerates="enumerate" in said,
    )
    schema: JsonObject = {
        "type": "object",
        "properties": {variable: {"type": "string"} for variable in variables},
        "required": list(variables),
    }
    return _function(
        name, run, said, component, lambda args, ctx: resource_value(call(args, ctx), component.mime_type), schema
    )


_MAKERS: Mapping[str, Callable[[str, Callable[..., object], Mapping[str, Any]], Function]] = {
    PROMPT: _prompt,
    RESOURCE: _resource,
    TEMPLATE: _template,
}


def _function(
    name: str, run: Callable[..., object], said: Mapping[str, Any], component: Component, call: Run, schema: JsonObject
) -> Function:
    if fault := fault_of_component(component):
        raise DeclarationError(f"{name}: it {fault}.")
    defaults: dict[str, Any] = {
        "name": run.__name__,
        "description": getdoc(run) or "",
        "hidden": not said.get("visible", True),
    }
    plain = {option: said[option] for option in PLAIN if option in said}
    # It is read where it is, and not through sections of skills.
    return Function(name, call, component=component, input_schema=schema, readable=False, **{**defaults, **plain})


def _helper(name: str, run: Run, schema: JsonObject, said: Mapping[str, Any]) -> Function:
    same = {option: said[option] for option in ("timeout_ms", "permissions", "isolate") if option in said}
    return Function(name, run, component=Component(HELPER), input_schema=schema, readable=False, hidden=True, **same)


def _uri(name: str, said: Mapping[str, Any]) -> str:
    if "uri" not in said:
        raise DeclarationError(f"{name}: nobody says at which uri it is.")
    return said["uri"]


def _annotations(said: Mapping[str, Any]) -> JsonObject:
    return annotations_in(said.get("annotations", {}))


def _completions(said: Mapping[str, Any]) -> Mapping[str, Sequence[str] | None]:
    return {name: None if callable(one) else tuple(one) for name, one in said.get("complete", {}).items()}


def _taking_texts(name: str, run: Callable[..., object], said: Mapping[str, Any], otherwise: str) -> tuple[Run, Texts]:
    call, shape = called(name, run, said, otherwise)
    texts = Texts(shape)
    return lambda args, ctx: call(texts.read(args), ctx), texts


def _check_variables(name: str, taken: Sequence[str], variables: Sequence[str]) -> None:
    if taken and (missing := [variable for variable in variables if variable not in taken]):
        raise DeclarationError(f"{name}: its uri has {missing[0]}, which it does not take.")
    if unknown := [one for one in taken if one not in variables]:
        raise DeclarationError(f"{name}: it takes {unknown[0]}, which its uri does not have.")


def _positions(name: str, run: Callable[..., object], most: int, takes: str) -> int:
    """How many of what there is it takes. Raises DeclarationError."""
    check_called(name, run)
    parameters = signature(run).parameters.values()
    places = [one for one in parameters if one.kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)]
    if len(places) > most or len(places) < len(parameters):
        raise DeclarationError(f"{name}: its parameters are {signature(run)}; it {takes}.")
    return len(places)


def _completing(name: str, callbacks: Mapping[str, Callable[..., object]]) -> Run:
    words = "takes what was typed, the other arguments and `ctx`, or the first of these, or nothing"
    takes = {
        argument: _positions(f"{name}: complete of {argument}", one, 3, words) for argument, one in callbacks.items()
    }

    def complete(args: JsonObject, ctx: Context) -> object:
        argument = str(args["argument"])
        if argument not in callbacks:
            return completion_value(())
        given = (args["value"], as_object(args.get("given")), ctx)
        return completion_value(callbacks[argument](*given[: takes[argument]]))

    return complete


def completion_value(answer: object) -> JsonObject:
    """What goes over the wire. Raises NotJson."""
    listed = cast("Sequence[object]", answer if isinstance(answer, list | tuple) else (answer,))
    if not all(isinstance(one, str) for one in listed):
        raise NotJson("what completes an argument answers no list of texts")
    texts = cast("Sequence[str]", listed)
    return {"values": list(texts[:MOST_COMPLETIONS]), "total": len(texts), "hasMore": len(texts) > MOST_COMPLETIONS}


def _enumerating(name: str, enumerates: Callable[..., object], pattern: str) -> Run:
    takes = _positions(f"{name}: enumerate", enumerates, 1, "takes `ctx` or nothing")
    template = uri_template(pattern)
    return lambda _args, ctx: instances_value(enumerates(*(ctx,)[:takes]), template)
