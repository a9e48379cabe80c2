"""Resolves the mappings of a definition (`output`, `prefill`, `arguments`, `input`): paths, literals, and a handful of
operations."""

import json
from collections.abc import Callable, Mapping
from math import isfinite

from signpost.model import Json, JsonObject
from signpost.workflow.paths import ValueSources, path_of

_LONGEST_NUMBER = 1024
"""Bits of a whole number. No client could read a larger one."""


type _Resolve = Callable[[Json], Json]
"""Resolves a template from the values of one step."""


def resolve_template(template: Json, sources: ValueSources, *, nested: bool = False) -> Json:
    """Resolve a template; if `nested`, also the templates in its lists and objects, at any depth. `{set: …}` keeps its
    value as it is."""
    if isinstance(template, str):
        return _resolve_text(template, sources)

    def resolve(inner: Json) -> Json:
        return resolve_template(inner, sources, nested=nested)

    if isinstance(template, Mapping):
        if (operation := operation_in(template)) is not None:
            name, operand = operation
            return _OPERATIONS[name](operand, resolve)
        return {name: resolve(member) for name, member in template.items()} if nested else template
    return [resolve(entry) for entry in template] if nested and isinstance(template, list | tuple) else template


def operation_in(template: Mapping[str, Json]) -> tuple[str, Json] | None:
    """Return the name and the operand of the operation that a mapping stands for; None if it stands for itself."""
    if len(template) != 1:
        return None
    ((name, operand),) = template.items()
    return (name, operand) if name in _OPERATIONS else None


def is_path(text: str) -> bool:
    """Return whether a text is read as a path, be it a valid one or not."""
    return text == "$" or text.startswith("$.")


def apply_mapping(mapping: Mapping[str, Json], sources: ValueSources, *, nested: bool = False) -> JsonObject:
    """Resolve all templates from the values before the mapping, so that two values can swap places."""
    return {name: resolve_template(template, sources, nested=nested) for name, template in mapping.items()}


def _resolve_text(template: str, sources: ValueSources) -> Json:
    if not is_path(template):
        return template
    path = path_of(template)
    return None if path is None else path.resolve(sources)


def _set(operand: Json, resolve: _Resolve) -> Json:
    del resolve  # the operand is a literal
    return operand


def _build_arithmetic(operate: Callable[[float, float], float]) -> Callable[[Json, _Resolve], Json]:
    def operation(operands: Json, resolve: _Resolve) -> Json:
        if not isinstance(operands, list) or len(operands) != 2:
            return None
        left, right = (_resolve_operand(operand, resolve) for operand in operands)
        if left is None or right is None:
            return None
        try:
            return _normalize_number(operate(left, right))
        except (ZeroDivisionError, OverflowError):
            return None

    return operation


def _resolve_operand(template: Json, resolve: _Resolve) -> float | None:
    """Return the number of an operand. A literal text and a missing value count as 0; any other value that is no
    number gives None, which makes the result null."""
    if isinstance(template, str) and not template.startswith("$"):
        return 0
    value = resolve(template)
    if value is None:
        return 0
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _normalize_number(number: float) -> Json:
    if isinstance(number, int):
        return number if number.bit_length() <= _LONGEST_NUMBER else None
    if not isfinite(number):
        return None
    return int(number) if number.is_integer() else number


def _concat(operands: Json, resolve: _Resolve) -> Json:
    if not isinstance(operands, list):
        return None
    return "".join(_as_text(resolve(operand)) for operand in operands)


def _as_text(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


LITERAL = "set"
"""The operation that takes any value as it is."""
_OPERATIONS: Mapping[str, Callable[[Json, _Resolve], Json]] = {
    LITERAL: _set,
    "add": _build_arithmetic(lambda left, right: left + right),
    "subtract": _build_arithmetic(lambda left, right: left - right),
    "multiply": _build_arithmetic(lambda left, right: left * right),
    "divide": _build_arithmetic(lambda left, right: left / right),
    "concat": _concat,
}
OPERATORS = tuple(_OPERATIONS)
