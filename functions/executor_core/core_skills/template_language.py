"""The part of Jinja that templates may use: values, loops, conditions and filters.

Every template is treated as hostile: syntax that is not listed here is refused, nothing can be called, and no value can
be stored from one line to the next, where it could double in size.
"""

from collections.abc import Iterator, Mapping
from typing import Any, cast

from jinja2 import StrictUndefined, TemplateError, TemplateSyntaxError, Undefined, nodes
from jinja2.runtime import Context, LoopContext
from jinja2.sandbox import ImmutableSandboxedEnvironment

from core_skills.allowance import Unwritable
from core_skills.template_filters import LARGEST_TEXT, TooLong, check_number, filters, format_value, join_pieces

__all__ = ["LARGEST_TEXT", "Refused", "TooLong", "render"]

ALLOWED_NODES = (
    nodes.Add, nodes.And, nodes.Compare, nodes.CondExpr, nodes.Const, nodes.Div, nodes.Filter, nodes.FloorDiv,
    nodes.For, nodes.Getattr, nodes.Getitem, nodes.If, nodes.Keyword, nodes.Mod, nodes.Mul, nodes.Name, nodes.Neg,
    nodes.Not, nodes.Operand, nodes.Or, nodes.Output, nodes.Pos, nodes.Slice, nodes.Sub, nodes.Template,
    nodes.TemplateData, nodes.Test,
)  # fmt: skip
LIST_NODES = (nodes.List, nodes.Tuple)
"""Allowed if their items are constants, or the names that a loop assigns."""
LOOP_MEMBERS = frozenset(
    {"first", "index", "index0", "last", "length", "nextitem", "previtem", "revindex", "revindex0"}
)
UNUSED_TESTS = ("callable", "filter", "test")
"""Tests that ask about Jinja and not about a value."""


class Refused(Exception):  # noqa: N818 - it names a refusal
    """Raised for a template that cannot be rendered; the message names the line and the fault."""


class Language(ImmutableSandboxedEnvironment):
    """The Jinja environment of templates: the sandbox, with fewer members, filters and tests."""

    intercepted_binops = frozenset({"+", "-", "*", "/", "//", "%"})

    def __init__(self) -> None:
        # Not optimized: Jinja would evaluate constant expressions at compile time, outside of the limits.
        super().__init__(
            undefined=StrictUndefined, autoescape=False, optimized=False, finalize=format_value, cache_size=0
        )
        self.globals.clear()
        self.filters = filters()
        for name in UNUSED_TESTS:
            del self.tests[name]

    def getattr(self, obj: Any, attribute: str) -> Any:
        if isinstance(obj, LoopContext) and attribute in LOOP_MEMBERS:
            return super().getattr(obj, attribute)
        return self.getitem(obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        """Read a member or an item of a JSON value, and never an attribute of its Python object."""
        if isinstance(obj, Undefined):
            return obj
        if type(obj) in (dict, list, str, tuple):
            try:
                return obj[argument]
            except (TypeError, LookupError):
                pass  # reported below
        return self.undefined(f"{str(argument)[:100]!r} is undefined")

    def is_safe_callable(self, obj: object) -> bool:
        del obj
        return False

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        return super().call_binop(context, operator, check_number(left), check_number(right))


LANGUAGE = Language()


def render(source: str, values: Mapping[str, object]) -> str:
    """Render a template. Raises Refused, or TooLong."""
    try:
        return join_pieces(LANGUAGE.from_string(_parse(source)).generate(values))
    except TemplateSyntaxError as fault:
        raise Refused(f"Line {fault.lineno}: {_format_fault(fault)}") from None
    except (SyntaxError, RecursionError, MemoryError):
        raise Refused("It is nested too deeply; split it.") from None
    except Unwritable:
        raise Refused("It outputs something that is not a JSON value.") from None
    except TemplateError as fault:
        raise Refused(f"{_line_prefix(fault)}{_format_fault(fault)}") from None
    except (ArithmeticError, AssertionError, LookupError, TypeError, ValueError) as fault:
        raise Refused(f"{_line_prefix(fault)}an operation does not fit the types of its values.") from None


def _parse(source: str) -> nodes.Template:
    template = LANGUAGE.parse(source)
    for node in _all_nodes(template):
        if isinstance(node, nodes.Filter) and node.name not in LANGUAGE.filters:
            allowed = ", ".join(sorted(LANGUAGE.filters))
            raise Refused(f"Line {node.lineno}: there is no filter {node.name!r}; the filters are {allowed}.")
        if not isinstance(node, ALLOWED_NODES) and not _is_list(node):
            allowed = "use values, if, for and filters"
            raise Refused(f"Line {node.lineno}: {type(node).__name__} is not allowed in templates; {allowed}.")
    return template


def _all_nodes(node: nodes.Node) -> Iterator[nodes.Node]:
    pending = [node]
    while pending:
        descendant = pending.pop()
        yield descendant
        pending.extend(descendant.iter_child_nodes())


def _is_list(node: nodes.Node) -> bool:
    items = cast("list[nodes.Node]", node.items) if isinstance(node, LIST_NODES) else [node]
    return all(isinstance(item, nodes.Const) or _is_loop_target(item) for item in items)


def _is_loop_target(node: nodes.Node) -> bool:
    return isinstance(node, nodes.Name) and node.ctx == "store"


def _format_fault(fault: TemplateError) -> str:
    return f"{(fault.message or 'it cannot be rendered').rstrip('.')}."


def _line_prefix(fault: BaseException) -> str:
    lines, trace = list[int](), fault.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == "<template>":
            lines.append(trace.tb_lineno)
        trace = trace.tb_next
    return f"Line {lines[-1]}: " if lines else ""
