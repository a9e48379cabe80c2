"""Checks, at import, the questions that the body of a function writes out: forms and pages whose values are literals,
or names of the module.

It reads the source of the function. What it cannot read is checked when it is asked.
"""

import ast
from collections.abc import Callable, Container, Iterator, Mapping
from inspect import getsource
from textwrap import dedent
from typing import Any

from signpost.toolkit.answers import QuestionRefused
from signpost.toolkit.questions import Elicit, ElicitUrl

UNREAD_TEXT = "…"
"""Stands for a message that is put together when it is asked."""
UNREAD_URL = "https://page.invalid/"


def find_literal_fault(run: Callable[..., object]) -> str | None:
    """Return why the first question in the source that cannot be asked is refused; None if there is none."""
    try:
        tree = ast.parse(dedent(getsource(run)))
    except (OSError, SyntaxError, TypeError):
        return None  # there is no source, or it is a part of a line
    names, contexts = _names_of(run), set(_contexts_of(tree))
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        try:
            _build_question(_method_of(call, names, contexts), call, names)
        except QuestionRefused as refused:
            return str(refused)
    return None


def _names_of(run: Callable[..., object]) -> Mapping[str, Any]:
    """Return the names of the module, without those that the function uses for values of its own."""
    code: Any = getattr(run, "__code__", None)
    own = {*code.co_varnames, *code.co_cellvars, *code.co_freevars}
    return {name: value for name, value in getattr(run, "__globals__", {}).items() if name not in own}


def _contexts_of(tree: ast.AST) -> Iterator[str]:
    """Yield the names of the parameters that are contexts."""
    for parameter in (node for node in ast.walk(tree) if isinstance(node, ast.arg)):
        annotation = "" if parameter.annotation is None else ast.unparse(parameter.annotation)
        if parameter.arg == "ctx" or annotation.strip("'\"").rpartition(".")[2] == "Context":
            yield parameter.arg


def _method_of(call: ast.Call, names: Mapping[str, Any], contexts: Container[str]) -> str:
    """Return the method of a context that is called, or the class of a question; empty for any other call."""
    called = call.func
    if isinstance(called, ast.Attribute):
        owner = called.value.id if isinstance(called.value, ast.Name) else ""
        return called.attr if owner in contexts else ""
    question = names.get(called.id) if isinstance(called, ast.Name) else None
    return question.__name__ if question in (Elicit, ElicitUrl) else ""


def _build_question(method: str, call: ast.Call, names: Mapping[str, Any]) -> None:
    """Build the question of a call such as `ctx.elicit(…)` or `Elicit(…)`, as far as it is written out. Raises
    QuestionRefused."""
    given = dict(_arguments_of(call, _PARAMETERS.get(method, ())))
    if method in ("elicit", "Elicit") and "fields" in given:
        found, fields = _evaluate(given["fields"], names)
        if found:
            Elicit(_text_of(given.get("message"), names, UNREAD_TEXT), fields)
    elif method in ("elicit_url", "ElicitUrl") and "url" in given:
        ElicitUrl(UNREAD_TEXT, _text_of(given["url"], names, UNREAD_URL))


_PARAMETERS = {
    "elicit": ("key", "message", "fields"),
    "Elicit": ("message", "fields"),
    "elicit_url": ("key", "message", "url"),
    "ElicitUrl": ("message", "url"),
}


def _arguments_of(call: ast.Call, parameters: tuple[str, ...]) -> Iterator[tuple[str, ast.expr]]:
    if not any(isinstance(argument, ast.Starred) for argument in call.args):
        yield from zip(parameters, call.args, strict=False)
    yield from ((keyword.arg, keyword.value) for keyword in call.keywords if keyword.arg is not None)


def _evaluate(node: ast.expr, names: Mapping[str, Any]) -> tuple[bool, object]:
    """Return whether the value of an expression is known, and the value."""
    if isinstance(node, ast.Name):
        return names.get(node.id) is not None, names.get(node.id)
    try:
        return True, ast.literal_eval(node)
    except ValueError:
        return False, None


def _text_of(node: ast.expr | None, names: Mapping[str, Any], otherwise: str) -> str:
    _, value = (False, None) if node is None else _evaluate(node, names)
    return value if isinstance(value, str) else otherwise
