"""What guards let through, as far as that can be said without running anything.

A comparison with a constant changes its mind only at that constant. So guards are asked, by the engine's own rules, at
the constants that they name, between them and beyond them; whoever passes there passes in truth, and where every kind
of value was asked, what passed nowhere passes never.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise, product
from json import dumps

from signpost.model import Json
from signpost.records import dataclass
from signpost.workflow.expressions import Comparison, Constant, Operand
from signpost.workflow.guards import AllOf, AnyOf, Expression, Guard, Not, NotUnderstood
from signpost.workflow.paths import Known, Path

MOST_POINTS = 4096
ANOTHER_TEXT = "\x00 another"
_SPELLED: Mapping[str, str] = {"context": "$.context", "arguments": "$.arguments", "input": "$.workflow.input"}

type Point = Mapping[Path, Json]
type ValuesOf = Callable[[Path], Sequence[Json] | None]
"""All that can be at a path, where that is known: one that is never there has null."""


@dataclass(frozen=True, slots=True)
class Likely:
    """Where somebody would look for a gap: numbers, if numbers are compared; whole ones, if they are whole."""

    def values(self, constants: Sequence[Json]) -> Sequence[Json]:
        numbers, texts, others = _sorted_out(constants)
        found: list[Json] = [*_around(numbers, between=not all(isinstance(one, int) for one in numbers))]
        if texts:
            found += [*texts, ANOTHER_TEXT]
        if any(isinstance(one, bool) for one in others):
            found += [True, False]
        return [*found, None] if None in others else found


@dataclass(frozen=True, slots=True)
class All:
    """Every kind of value that there is."""

    def values(self, constants: Sequence[Json]) -> Sequence[Json]:
        numbers, texts, _ = _sorted_out(constants)
        return [*_around(numbers or [0], between=True), *texts, ANOTHER_TEXT, True, False, None, []]


def is_understood(guard: Guard) -> bool:
    return all(
        not isinstance(one, NotUnderstood) and not (isinstance(one, Expression) and one.comparison is None)
        for one in leaves(guard)
    )


def leaves(guard: Guard) -> Iterator[Guard]:
    if isinstance(guard, AllOf | AnyOf):
        for one in guard.guards:
            yield from leaves(one)
    elif isinstance(guard, Not):
        yield from leaves(guard.guard)
    else:
        yield guard


def comparisons(guards: Iterable[Guard]) -> Iterator[Comparison]:
    for guard in guards:
        for leaf in leaves(guard):
            if isinstance(leaf, Expression) and leaf.comparison is not None:
                yield leaf.comparison


def paths_of(guards: Iterable[Guard]) -> Iterator[Path]:
    for comparison in comparisons(guards):
        yield from (operand for operand in comparison.operands if isinstance(operand, Path))


def points(guards: Sequence[Guard], asked: Likely | All, values_of: ValuesOf) -> Sequence[Point] | None:
    """None if it cannot be said, or only with more patience."""
    constants: dict[Path, list[Json]] = {}
    for comparison in comparisons(guards):
        if not _is_decidable(comparison, asked, values_of):
            return None
        left, right = comparison.left, comparison.right
        for path, other in ((left, right), (right, left)):
            if isinstance(path, Path):
                constants.setdefault(path, []).extend([other.value] if isinstance(other, Constant) else [])
    values: dict[Path, Sequence[Json]] = {}
    amount = 1
    for path, named in constants.items():
        known = values_of(path)
        values[path] = known if known is not None else asked.values(named)
        amount *= len(values[path])
    if amount > MOST_POINTS:
        return None
    return [dict(zip(values, point, strict=True)) for point in product(*values.values())]


def verdict(guards: Sequence[Guard], point: Point) -> bool | None:
    """Whether all of them pass there; None if that depends on who asks, or on evidence."""
    return _kleene([_verdict(guard, point) for guard in guards], decides=False)


def shown(point: Point, verb: str = "is") -> str:
    """What is where, in words."""
    return " and ".join(f"{spelled(path)} {verb} {_value(value)}" for path, value in point.items())


def spelled(path: Path) -> str:
    return ".".join((_SPELLED.get(path.scope, "$.output"), *path.steps))


def _value(value: Json) -> str:
    return "another text" if value == ANOTHER_TEXT else dumps(value, ensure_ascii=False)


def _is_decidable(comparison: Comparison, asked: Likely | All, values_of: ValuesOf) -> bool:
    """Two paths would have to be looked at together, and parts of texts are more than can be asked for."""
    paths = {operand for operand in comparison.operands if isinstance(operand, Path) and values_of(operand) is None}
    if len(paths) == 2:
        return False
    is_of_parts = comparison.operator in ("starts_with", "contains") and isinstance(asked, All)
    others = [operand.value for operand in comparison.operands if isinstance(operand, Constant)]
    return not paths or not is_of_parts or any(not isinstance(value, str) for value in others)


def _verdict(guard: Guard, point: Point) -> bool | None:
    match guard:
        case Expression(_, Comparison() as comparison):
            return _compared(comparison, point)
        case AllOf(guards):
            return _kleene([_verdict(one, point) for one in guards], decides=False)
        case AnyOf(guards):
            return _kleene([_verdict(one, point) for one in guards], decides=True)
        case Not(negated):
            inner = _verdict(negated, point)
            return None if inner is None else not inner
        case _:
            return None


def _kleene(verdicts: Sequence[bool | None], *, decides: bool) -> bool | None:
    if decides in verdicts:
        return decides
    return None if None in verdicts else not decides


def _compared(comparison: Comparison, point: Point) -> bool:
    """By the engine's own rule, with what is at the paths in their places."""
    at_point = Comparison(_constant(comparison.left, point), comparison.operator, _constant(comparison.right, point))
    return at_point.holds(Known({}, {}, {}))


def _constant(operand: Operand, point: Point) -> Constant:
    return operand if isinstance(operand, Constant) else Constant(point[operand])


def _sorted_out(constants: Sequence[Json]) -> tuple[Sequence[float], Sequence[str], Sequence[Json]]:
    numbers = sorted({one for one in constants if isinstance(one, int | float) and not isinstance(one, bool)})
    texts = sorted({one for one in constants if isinstance(one, str)})
    return numbers, texts, [one for one in constants if one is None or isinstance(one, bool)]


def _around(numbers: Sequence[float], *, between: bool) -> Iterable[float]:
    """The numbers, one below, one above, and something between each two of them."""
    if not numbers:
        return
    yield numbers[0] - 1
    yield from numbers
    for low, high in pairwise(numbers):
        yield low / 2 + high / 2 if between else low + 1
    yield numbers[-1] + 1
