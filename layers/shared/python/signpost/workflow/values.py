"""The values of mappings (`output`) and of prefills: paths, literals, and a handful of operations."""

import json
from collections.abc import Callable, Mapping
from math import isfinite

from signpost.model import Json, JsonObject
from signpost.workflow.paths import Known, path_of

_LONGEST_NUMBER = 1024
"""Bits of a whole number. Beyond that no client could read it."""


def resolved(template: Json, known: Known) -> Json:
    if isinstance(template, str):
        return _text(template, known)
    if isinstance(template, Mapping) and len(template) == 1:
        ((name, operand),) = template.items()
        if name in _OPERATIONS:
            return _OPERATIONS[name](operand, known)
    return template


def mapped(mapping: Mapping[str, Json], known: Known) -> JsonObject:
    """All from what was known before, so that two values can change places."""
    return {name: resolved(template, known) for name, template in mapping.items()}


def _text(template: str, known: Known) -> Json:
    if template != "$" and not template.startswith("$."):
        return template
    path = path_of(template)
    return None if path is None else path.of(known)


def _set(operand: Json, known: Known) -> Json:
    del known  # taken as it is written
    return operand


def _arithmetic(operate: Callable[[float, float], float]) -> Callable[[Json, Known], Json]:
    def operation(operands: Json, known: Known) -> Json:
        if not isinstance(operands, list) or len(operands) != 2:
            return None
        left, right = (_operand(operand, known) for operand in operands)
        if left is None or right is None:
            return None
        try:
            return _presentable(operate(left, right))
        except (ZeroDivisionError, OverflowError):
            return None

    return operation


def _operand(template: Json, known: Known) -> float | None:
    """A literal text counts as nothing, as does what is not there; anything else but a number spoils the result."""
    if isinstance(template, str) and not template.startswith("$"):
        return 0
    value = resolved(template, known)
    if value is None:
        return 0
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _presentable(number: float) -> Json:
    if isinstance(number, int):
        return number if number.bit_length() <= _LONGEST_NUMBER else None
    if not isfinite(number):
        return None
    return int(number) if number.is_integer() else number


def _concat(operands: Json, known: Known) -> Json:
    if not isinstance(operands, list):
        return None
    return "".join(_as_text(resolved(operand, known)) for operand in operands)


def _as_text(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


_OPERATIONS: Mapping[str, Callable[[Json, Known], Json]] = {
    "set": _set,
    "add": _arithmetic(lambda left, right: left + right),
    "subtract": _arithmetic(lambda left, right: left - right),
    "multiply": _arithmetic(lambda left, right: left * right),
    "divide": _arithmetic(lambda left, right: left / right),
    "concat": _concat,
}
OPERATORS = tuple(_OPERATIONS)
