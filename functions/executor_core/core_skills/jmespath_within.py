"""Evaluation of JMESPath expressions within an allowance."""

import re
from collections.abc import Iterable
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

from core_skills.allowance import Allowance, length_of

MULTI_SELECTS = frozenset({"multi_select_list", "multi_select_dict"})
"""Expressions that put values into new ones: the only way to repeat a value in a result."""
CONSTANT_WORK = frozenset({"length", "not_null", "starts_with", "ends_with", "to_array", "type"})
"""Functions that do not read all of their arguments."""
CONTAINERS = (list, dict)
FUNCTION_NAME = re.compile(r"function: (\w+)")


class Refused(Exception):  # noqa: N818 - it names a refusal
    """Raised for an expression that cannot be parsed or evaluated; the message names the place."""


def search(expression: str, data: object, allowance: Allowance) -> Any:
    """Evaluate an expression. Raises Refused, Exhausted or Unwritable."""
    try:
        return _Interpreter(allowance).visit(Parser().parse(expression).parsed, data)
    except RecursionError:
        raise Refused("The expression is nested too deeply; split it into simpler ones.") from None
    except JMESPathError as fault:
        raise Refused(_explain_fault(expression, fault)) from None
    except (ArithmeticError, AttributeError, TypeError, ValueError):
        raise Refused("The expression combines values of types that do not fit, such as a text and a number.") from None


class _Functions(Functions):
    def __init__(self, allowance: Allowance) -> None:
        self._allowance = allowance

    def call_function(self, function_name: str, resolved_args: Iterable[Any]) -> Any:
        """Call a function. Lists among its arguments, and a list as its result, are charged when they are visited."""
        if function_name not in CONSTANT_WORK:
            self._take_for_others(resolved_args)
        result: Any = super().call_function(function_name, resolved_args)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - the stubs of jmespath lack it
        self._take_for_others([result])
        return cast("object", result)

    def _take_for_others(self, values: Iterable[Any]) -> None:
        self._allowance.take(sum(length_of(value) for value in values if not isinstance(value, list)))

    @signature({"types": ["array", "string"]}, {"types": []})
    def _func_contains(self, subject: Any, search: Any) -> bool:
        if isinstance(search, CONTAINERS):
            self._allowance.take_for(subject)
        return super()._func_contains(subject, search)  # pyright: ignore[reportUnknownVariableType, reportAttributeAccessIssue] - the stubs of jmespath lack it

    @signature({"types": ["string"]}, {"types": ["array-string"]})
    def _func_join(self, separator: str, array: list[str]) -> str:
        self._allowance.take(sum(map(len, array)) + len(separator) * len(array))
        return separator.join(array)

    @signature({"types": []})
    def _func_to_string(self, argument: object) -> str:
        self._allowance.take_for(argument)
        return super()._func_to_string(argument)  # pyright: ignore[reportUnknownVariableType, reportAttributeAccessIssue] - the stubs of jmespath lack it


class _Interpreter(TreeInterpreter):
    def __init__(self, allowance: Allowance) -> None:
        super().__init__(Options(custom_functions=_Functions(allowance)))
        self._allowance = allowance

    def visit(self, node: Any, *args: Any, **kwargs: Any) -> Any:
        self._allowance.take(1)
        result: Any = super().visit(node, *args, **kwargs)
        if node["type"] in MULTI_SELECTS:
            self._allowance.take_for(result)
        elif isinstance(result, list):
            self._allowance.take(len(cast("list[object]", result)))
        return cast("object", result)

    def visit_comparator(self, node: Any, value: Any) -> Any:
        operands: list[object] = [self.visit(child, value) for child in node["children"]]
        left = operands[0]
        if isinstance(left, CONTAINERS):
            self._allowance.take_for(cast("object", left))
        self._allowance.take(length_of(operands[0]))
        literals: list[Any] = [{"type": "literal", "value": operand, "children": []} for operand in operands]
        evaluated: Any = {**node, "children": literals}
        return super().visit_comparator(evaluated, value)


def _explain_fault(expression: str, fault: JMESPathError) -> str:
    match fault:
        case ArityError():
            position = _describe_position(expression, fault.function_name)
            return (
                f"{fault.function_name}(){position} takes {fault.expected_arity} arguments, not {fault.actual_arity}."
            )
        case JMESPathTypeError():
            position, expected = _describe_position(expression, fault.function_name), " or ".join(fault.expected_types)
            return f"{fault.function_name}(){position} takes {expected}, and was given {fault.actual_type}."
        case UnknownFunctionError():
            name = (FUNCTION_NAME.search(str(fault)) or ["", ""])[1]
            return f"There is no function {name}(){_describe_position(expression, name)}."
        case ParseError():
            return f"The expression {_explain_parse_error(expression, fault)}."
        case _:
            return "The expression cannot be read."


def _explain_parse_error(expression: str, fault: ParseError) -> str:
    match fault:
        case IncompleteExpressionError():
            return f"ends too early, after character {len(expression)}"
        case LexerError():
            return f"cannot be read at character {fault.lexer_position + 1}: {fault.message}"
        case _:
            return f"cannot be read at character {fault.lex_position + 1}, before {str(fault.token_value)[:40]!r}"


def _describe_position(expression: str, function: str) -> str:
    """Describe the position of a call, which the library does not report. It is that of the first call of the function,
    although a later one may be at fault."""
    match = re.search(rf"\b{re.escape(function)}\s*\(", expression)
    return f" at character {match.start() + 1}" if match else ""
