"""The part of Jinja that templates may use: values, loops, conditions and filters.

Every template is treated as hostile: syntax that is not listed here is refused, nothing can be called, and no value can
be stored from one line to the next, where it could double in size.
"""

from collections.abc import Iterator, Mapping
from typing import Any, cast

from jinja2 import StrictUndefined, TemplateError, TemplateSyntaxError, Undefined, nodes
from jinja2.runtime import Context, LoopContext
from jinja2.sandbox import ImmutableSandboxedEnvironment

from core_skills.allowance import Allowance, Unwritable
from core_skills.template_filters import (
    LARGEST_TEXT,
    TooLong,
    charged_filters,
    charged_tests,
    check_number,
    format_value,
    join_pieces,
)
from core_skills.template_work import Work, insert_charges

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


class Refused(Exception):  # noqa: N818 - it names a refusal
    """Raised for a template that cannot be rendered; the message names the line and the fault."""


class Language(ImmutableSandboxedEnvironment):
    """The Jinja environment of one rendering: the sandbox, with fewer members, filters and tests, whose work is
    charged."""

    intercepted_binops = frozenset({"+", "-", "*", "/", "//", "%"})

    def __init__(self, work: Work) -> None:
        # Not optimized: Jinja would evaluate constant expressions at compile time, outside of the limits.
        super().__init__(
            undefined=StrictUndefined, autoescape=False, optimized=False, finalize=format_value, cache_size=0
        )
        self.globals.clear()
        self.allowed_filters = charged_filters(work)
        self.filters = self.allowed_filters | work.parts()
        self.tests = charged_tests(work)

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
        name = str(argument)[:100] if isinstance(argument, str | int) else type(argument).__name__
        return self.undefined(f"{name!r} is undefined")

    def is_safe_callable(self, obj: object) -> bool:
        del obj
        return False

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        return super().call_binop(context, operator, check_number(left), check_number(right))


def render(source: str, values: Mapping[str, object], allowance: Allowance) -> str:
    """Render a template. Raises Refused, TooLong or Exhausted."""
    language = Language(Work(allowance))
    try:
        return join_pieces(language.from_string(_parse(language, source)).generate(values))
    except TemplateSyntaxError as fault:
        raise Refused(f"Line {fault.lineno}: {_format_fault(fault)}") from None
    except (SyntaxError, RecursionError, MemoryError):
        raise Refused("It is nested too deeply; split it.") from None
    except Unwritable:
        raise Refused("It outputs something that is not a JSON value.") from None
    except TemplateError as fault:
        raise Refused(f"{_line_prefix(fault)}{_format_fault(fault)}") from None
    except (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError) as fault:
        raise Refused(f"{_line_prefix(fault)}an operation does not fit the types of its values.") from None


def _parse(language: Language, source: str) -> nodes.Template:
    template = language.parse(source)
    descendants = list(_all_nodes(template))
    for node in descendants:
        if isinstance(node, nodes.Filter) and node.name not in language.allowed_filters:
            allowed = ", ".join(sorted(language.allowed_filters))
            raise Refused(f"Line {node.lineno}: there is no filter {node.name!r}; the filters are {allowed}.")
        if not isinstance(node, ALLOWED_NODES) and not _is_list(node):
            allowed = "use values, if, for and filters"
            raise Refused(f"Line {node.lineno}: {type(node).__name__} is not allowed in templates; {allowed}.")
    insert_charges(descendants)
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
