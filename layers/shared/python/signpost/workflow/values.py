"""Resolves mappings (`output`) and prefills: paths, literals, and a handful of operations."""

import json
from collections.abc import Callable, Mapping
from math import isfinite

from signpost.model import Json, JsonObject
from signpost.workflow.paths import ValueSources, path_of

_LONGEST_NUMBER = 1024
"""Bits of a whole number. No client could read a larger one."""


def resolve_template(template: Json, sources: ValueSources) -> Json:
    if isinstance(template, str):
        return _resolve_text(template, sources)
    if isinstance(template, Mapping) and len(template) == 1:
        ((name, operand),) = template.items()
        if name in _OPERATIONS:
            return _OPERATIONS[name](operand, sources)
    return template


def apply_mapping(mapping: Mapping[str, Json], sources: ValueSources) -> JsonObject:
    """Resolve all templates from the values before the mapping, so that two values can swap places."""
    return {name: resolve_template(template, sources) for name, template in mapping.items()}


def _resolve_text(template: str, sources: ValueSources) -> Json:
    if template != "$" and not template.startswith("$."):
        return template
    path = path_of(template)
    return None if path is None else path.resolve(sources)


def _set(operand: Json, sources: ValueSources) -> Json:
    del sources  # the operand is a literal
    return operand


def _build_arithmetic(operate: Callable[[float, float], float]) -> Callable[[Json, ValueSources], Json]:
    def operation(operands: Json, sources: ValueSources) -> Json:
        if not isinstance(operands, list) or len(operands) != 2:
            return None
        left, right = (_resolve_operand(operand, sources) for operand in operands)
        if left is None or right is None:
            return None
        try:
            return _normalize_number(operate(left, right))
        except (ZeroDivisionError, OverflowError):
            return None

    return operation


def _resolve_operand(template: Json, sources: ValueSources) -> float | None:
    """Return the number of an operand. A literal text and a missing value count as 0; any other value that is no
    number gives None, which makes the result null."""
    if isinstance(template, str) and not template.startswith("$"):
        return 0
    value = resolve_template(template, sources)
    if value is None:
        return 0
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _normalize_number(number: float) -> Json:
    if isinstance(number, int):
        return number if number.bit_length() <= _LONGEST_NUMBER else None
    if not isfinite(number):
        return None
    return int(number) if number.is_integer() else number


def _concat(operands: Json, sources: ValueSources) -> Json:
    if not isinstance(operands, list):
        return None
    return "".join(_as_text(resolve_template(operand, sources)) for operand in operands)


def _as_text(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


_OPERATIONS: Mapping[str, Callable[[Json, ValueSources], Json]] = {
    "set": _set,
    "add": _build_arithmetic(lambda left, right: left + right),
    "subtract": _build_arithmetic(lambda left, right: left - right),
    "multiply": _build_arithmetic(lambda left, right: left * right),
    "divide": _build_arithmetic(lambda left, right: left / right),
    "concat": _concat,
}
OPERATORS = tuple(_OPERATIONS)
