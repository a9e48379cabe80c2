"""Parses the expressions of guards: one comparison of two operands, no more, so that a guard can be read and checked.

They are parsed from left to right. Text that is no comparison is refused when it is read and never holds, so that a
mistyped guard lets no caller pass.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from operator import ge, gt, le, lt
from sys import float_info
from typing import Literal, TypeIs

from signpost.model import Json
from signpost.records import dataclass
from signpost.workflow.paths import Path, ValueSources, path_of

type Operator = Literal["==", "!=", "<", "<=", ">", ">=", "starts_with", "contains"]

_SYMBOLS: Mapping[str, Operator] = {"==": "==", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_WORDS: Mapping[str, Operator] = {"starts_with": "starts_with", "contains": "contains"}
_CONSTANTS: Mapping[str, Json] = {"true": True, "false": False, "null": None}
_TOKEN = re.compile(r"""\s*(?:(?P<text>"[^"]*"|'[^']*')|(?P<symbol>==|!=|<=|>=|<|>)|(?P<word>[^\s"'=!<>]+))""")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_WHOLE = re.compile(r"[+-]?\d{1,300}", re.ASCII)
FORM = (
    "an expression compares two operands ($.context.…, $.arguments.…, $.workflow.input.…, a text in quotes, a number, "
    f"true, false or null) with one of {' '.join((*_SYMBOLS, *_WORDS))}; put blanks around starts_with and contains"
)


@dataclass(frozen=True, slots=True)
class Constant:
    value: Json

    def resolve(self, sources: ValueSources) -> Json:
        del sources  # a constant does not depend on them
        return self.value


type Operand = Constant | Path


@dataclass(frozen=True, slots=True)
class Comparison:
    left: Operand
    operator: Operator
    right: Operand

    def holds(self, sources: ValueSources) -> bool | None:
        """Compare the values; None if they cannot be compared, such as a text with a number."""
        return _compare(self.left.resolve(sources), self.operator, self.right.resolve(sources))

    @property
    def operands(self) -> Sequence[Operand]:
        return (self.left, self.right)


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    stands_alone: bool
    """Whether it has blanks before and after it."""


def parse(expression: str) -> Comparison | None:
    """Parse a comparison; None if the text is none."""
    tokens = _tokenize(expression)
    if tokens is None or len(tokens) != 3:
        return None
    left, operator, right = _parse_operand(tokens[0]), _parse_operator(tokens[1]), _parse_operand(tokens[2])
    if left is None or operator is None or right is None:
        return None
    return Comparison(left, operator, right)


def is_same(left: Json, right: Json) -> bool:
    """Return whether both are equal in type and value, at any depth; 1 is not true, and 5 is 5.0."""
    if _is_number(left) and _is_number(right):
        return _is_same_number(left, right)
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(is_same(value, right[name]) for name, value in left.items())
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(map(is_same, left, right))
    return type(left) is type(right) and left == right


def _tokenize(expression: str) -> Sequence[_Token] | None:
    tokens: list[_Token] = []
    at = 0
    end = len(expression.rstrip())
    while at < end:
        matched = _TOKEN.match(expression, at)
        if matched is None or matched.lastgroup is None:
            return None
        start, at = matched.span(matched.lastgroup)
        neighbours = expression[:start][-1:] + expression[at : at + 1]
        tokens.append(
            _Token(matched.lastgroup, matched[matched.lastgroup], len(neighbours) > 1 and neighbours.isspace())
        )
    return tokens


def _parse_operator(token: _Token) -> Operator | None:
    if token.kind == "symbol":
        return _SYMBOLS[token.text]
    return _WORDS.get(token.text) if token.kind == "word" and token.stands_alone else None


def _parse_operand(token: _Token) -> Operand | None:
    if token.kind == "text":
        return Constant(token.text[1:-1])
    if token.kind != "word":
        return None
    if token.text in _CONSTANTS:
        return Constant(_CONSTANTS[token.text])
    if _NUMBER.fullmatch(token.text):
        return Constant(_parse_number(token.text))
    path = path_of(token.text)
    # Guards are evaluated before an executor has answered, so there is no output; a whole scope cannot be compared.
    return path if path is not None and path.scope != "output" and path.steps else None


def _parse_number(text: str) -> Json:
    return int(text) if _WHOLE.fullmatch(text) else float(text)


def _compare(left: Json, operator: Operator, right: Json) -> bool | None:
    match operator:
        case "==" | "!=":
            return is_same(left, right) is (operator == "==") if _has_equality(left, right) else None
        case "starts_with" | "contains":
            return _TEXTS[operator](left, right) if isinstance(left, str) and isinstance(right, str) else None
        case _:
            return _ORDERS[operator](left, right) if _is_number(left) and _is_number(right) else None


_TEXTS: Mapping[str, Callable[[str, str], bool]] = {"starts_with": str.startswith, "contains": str.__contains__}
_ORDERS: Mapping[str, Callable[[float, float], bool]] = {"<": lt, "<=": le, ">": gt, ">=": ge}


def _has_equality(left: Json, right: Json) -> bool:
    """Return whether equality says something about these values: they are of one type, or one of them is null, which is
    how a missing value reads."""
    return left is None or right is None or _kind_of(left) is _kind_of(right)


def _kind_of(value: Json) -> type:
    if isinstance(value, str | bool):
        return type(value)
    if _is_number(value):
        return float
    return dict if isinstance(value, Mapping) else list


def _is_number(value: Json) -> TypeIs[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_same_number(left: float, right: float) -> bool:
    if left == right or (isinstance(left, int) and isinstance(right, int)):
        return left == right
    try:
        # Relative below 1: sums of decimal fractions are inexact, but no other number is 0.
        return abs(left - right) <= float_info.epsilon * min(1.0, max(abs(left), abs(right)))
    except OverflowError:
        return False
