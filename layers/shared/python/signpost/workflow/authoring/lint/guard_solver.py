"""Evaluate guards at sample values, to find out which of them always or never pass, without running anything.

The result of a comparison with a constant can change only at that constant. So guards are evaluated, by the engine's
own rules, at the constants that they name, between them and beyond them. A guard that passes at such a value passes in
the engine too. If every kind of value was sampled, a guard that passed at none of them never passes.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise, product
from json import dumps

from signpost.model import Json
from signpost.records import dataclass
from signpost.workflow.expressions import Comparison, Constant, Operand
from signpost.workflow.guards import AllOf, AnyOf, Expression, Guard, Not, NotUnderstood
from signpost.workflow.paths import Path, ValueSources

MAX_ASSIGNMENTS = 4096
ANOTHER_TEXT = "\x00 another"
_SCOPE_PREFIXES: Mapping[str, str] = {"context": "$.context", "arguments": "$.arguments", "input": "$.workflow.input"}

type Assignment = Mapping[Path, Json]
type PossibleValues = Callable[[Path], Sequence[Json] | None]
"""Returns all values that a path can have; None if they are not known. A path that never has a value has only null."""


@dataclass(frozen=True, slots=True)
class LikelyValues:
    """Samples the values at which a gap is likely: numbers if numbers are compared, integers if those are integers."""

    def sample(self, constants: Sequence[Json]) -> Sequence[Json]:
        numbers, texts, others = _partition_constants(constants)
        found: list[Json] = [
            *_sample_numbers(numbers, between=not all(isinstance(constant, int) for constant in numbers))
        ]
        if texts:
            found += [*texts, ANOTHER_TEXT]
        if any(isinstance(constant, bool) for constant in others):
            found += [True, False]
        return [*found, None] if None in others else found


@dataclass(frozen=True, slots=True)
class AllValues:
    """Samples every kind of value."""

    def sample(self, constants: Sequence[Json]) -> Sequence[Json]:
        numbers, texts, _ = _partition_constants(constants)
        return [*_sample_numbers(numbers or [0], between=True), *texts, ANOTHER_TEXT, True, False, None, []]


def is_understood(guard: Guard) -> bool:
    return all(
        not isinstance(leaf, NotUnderstood) and not (isinstance(leaf, Expression) and leaf.comparison is None)
        for leaf in leaves_of(guard)
    )


def leaves_of(guard: Guard) -> Iterator[Guard]:
    if isinstance(guard, AllOf | AnyOf):
        for inner in guard.guards:
            yield from leaves_of(inner)
    elif isinstance(guard, Not):
        yield from leaves_of(guard.guard)
    else:
        yield guard


def comparisons_in(guards: Iterable[Guard]) -> Iterator[Comparison]:
    for guard in guards:
        for leaf in leaves_of(guard):
            if isinstance(leaf, Expression) and leaf.comparison is not None:
                yield leaf.comparison


def paths_of(guards: Iterable[Guard]) -> Iterator[Path]:
    for comparison in comparisons_in(guards):
        yield from (operand for operand in comparison.operands if isinstance(operand, Path))


def find_assignments(
    guards: Sequence[Guard], sampler: LikelyValues | AllValues, values_of: PossibleValues
) -> Sequence[Assignment] | None:
    """Return the assignments at which to evaluate the guards; None if they are not decidable, or are too many."""
    constants: dict[Path, list[Json]] = {}
    for comparison in comparisons_in(guards):
        if not _is_decidable(comparison, sampler, values_of):
            return None
        left, right = comparison.left, comparison.right
        for path, operand in ((left, right), (right, left)):
            if isinstance(path, Path):
                constants.setdefault(path, []).extend([operand.value] if isinstance(operand, Constant) else [])
    values: dict[Path, Sequence[Json]] = {}
    count = 1
    for path, path_constants in constants.items():
        possible = values_of(path)
        values[path] = possible if possible is not None else sampler.sample(path_constants)
        count *= len(values[path])
    if count > MAX_ASSIGNMENTS:
        return None
    return [dict(zip(values, combination, strict=True)) for combination in product(*values.values())]


def evaluate_guards(guards: Sequence[Guard], assignment: Assignment) -> bool | None:
    """Check whether all guards pass at an assignment; None if that depends on the caller or on evidence."""
    return _combine_verdicts([_evaluate_guard(guard, assignment) for guard in guards], decides=False)


def describe_assignment(assignment: Assignment, verb: str = "is") -> str:
    """Describe an assignment in words."""
    return " and ".join(f"{spell_path(path)} {verb} {_describe_value(value)}" for path, value in assignment.items())


def spell_path(path: Path) -> str:
    return ".".join((_SCOPE_PREFIXES.get(path.scope, "$.output"), *path.steps))


def _describe_value(value: Json) -> str:
    return "any other text" if value == ANOTHER_TEXT else dumps(value, ensure_ascii=False)


def _is_decidable(comparison: Comparison, sampler: LikelyValues | AllValues, values_of: PossibleValues) -> bool:
    """Check whether samples decide a comparison.

    Two paths with unknown values would have to be varied together, and parts of texts have too many values.
    """
    paths = {operand for operand in comparison.operands if isinstance(operand, Path) and values_of(operand) is None}
    if len(paths) == 2:
        return False
    compares_parts = comparison.operator in ("starts_with", "contains") and isinstance(sampler, AllValues)
    constants = [operand.value for operand in comparison.operands if isinstance(operand, Constant)]
    return not paths or not compares_parts or any(not isinstance(value, str) for value in constants)


def _evaluate_guard(guard: Guard, assignment: Assignment, *, passes: bool = True) -> bool | None:
    """Check whether a guard passes at an assignment or, if not `passes`, whether its negation does. A comparison of
    values that cannot be compared does neither."""
    match guard:
        case Expression(_, Comparison() as comparison):
            return _evaluate_comparison(comparison, assignment) is passes
        case AllOf(guards) | AnyOf(guards):
            verdicts = [_evaluate_guard(inner, assignment, passes=passes) for inner in guards]
            return _combine_verdicts(verdicts, decides=isinstance(guard, AnyOf) is passes)
        case Not(negated):
            return _evaluate_guard(negated, assignment, passes=not passes)
        case _:
            return None


def _combine_verdicts(verdicts: Sequence[bool | None], *, decides: bool) -> bool | None:
    if decides in verdicts:
        return decides
    return None if None in verdicts else not decides


def _evaluate_comparison(comparison: Comparison, assignment: Assignment) -> bool | None:
    """Evaluate a comparison by the engine's own rule, with the values of the assignment in place of the paths."""
    substituted = Comparison(
        _constant_at(comparison.left, assignment), comparison.operator, _constant_at(comparison.right, assignment)
    )
    return substituted.holds(ValueSources({}, {}, {}))


def _constant_at(operand: Operand, assignment: Assignment) -> Constant:
    return operand if isinstance(operand, Constant) else Constant(assignment[operand])


def _partition_constants(constants: Sequence[Json]) -> tuple[Sequence[float], Sequence[str], Sequence[Json]]:
    numbers = sorted(
        {constant for constant in constants if isinstance(constant, int | float) and not isinstance(constant, bool)}
    )
    texts = sorted({constant for constant in constants if isinstance(constant, str)})
    return numbers, texts, [constant for constant in constants if constant is None or isinstance(constant, bool)]


def _sample_numbers(numbers: Sequence[float], *, between: bool) -> Iterable[float]:
    """Yield the numbers, one below, one above, and one between each two neighbours."""
    if not numbers:
        return
    yield numbers[0] - 1
    yield from numbers
    for low, high in pairwise(numbers):
        yield low / 2 + high / 2 if between else low + 1
    yield numbers[-1] + 1
