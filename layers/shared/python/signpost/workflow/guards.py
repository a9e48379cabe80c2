"""Guards: the conditions on principal, values and evidence under which a transition may be taken."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Protocol

from signpost.model import Json, JsonObject, Principal
from signpost.records import dataclass
from signpost.workflow import expressions
from signpost.workflow.expressions import Comparison
from signpost.workflow.paths import ValueSources

MAX_GUARD_DEPTH = 32
"""How deep guards may contain guards. A deeper guard is refused like any guard that is not understood."""
TOO_DEEP = f"the guard is nested more than {MAX_GUARD_DEPTH} levels deep"


@dataclass(frozen=True, slots=True)
class Tally:
    """How much evidence of one kind there is."""

    count: int = 0
    subjects: frozenset[str] = frozenset()
    """The subjects that gave it."""


@dataclass(frozen=True, slots=True)
class GuardInput:
    """The values, principal and evidence that guards are evaluated against."""

    sources: ValueSources
    principal: Principal
    evidence: Mapping[str, Tally] = field(default_factory=dict[str, Tally])


type Verdict = bool | None
"""None if part of the guard is not understood, or compares values that cannot be compared, so that it has no result.
It never passes then, not even negated."""


class Guard(Protocol):
    def verdict(self, guard_input: GuardInput) -> Verdict: ...


@dataclass(frozen=True, slots=True)
class Permission:
    name: str

    def verdict(self, guard_input: GuardInput) -> Verdict:
        return self.name in guard_input.principal.permissions


@dataclass(frozen=True, slots=True)
class Role:
    name: str

    def verdict(self, guard_input: GuardInput) -> Verdict:
        return self.name in guard_input.principal.roles


@dataclass(frozen=True, slots=True)
class Expression:
    text: str
    comparison: Comparison | None
    """None if the text is no comparison."""

    def verdict(self, guard_input: GuardInput) -> Verdict:
        return None if self.comparison is None else self.comparison.holds(guard_input.sources)


@dataclass(frozen=True, slots=True)
class EvidenceRequirement:
    kind: str
    count: int = 1
    distinct: bool = False
    """Whether each piece of evidence has to come from a different subject."""

    def is_met_by(self, tally: Tally) -> bool:
        return (len(tally.subjects) if self.distinct else tally.count) >= self.count


@dataclass(frozen=True, slots=True)
class Evidence:
    requires: Sequence[EvidenceRequirement]

    def verdict(self, guard_input: GuardInput) -> Verdict:
        return all(required.is_met_by(guard_input.evidence.get(required.kind, Tally())) for required in self.requires)


@dataclass(frozen=True, slots=True)
class AllOf:
    guards: Sequence[Guard]

    def verdict(self, guard_input: GuardInput) -> Verdict:
        verdicts = [guard.verdict(guard_input) for guard in self.guards]
        if False in verdicts:
            return False
        return None if None in verdicts else True


@dataclass(frozen=True, slots=True)
class AnyOf:
    guards: Sequence[Guard]

    def verdict(self, guard_input: GuardInput) -> Verdict:
        verdicts = [guard.verdict(guard_input) for guard in self.guards]
        if True in verdicts:
            return True
        return None if None in verdicts else False


@dataclass(frozen=True, slots=True)
class Not:
    guard: Guard

    def verdict(self, guard_input: GuardInput) -> Verdict:
        verdict = self.guard.verdict(guard_input)
        return None if verdict is None else not verdict


@dataclass(frozen=True, slots=True)
class NotUnderstood:
    why: str

    def verdict(self, guard_input: GuardInput) -> Verdict:
        del guard_input  # no input makes it pass
        return None


def reads_principal_only(guard: Guard) -> bool:
    """Return whether the verdict depends on nothing but the principal: neither on values nor on evidence."""
    match guard:
        case Permission() | Role():
            return True
        case AllOf(guards) | AnyOf(guards):
            return all(reads_principal_only(inner) for inner in guards)
        case Not(inner):
            return reads_principal_only(inner)
        case _:
            return False


def passes(guard: Guard, guard_input: GuardInput) -> bool:
    return guard.verdict(guard_input) is True


def guard_of(raw: Json, depth: int = 0) -> Guard:
    """Read a guard as its author wrote it. One that is not understood becomes a guard that never passes."""
    if not isinstance(raw, Mapping):
        return NotUnderstood("a guard must be a mapping with a `kind`")
    kind = raw.get("kind")
    reader = _READERS.get(kind) if isinstance(kind, str) else None
    if reader is None:
        return NotUnderstood(f"there is no guard of the kind {kind!r}; the kinds are {', '.join(KINDS)}")
    return reader(raw, depth) if depth < MAX_GUARD_DEPTH else NotUnderstood(TOO_DEEP)


def guards_of(raw: Json, depth: int = 0) -> Sequence[Guard]:
    if raw is None:
        return ()
    if not isinstance(raw, list):
        return (NotUnderstood("guards must be a list"),)
    return tuple(guard_of(raw_guard, depth) for raw_guard in raw)


def _build_named_reader(kind: Callable[[str], Guard], member: str) -> "_GuardReader":
    def read(raw: JsonObject, depth: int) -> Guard:
        del depth  # it holds no other guards
        name = raw.get(member)
        return kind(name) if isinstance(name, str) and name else NotUnderstood(f"`{member}` must be a text")

    return read


def _read_expression(raw: JsonObject, depth: int) -> Guard:
    del depth
    text = raw.get("expr")
    return (
        Expression(text, expressions.parse(text)) if isinstance(text, str) else NotUnderstood("`expr` must be a text")
    )


def _read_evidence(raw: JsonObject, depth: int) -> Guard:
    del depth
    requires = raw.get("requires")
    if not isinstance(requires, list) or not requires:
        return NotUnderstood("`requires` must be a list of kinds of evidence")
    distinct = raw.get("distinct") is True
    requirements = [_read_requirement(entry, distinct=distinct) for entry in requires]
    understood = [requirement for requirement in requirements if requirement is not None]
    if len(understood) < len(requirements):
        return NotUnderstood("each entry of `requires` must be a kind of evidence, or {kind, count, distinct}")
    return Evidence(tuple(understood))


def _read_requirement(raw: Json, *, distinct: bool) -> EvidenceRequirement | None:
    if isinstance(raw, str) and raw:
        return EvidenceRequirement(raw, distinct=distinct)
    if not isinstance(raw, Mapping):
        return None
    kind, count = raw.get("kind"), raw.get("count", 1)
    if not isinstance(kind, str) or not kind or not isinstance(count, int) or isinstance(count, bool) or count < 1:
        return None
    return EvidenceRequirement(kind, count, distinct or raw.get("distinct") is True)


def _build_combined_reader(kind: Callable[[Sequence[Guard]], Guard]) -> "_GuardReader":
    def read(raw: JsonObject, depth: int) -> Guard:
        if not isinstance(raw.get("guards"), list):
            return NotUnderstood("`guards` must be a list")
        return kind(guards_of(raw["guards"], depth + 1))

    return read


def _read_negation(raw: JsonObject, depth: int) -> Guard:
    return Not(guard_of(raw["guard"], depth + 1)) if "guard" in raw else NotUnderstood("`guard` is missing")


type _GuardReader = Callable[[JsonObject, int], Guard]

_READERS: Mapping[str, _GuardReader] = {
    "permission": _build_named_reader(Permission, "permission"),
    "role": _build_named_reader(Role, "role"),
    "expr": _read_expression,
    "jsonpath": _read_expression,
    "evidence": _read_evidence,
    "all_of": _build_combined_reader(AllOf),
    "allOf": _build_combined_reader(AllOf),
    "any_of": _build_combined_reader(AnyOf),
    "anyOf": _build_combined_reader(AnyOf),
    "not": _read_negation,
}
KINDS = tuple(_READERS)
