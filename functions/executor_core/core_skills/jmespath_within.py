"""JMESPath as its library has it, within an allowance."""

import re
from typing import Any, cast

from jmespath.exceptions import (
    ArityError,
    IncompleteExpressionError,
    JMESPathError,
    JMESPathTypeError,
    LexerError,
    ParseError,
    UnknownFunctionError,
)
from jmespath.functions import Functions, signature
from jmespath.parser import Parser
from jmespath.visitor import Options, TreeInterpreter

from core_skills.allowance import Allowance

SELECTS = frozenset({"multi_select_list", "multi_select_dict"})
"""What puts values into new ones, the only way to have one many times in a result."""
NAMED = re.compile(r"function: (\w+)")


class Refused(Exception):  # noqa: N818 - it says what was done with the expression
    """The expression cannot be read, or not be applied; the message names the place."""


def searched(expression: str, data: object, allowance: Allowance) -> Any:
    """Raises Refused, Exhausted, Unwritable."""
    try:
        return _Interpreter(allowance).visit(Parser().parse(expression).parsed, data)
    except RecursionError:
        raise Refused("The expression is nested too deeply; take it apart.") from None
    except JMESPathError as fault:
        raise Refused(_sentence(expression, fault)) from None
    except (ArithmeticError, AttributeError, TypeError, ValueError):
        raise Refused(
            "The expression compares or counts values that do not go together, as a text and a number."
        ) from None


class _Functions(Functions):
    def __init__(self, allowance: Allowance) -> None:
        self._allowance = allowance

    @signature({"types": ["string"]}, {"types": ["array-string"]})
    def _func_join(self, separator: str, array: list[str]) -> str:
        self._allowance.take(sum(map(len, array)) + len(separator) * len(array))
        return separator.join(array)

    @signature({"types": []})
    def _func_to_string(self, argument: object) -> str:
        self._allowance.take_for(argument)
        return super()._func_to_string(argument)  # pyright: ignore[reportUnknownVariableType, reportAttributeAccessIssue] - its stubs name no function


class _Interpreter(TreeInterpreter):
    def __init__(self, allowance: Allowance) -> None:
        super().__init__(Options(custom_functions=_Functions(allowance)))
        self._allowance = allowance

    def visit(self, node: Any, *args: Any, **kwargs: Any) -> Any:
        self._allowance.take(1)
        made: Any = super().visit(node, *args, **kwargs)
        if node["type"] in SELECTS:
            self._allowance.take_for(made)
        elif isinstance(made, list):
            self._allowance.take(len(cast("list[object]", made)))
        return cast("object", made)


def _sentence(expression: str, fault: JMESPathError) -> str:
    match fault:
        case ArityError():
            where = _called_at(expression, fault.function_name)
            return f"{fault.function_name}(){where} takes {fault.expected_arity} arguments, not {fault.actual_arity}."
        case JMESPathTypeError():
            where, wanted = _called_at(expression, fault.function_name), " or ".join(fault.expected_types)
            return f"{fault.function_name}(){where} takes {wanted}, and was given {fault.actual_type}."
        case UnknownFunctionError():
            name = (NAMED.search(str(fault)) or ["", ""])[1]
            return f"There is no function {name}(){_called_at(expression, name)}."
        case ParseError():
            return f"The expression {_unread(expression, fault)}."
        case _:
            return "The expression cannot be read."


def _unread(expression: str, fault: ParseError) -> str:
    match fault:
        case IncompleteExpressionError():
            return f"ends too early, after character {len(expression)}"
        case LexerError():
            return f"cannot be read at character {fault.lexer_position + 1}: {fault.message}"
        case _:
            return f"cannot be read at character {fault.lex_position + 1}, before {str(fault.token_value)[:40]!r}"


def _called_at(expression: str, function: str) -> str:
    """Where the library does not say it. Of several calls of it, the first may be another one."""
    found = re.search(rf"\b{re.escape(function)}\s*\(", expression)
    return f" at character {found.start() + 1}" if found else ""
