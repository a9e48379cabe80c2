"""The expressions of guards: one comparison of two operands, and no more, so that a guard can be read and checked.

They are taken apart from left to right. Whatever is no comparison is refused when it is read and holds never, so that
nobody passes a guard because somebody else mistyped it.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from operator import ge, gt, le, lt
from sys import float_info
from typing import Literal, TypeIs

from signpost.model import Json
from signpost.records import dataclass
from signpost.workflow.paths import Known, Path, path_of

type Operator = Literal["==", "!=", "<", "<=", ">", ">=", "starts_with", "contains"]

_SYMBOLS: Mapping[str, Operator] = {"==": "==", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_WORDS: Mapping[str, Operator] = {"starts_with": "starts_with", "contains": "contains"}
_CONSTANTS: Mapping[str, Json] = {"true": True, "false": False, "null": None}
_TOKEN = re.compile(r"""\s*(?:(?P<text>"[^"]*"|'[^']*')|(?P<symbol>==|!=|<=|>=|<|>)|(?P<word>[^\s"'=!<>]+))""")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_WHOLE = re.compile(r"[+-]?\d{1,300}", re.ASCII)
FORM = (
    "an expression is one comparison: $.context.…, $.arguments.…, $.workflow.input.…, a text in quotes, a number, "
    f"true, false or null, and between two of them one of {' '.join((*_SYMBOLS, *_WORDS))}, words with blanks around"
)


@dataclass(frozen=True, slots=True)
class Constant:
    value: Json

    def of(self, known: Known) -> Json:
        del known  # it is what it is
        return self.value


type Operand = Constant | Path


@dataclass(frozen=True, slots=True)
class Comparison:
    left: Operand
    operator: Operator
    right: Operand

    def holds(self, known: Known) -> bool:
        return _holds(self.left.of(known), self.operator, self.right.of(known))

    @property
    def operands(self) -> Sequence[Operand]:
        return (self.left, self.right)


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    stands_alone: bool
    """Whether there are blanks before and after it."""


def parse(expression: str) -> Comparison | None:
    """None if it is no comparison."""
    tokens = _tokens(expression)
    if tokens is None or len(tokens) != 3:
        return None
    left, operator, right = _operand(tokens[0]), _operator(tokens[1]), _operand(tokens[2])
    if left is None or operator is None or right is None:
        return None
    return Comparison(left, operator, right)


def same(left: Json, right: Json) -> bool:
    """Equal in type and value, at any depth; 1 is not true, and 5 is 5.0."""
    if _is_number(left) and _is_number(right):
        return _same_number(left, right)
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(same(value, right[name]) for name, value in left.items())
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(map(same, left, right))
    return type(left) is type(right) and left == right


def _tokens(expression: str) -> Sequence[_Token] | None:
    tokens: list[_Token] = []
    at = 0
    end = len(expression.rstrip())
    while at < end:
        found = _TOKEN.match(expression, at)
        if found is None or found.lastgroup is None:
            return None
        start, at = found.span(found.lastgroup)
        around = expression[:start][-1:] + expression[at : at + 1]
        tokens.append(_Token(found.lastgroup, found[found.lastgroup], len(around) > 1 and around.isspace()))
    return tokens


def _operator(token: _Token) -> Operator | None:
    if token.kind == "symbol":
        return _SYMBOLS[token.text]
    return _WORDS.get(token.text) if token.kind == "word" and token.stands_alone else None


def _operand(token: _Token) -> Operand | None:
    if token.kind == "text":
        return Constant(token.text[1:-1])
    if token.kind != "word":
        return None
    if token.text in _CONSTANTS:
        return Constant(_CONSTANTS[token.text])
    if _NUMBER.fullmatch(token.text):
        return Constant(_number(token.text))
    path = path_of(token.text)
    # Nothing has answered yet when guards are asked, and a whole scope is nothing to compare with.
    return path if path is not None and path.scope != "output" and path.steps else None


def _number(text: str) -> Json:
    return int(text) if _WHOLE.fullmatch(text) else float(text)


def _holds(left: Json, operator: Operator, right: Json) -> bool:
    match operator:
        case "==":
            return same(left, right)
        case "!=":
            return not same(left, right)
        case "starts_with":
            return isinstance(left, str) and isinstance(right, str) and left.startswith(right)
        case "contains":
            return isinstance(left, str) and isinstance(right, str) and right in left
        case _:
            return _is_number(left) and _is_number(right) and _ORDERS[operator](left, right)


_ORDERS: Mapping[str, Callable[[float, float], bool]] = {"<": lt, "<=": le, ">": gt, ">=": ge}


def _is_number(value: Json) -> TypeIs[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _same_number(left: float, right: float) -> bool:
    if left == right or (isinstance(left, int) and isinstance(right, int)):
        return left == right
    try:
        return abs(left - right) <= float_info.epsilon
    except OverflowError:
        return False
