"""The part of Jinja that templates may use: values, loops, conditions and filters.

A template that comes from anywhere is read as one that means harm: what is not listed here is refused, nothing can be
called, and nothing can be kept from one line to the next, where it could double.
"""

from collections.abc import Iterator, Mapping
from typing import Any, cast

from jinja2 import StrictUndefined, TemplateError, TemplateSyntaxError, Undefined, nodes
from jinja2.runtime import Context, LoopContext
from jinja2.sandbox import ImmutableSandboxedEnvironment

from core_skills.allowance import Unwritable
from core_skills.template_filters import LARGEST_TEXT, TooLong, filters, joined, number, shown

__all__ = ["LARGEST_TEXT", "Refused", "TooLong", "rendered"]

PLAIN = (
    nodes.Add, nodes.And, nodes.Compare, nodes.CondExpr, nodes.Const, nodes.Div, nodes.Filter, nodes.FloorDiv,
    nodes.For, nodes.Getattr, nodes.Getitem, nodes.If, nodes.Keyword, nodes.Mod, nodes.Mul, nodes.Name, nodes.Neg,
    nodes.Not, nodes.Operand, nodes.Or, nodes.Output, nodes.Pos, nodes.Slice, nodes.Sub, nodes.Template,
    nodes.TemplateData, nodes.Test,
)  # fmt: skip
LISTS = (nodes.List, nodes.Tuple)
"""Of constants, or of the names that a loop gives."""
LOOP = frozenset({"first", "index", "index0", "last", "length", "nextitem", "previtem", "revindex", "revindex0"})
UNUSED_TESTS = ("callable", "filter", "test")
"""They ask about Jinja and not about a value."""


class Refused(Exception):  # noqa: N818 - it says what was done with the template
    """The template cannot be rendered; the message names the line and what is wrong there."""


class Language(ImmutableSandboxedEnvironment):
    intercepted_binops = frozenset({"+", "-", "*", "/", "//", "%"})

    def __init__(self) -> None:
        # What is constant is not worked out in advance: that would happen outside of what is watched.
        super().__init__(undefined=StrictUndefined, autoescape=False, optimized=False, finalize=shown, cache_size=0)
        self.globals.clear()
        self.filters = filters()
        for name in UNUSED_TESTS:
            del self.tests[name]

    def getattr(self, obj: Any, attribute: str) -> Any:
        if isinstance(obj, LoopContext) and attribute in LOOP:
            return super().getattr(obj, attribute)
        return self.getitem(obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        """What JSON has, and nothing of the objects that stand for it."""
        if isinstance(obj, Undefined):
            return obj
        if type(obj) in (dict, list, str, tuple):
            try:
                return obj[argument]
            except (TypeError, LookupError):
                pass  # said below
        return self.undefined(f"{str(argument)[:100]!r} is not there")

    def is_safe_callable(self, obj: object) -> bool:
        del obj
        return False

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        return super().call_binop(context, operator, number(left), number(right))


LANGUAGE = Language()


def rendered(source: str, values: Mapping[str, object]) -> str:
    """Raises Refused, TooLong."""
    try:
        return joined(LANGUAGE.from_string(_parsed(source)).generate(values))
    except TemplateSyntaxError as fault:
        raise Refused(f"Line {fault.lineno}: {_sentence(fault)}") from None
    except (SyntaxError, RecursionError, MemoryError):
        raise Refused("It is nested too deeply; take it apart.") from None
    except Unwritable:
        raise Refused("It shows something that is no value.") from None
    except TemplateError as fault:
        raise Refused(f"{_place_of(fault)}{_sentence(fault)}") from None
    except (ArithmeticError, AssertionError, LookupError, TypeError, ValueError) as fault:
        raise Refused(f"{_place_of(fault)}the values do not go together with what is done with them.") from None


def _parsed(source: str) -> nodes.Template:
    template = LANGUAGE.parse(source)
    for node in _all(template):
        if isinstance(node, nodes.Filter) and node.name not in LANGUAGE.filters:
            there = ", ".join(sorted(LANGUAGE.filters))
            raise Refused(f"Line {node.lineno}: there is no filter {node.name!r}; there are {there}.")
        if not isinstance(node, PLAIN) and not _is_list(node):
            there = "which have values, if, for and filters"
            raise Refused(f"Line {node.lineno}: {type(node).__name__} is not for templates here, {there}.")
    return template


def _all(node: nodes.Node) -> Iterator[nodes.Node]:
    waiting = [node]
    while waiting:
        one = waiting.pop()
        yield one
        waiting.extend(one.iter_child_nodes())


def _is_list(node: nodes.Node) -> bool:
    items = cast("list[nodes.Node]", node.items) if isinstance(node, LISTS) else [node]
    return all(isinstance(item, nodes.Const) or _is_given_by_a_loop(item) for item in items)


def _is_given_by_a_loop(node: nodes.Node) -> bool:
    return isinstance(node, nodes.Name) and node.ctx == "store"


def _sentence(fault: TemplateError) -> str:
    return f"{(fault.message or 'it cannot be rendered').rstrip('.')}."


def _place_of(fault: BaseException) -> str:
    lines, trace = list[int](), fault.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == "<template>":
            lines.append(trace.tb_lineno)
        trace = trace.tb_next
    return f"Line {lines[-1]}: " if lines else ""
