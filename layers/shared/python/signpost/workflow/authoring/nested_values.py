"""Marks the steps of a definition whose mappings have expressions inside of lists and objects.

Earlier releases sent such values as they were written, and the definitions that they published still mean that. The
mark is part of the compiled document, so a definition without nested expressions keeps its digest.
"""

from collections.abc import Iterator, Mapping

from signpost.model import Json, as_object
from signpost.workflow.authoring.source_tree import SourceNode, build_source_node, to_json
from signpost.workflow.authoring.steps import rewrite_steps
from signpost.workflow.definition import NESTED_VALUES
from signpost.workflow.values import LITERAL, is_path, operation_in


def mark_nested_values(document: SourceNode) -> SourceNode:
    return rewrite_steps(document, on_enter=_mark_step, transition=_mark_step)


def _mark_step(step: SourceNode) -> SourceNode:
    if step.get("values") is not None or not any(map(_has_nested_expression, _mappings_of(step))):
        return step
    return step.with_members(values=build_source_node(NESTED_VALUES, step.place))


def _mappings_of(step: SourceNode) -> Iterator[Json]:
    yield from (to_json(step.get(name)) for name in ("output", "prefill"))
    fallback = (step.get("reliability") or step).get("fallback")
    fallbacks = fallback.get("executors") if fallback else None
    for executor in (step.get("executor"), *(fallbacks.entries if fallbacks else ())):
        if executor is not None:
            yield from (to_json(executor.get(name)) for name in ("arguments", "input"))


def _has_nested_expression(mapping: Json) -> bool:
    return any(map(_is_resolved_otherwise, as_object(mapping).values()))


def _is_resolved_otherwise(template: Json) -> bool:
    """Return whether a template has another value if it is resolved in depth."""
    operation = operation_in(template) if isinstance(template, Mapping) else None
    if operation is None:
        return any(map(_has_expression, _members_of(template)))
    name, operands = operation
    return name != LITERAL and any(map(_is_resolved_otherwise, _members_of(operands)))


def _has_expression(template: Json) -> bool:
    if isinstance(template, str):
        return is_path(template)
    if isinstance(template, Mapping) and operation_in(template) is not None:
        return True
    return any(map(_has_expression, _members_of(template)))


def _members_of(value: Json) -> Iterator[Json]:
    if isinstance(value, Mapping):
        yield from value.values()
    elif isinstance(value, list):
        yield from value
