"""Find values of mappings and prefills that are always null, or that are no paths although they look like one."""

import re
from collections.abc import Iterator, Mapping

from signpost.model import Json, JsonObject, as_object
from signpost.records import dataclass
from signpost.workflow.authoring.lint.dataflow import (
    ANY_ARGUMENTS,
    ArgumentsSchema,
    Dataflow,
    arguments_of,
    build_dataflow,
)
from signpost.workflow.authoring.problems import LintFinding, suggestion_for
from signpost.workflow.definition import Definition, ExecutorSpec, OnEnter, Pointer, Transition
from signpost.workflow.engine.steps import HUMAN_KIND, NOOP_KIND
from signpost.workflow.paths import Path, path_of
from signpost.workflow.values import OPERATORS

_PATH_LIKE = re.compile(r"\$?\.?(context|arguments|workflow\.input|input|output)\.[\w.\[\]]+|\$\..*", re.DOTALL)
_LITERAL = "set"
SCOPES = "$.context.…, $.arguments.…, $.workflow.input.… or $.output.…"


@dataclass(frozen=True, slots=True)
class _MappingSource:
    """The sources of the values of a mapping."""

    flow: Dataflow
    arguments: ArgumentsSchema
    no_output_reason: str | None
    """The reason that nothing is under `$.output`; None if there may be a value."""


def check_mappings(definition: Definition) -> Iterator[LintFinding]:
    flow = build_dataflow(definition)
    for state in definition.states.values():
        state_at: Pointer = ("states", state.name)
        if state.on_enter:
            source = _MappingSource(flow, arguments_of(state.on_enter), _reason_for_no_output(state.on_enter))
            yield from _check_mapping(state.on_enter.output, source, (*state_at, "onEnter", "output"))
        for transition in state.transitions.values():
            transition_at: Pointer = (*state_at, "transitions", transition.name)
            source = _MappingSource(flow, arguments_of(transition), _reason_for_no_output(transition))
            yield from _check_mapping(transition.output, source, (*transition_at, "output"))
            source = _MappingSource(
                flow, ArgumentsSchema(are_none=True), "no executor has run yet when links are built"
            )
            yield from _check_mapping(transition.prefill, source, (*transition_at, "prefill"))
            yield from _check_prefill(transition, (*transition_at, "prefill"))
            yield from _check_shown_names(transition.executor, flow, (*transition_at, "executor", "shows"))


def _check_shown_names(executor: ExecutorSpec | None, flow: Dataflow, at: Pointer) -> Iterator[LintFinding]:
    shows = executor.settings.get("shows") if executor and executor.kind == HUMAN_KIND else None
    for index, name in enumerate(shows if isinstance(shows, list) else ()):
        if isinstance(name, str) and (reason := flow.reason_for_null(Path("context", (name,)), ANY_ARGUMENTS)):
            yield LintFinding((*at, index), f"the approver sees no value for {name!r}: {reason}")


def _reason_for_no_output(holder: Transition | OnEnter) -> str | None:
    is_run = holder.executor is not None and holder.executor.kind != NOOP_KIND
    return None if is_run else "no executor gives an output here"


def _check_mapping(mapping: JsonObject, source: _MappingSource, at: Pointer) -> Iterator[LintFinding]:
    for name, template in mapping.items():
        for message in _check_template(template, source):
            yield LintFinding((*at, name), f"{name!r}: {message}")


def _check_template(template: Json, source: _MappingSource) -> Iterator[str]:
    if isinstance(template, str):
        yield from _check_text(template, source)
    elif isinstance(template, Mapping) and len(template) == 1 and next(iter(template)) in OPERATORS:
        ((operator, operands),) = template.items()
        yield from _check_operation(operator, operands, source)
    else:
        for text in [text for text in _texts_in(template) if _PATH_LIKE.fullmatch(text)][:1]:
            yield f"{text!r} is used as plain text: paths are not resolved inside lists and objects"


def _check_operation(operator: str, operands: Json, source: _MappingSource) -> Iterator[str]:
    if operator == _LITERAL:
        return
    if not isinstance(operands, list) or (operator != "concat" and len(operands) != 2):
        yield f"`{operator}` needs a list" + ("" if operator == "concat" else " of two operands")
        return
    for operand in operands:
        if operator != "concat" and isinstance(operand, str) and not operand.startswith("$"):
            yield f"the text {operand!r} counts as 0 in `{operator}`"
        else:
            yield from _check_template(operand, source)


def _check_text(text: str, source: _MappingSource) -> Iterator[str]:
    if text != "$" and not text.startswith("$."):
        if text.startswith("$") and _PATH_LIKE.fullmatch(text):
            yield f"{text!r} is used as plain text: a path begins with `$.`"
        return
    path = path_of(text)
    if path is None:
        hint = "; did you mean '$.workflow.input'?" if text.startswith("$.input") else ""
        yield f"{text!r} is always null, because it is not a path: use {SCOPES}{hint}"
    elif reason := _reason_for_null(path, source):
        yield f"{text!r} is always null, because {reason}"


def _reason_for_null(path: Path, source: _MappingSource) -> str | None:
    if path.scope != "output":
        return source.flow.reason_for_null(path, source.arguments)
    return source.no_output_reason if path.steps else None


def _texts_in(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for member in value.values():
            yield from _texts_in(member)
    elif isinstance(value, list):
        for entry in value:
            yield from _texts_in(entry)


def _check_prefill(transition: Transition, at: Pointer) -> Iterator[LintFinding]:
    schema = transition.input_schema
    if schema is None or schema.get("additionalProperties", False) is not False or "patternProperties" in schema:
        return
    properties = as_object(schema.get("properties"))
    if any(keyword in schema for keyword in ("$ref", "allOf", "anyOf", "oneOf", "if")) or not (
        "properties" in schema or "additionalProperties" in schema
    ):
        return
    for name in transition.prefill:
        if name not in properties:
            message = f"the inputSchema of {transition.name!r} has no {name!r}{suggestion_for(name, list(properties))}"
            yield LintFinding((*at, name), message)
