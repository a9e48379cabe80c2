"""Values of mappings and prefills that can never be there."""

import re
from collections.abc import Iterator, Mapping

from signpost.model import Json, JsonObject, as_object
from signpost.records import dataclass
from signpost.workflow.definition import Definition, Executor, OnEnter, Pointer, Transition
from signpost.workflow.flow import ANY_ARGUMENTS, Arguments, Flow, arguments_of, flow_of
from signpost.workflow.paths import Path, path_of
from signpost.workflow.problems import Doubt, or_rather
from signpost.workflow.steps import NOTHING_TO_RUN, PEOPLE
from signpost.workflow.values import OPERATORS

_LIKE_A_PATH = re.compile(r"\$?\.?(context|arguments|workflow\.input|input|output)\.[\w.\[\]]+|\$\..*", re.DOTALL)
_LITERAL = "set"
SCOPES = "$.context.…, $.arguments.…, $.workflow.input.… and $.output.…"


@dataclass(frozen=True, slots=True)
class _Source:
    """What the values of a mapping are taken from."""

    flow: Flow
    arguments: Arguments
    why_no_answer: str | None
    """Why there is nothing under `$.output`."""


def doubts(definition: Definition) -> Iterator[Doubt]:
    flow = flow_of(definition)
    for state in definition.states.values():
        at: Pointer = ("states", state.name)
        if state.on_enter:
            source = _Source(flow, arguments_of(state.on_enter), _why_no_answer(state.on_enter))
            yield from _mapping(state.on_enter.output, source, (*at, "onEnter", "output"))
        for transition in state.transitions.values():
            here: Pointer = (*at, "transitions", transition.name)
            source = _Source(flow, arguments_of(transition), _why_no_answer(transition))
            yield from _mapping(transition.output, source, (*here, "output"))
            source = _Source(flow, Arguments(are_none=True), "nothing has answered yet when links are made")
            yield from _mapping(transition.prefill, source, (*here, "prefill"))
            yield from _unknown(transition, (*here, "prefill"))
            yield from _shown(transition.executor, flow, (*here, "executor", "shows"))


def _shown(executor: Executor | None, flow: Flow, at: Pointer) -> Iterator[Doubt]:
    shows = executor.settings.get("shows") if executor and executor.kind == PEOPLE else None
    for place, name in enumerate(shows if isinstance(shows, list) else ()):
        if isinstance(name, str) and (why := flow.why_nothing(Path("context", (name,)), ANY_ARGUMENTS)):
            yield Doubt((*at, place), f"nothing is shown of {name!r}: {why}")


def _why_no_answer(holder: Transition | OnEnter) -> str | None:
    is_run = holder.executor is not None and holder.executor.kind != NOTHING_TO_RUN
    return None if is_run else "there is no executor that would answer"


def _mapping(mapping: JsonObject, source: _Source, at: Pointer) -> Iterator[Doubt]:
    for name, template in mapping.items():
        for message in _messages(template, source):
            yield Doubt((*at, name), f"{name!r}: {message}")


def _messages(template: Json, source: _Source) -> Iterator[str]:
    if isinstance(template, str):
        yield from _text(template, source)
    elif isinstance(template, Mapping) and len(template) == 1 and next(iter(template)) in OPERATORS:
        ((operator, operands),) = template.items()
        yield from _operation(operator, operands, source)
    else:
        for text in [one for one in _texts_in(template) if _LIKE_A_PATH.fullmatch(one)][:1]:
            yield f"{text!r} is taken as it is written: paths are not looked for inside lists and objects"


def _operation(operator: str, operands: Json, source: _Source) -> Iterator[str]:
    if operator == _LITERAL:
        return
    if not isinstance(operands, list) or (operator != "concat" and len(operands) != 2):
        yield f"`{operator}` needs a list" + ("" if operator == "concat" else " of two operands")
        return
    for operand in operands:
        if operator != "concat" and isinstance(operand, str) and not operand.startswith("$"):
            yield f"the text {operand!r} counts as 0 in `{operator}`"
        else:
            yield from _messages(operand, source)


def _text(text: str, source: _Source) -> Iterator[str]:
    if text != "$" and not text.startswith("$."):
        if text.startswith("$") and _LIKE_A_PATH.fullmatch(text):
            yield f"{text!r} is taken as it is written: a path begins with `$.`"
        return
    path = path_of(text)
    if path is None:
        hint = "; did you mean '$.workflow.input'?" if text.startswith("$.input") else ""
        yield f"{text!r} is always null: it is no path, there are {SCOPES}{hint}"
    elif why := _why_nothing(path, source):
        yield f"{text!r} is always null, because {why}"


def _why_nothing(path: Path, source: _Source) -> str | None:
    if path.scope != "output":
        return source.flow.why_nothing(path, source.arguments)
    return source.why_no_answer if path.steps else None


def _texts_in(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for member in value.values():
            yield from _texts_in(member)
    elif isinstance(value, list):
        for entry in value:
            yield from _texts_in(entry)


def _unknown(transition: Transition, at: Pointer) -> Iterator[Doubt]:
    schema = transition.input_schema
    if schema is None or schema.get("additionalProperties", False) is not False or "patternProperties" in schema:
        return
    properties = as_object(schema.get("properties"))
    if any(word in schema for word in ("$ref", "allOf", "anyOf", "oneOf", "if")) or not (
        "properties" in schema or "additionalProperties" in schema
    ):
        return
    for name in transition.prefill:
        if name not in properties:
            message = f"the inputSchema of {transition.name!r} has no {name!r}{or_rather(name, list(properties))}"
            yield Doubt((*at, name), message)
