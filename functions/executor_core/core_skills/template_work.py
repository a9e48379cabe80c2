"""Charges the work of a template to an allowance: iterations of loops, filters, tests, comparisons and slices.

The tree of a template is changed before it is compiled: every loop reads its items through a filter that charges its
body for each item, and every comparison and slice becomes a filter of its own. Authors cannot write these names.
"""

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import wraps
from itertools import pairwise
from typing import Any, cast

from jinja2 import nodes

from core_skills.allowance import Allowance, Unwritable, length_of

LOOP, COMPARISON, SLICE = "!loop", "!comparison", "!slice"
"""Names of filters that no template can contain."""
COMPARISONS: Mapping[str, Callable[[Any, Any], object]] = {
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "lteq": operator.le, "gt": operator.gt,
    "gteq": operator.ge, "in": lambda item, items: item in items, "notin": lambda item, items: item not in items,
}  # fmt: skip
COMPARING_TESTS: Mapping[str, str] = {
    "!=": "ne", "<": "lt", "<=": "lteq", "==": "eq", ">": "gt", ">=": "gteq", "eq": "eq", "equalto": "eq",
    "ge": "gteq", "greaterthan": "gt", "gt": "gt", "in": "in", "le": "lteq", "lessthan": "lt", "lt": "lt", "ne": "ne",
}  # fmt: skip
CONSTANT_WORK = frozenset({"count", "d", "default", "first", "last", "length"})
"""Filters that do not read their whole input."""
SHALLOW = frozenset({
    "abs", "float", "int", "items", "list", "map", "reject", "rejectattr", "reverse", "round", "select", "selectattr",
    "sum",
})  # fmt: skip
"""Filters that read the items of their input and not the parts of these items."""
CONTAINERS = (dict, list, tuple)


class Work:
    """Charges what the parts of one template do."""

    def __init__(self, allowance: Allowance) -> None:
        self._allowance = allowance

    def parts(self) -> dict[str, Callable[..., object]]:
        """Return the filters that take the place of loops, comparisons and slices."""
        return {LOOP: self._read_items, COMPARISON: self.compare_all, SLICE: self._measure}

    def charge_filter(self, name: str, run: Callable[..., Any]) -> Callable[..., Any]:
        """Charge a filter or test for its input, its texts and its result. Jinja passes some of them the context
        first."""
        if name in CONSTANT_WORK:
            return run
        place = 1 if hasattr(run, "jinja_pass_arg") else 0

        @wraps(run)
        def charged(*arguments: Any, **named: Any) -> Any:
            rest = [*arguments[place + 1 :], *named.values()]
            value = self._take_for_input(arguments[place], sum(map(_work_of_option, rest)), is_shallow=name in SHALLOW)
            result: Any = run(*arguments[:place], value, *arguments[place + 1 :], **named)
            self._allowance.take(length_of(result))
            return result

        return charged

    def comparing_test(self, name: str) -> Callable[[Any, Any], object]:
        """Build a test that compares."""
        return lambda left, right: self._compare(COMPARING_TESTS[name], left, right)

    def compare_all(self, left: Any, operators: Sequence[str], *others: Any) -> object:
        """Compare a chain of values, such as `1 < a < 3`."""
        result: object = True
        for name, (one, other) in zip(operators, pairwise((left, *others)), strict=True):
            result = self._compare(name, one, other)
            if not result:
                break
        return result

    def _compare(self, name: str, left: Any, right: Any) -> object:
        values = list(cast("Iterator[object]", right)) if name in ("in", "notin") and _is_iterator(right) else right
        self._allowance.take(length_of(left) + length_of(values))
        if isinstance(left, CONTAINERS):
            self._take_for_all(values)
        return COMPARISONS[name](left, values)

    def _read_items(self, items: Any, body: int) -> Iterable[object]:
        return self._allowance.take_each(items, body)

    def _measure(self, value: Any) -> Any:
        self._allowance.take(length_of(value))
        return value

    def _take_for_input(self, value: Any, option: int, *, is_shallow: bool) -> Any:
        """Charge the input of a filter, and `option` for each of its items."""
        if _is_iterator(value):
            return self._allowance.take_each(cast("Iterator[object]", value), 1 + option)
        self._allowance.take((1 + option) * length_of(value))
        if not is_shallow:
            self._take_for_all(value)
        return value

    def _take_for_all(self, value: object) -> None:
        """Charge the parts of a value. One that is not JSON, such as a list with an undefined name, is only an item."""
        try:
            if isinstance(value, CONTAINERS):
                self._allowance.take_for(cast("object", value))
        except Unwritable:
            self._allowance.take(1)


def insert_charges(descendants: Sequence[nodes.Node]) -> None:
    """Put the filters of `Work` into a tree, given its nodes with parents before children."""
    sizes = dict[int, int]()
    for node in reversed(descendants):
        sizes[id(node)] = 1 + sum(sizes[id(child)] for child in node.iter_child_nodes())
    for node in reversed(descendants):
        for name, value in list(node.iter_fields()):
            if isinstance(value, nodes.Node):
                setattr(node, name, _replacement(value))
            elif isinstance(value, list):
                setattr(node, name, [_replacement(part) for part in cast("list[object]", value)])
        if isinstance(node, nodes.For):
            node.iter = _filter(node.iter, LOOP, [nodes.Const(sizes[id(node)])])


def _replacement(node: object) -> Any:
    match node:
        case nodes.Compare():
            operators = nodes.Const(tuple(operand.op for operand in node.ops))
            return _filter(node.expr, COMPARISON, [operators, *(operand.expr for operand in node.ops)])
        case nodes.Getitem(arg=nodes.Slice()):
            return _filter(node, SLICE, [])
        case _:
            return node


def _filter(node: Any, name: str, arguments: list[Any]) -> nodes.Filter:
    return nodes.Filter(node, name, arguments, [], None, None, lineno=node.lineno, environment=node.environment)


def _is_iterator(value: object) -> bool:
    return isinstance(value, Iterator)


def _work_of_option(option: object) -> int:
    """Estimate the work that an option of a filter adds for each item: a path of names has many parts."""
    return length_of(option) - 1 + option.count(".") + option.count(",") if isinstance(option, str) else 0
