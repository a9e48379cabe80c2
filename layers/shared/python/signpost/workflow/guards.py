"""Guards: who may take a transition, and when."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Protocol

from signpost.model import Json, JsonObject, Principal
from signpost.records import dataclass
from signpost.workflow import expressions
from signpost.workflow.expressions import Comparison
from signpost.workflow.paths import Known

DEEPEST = 32
"""Guards within guards. What is deeper is refused like any guard that nobody understands."""


@dataclass(frozen=True, slots=True)
class Tally:
    """What there is of a kind of evidence."""

    count: int = 0
    subjects: frozenset[str] = frozenset()
    """Who gave it."""


@dataclass(frozen=True, slots=True)
class Situation:
    """What guards look at."""

    known: Known
    principal: Principal
    evidence: Mapping[str, Tally] = field(default_factory=dict[str, Tally])


type Verdict = bool | None
"""None if it cannot be said, because something is not understood. That lets nobody in, not even turned round."""


class Guard(Protocol):
    def verdict(self, situation: Situation) -> Verdict: ...


@dataclass(frozen=True, slots=True)
class Permission:
    name: str

    def verdict(self, situation: Situation) -> Verdict:
        return self.name in situation.principal.permissions


@dataclass(frozen=True, slots=True)
class Role:
    name: str

    def verdict(self, situation: Situation) -> Verdict:
        return self.name in situation.principal.roles


@dataclass(frozen=True, slots=True)
class Expression:
    text: str
    comparison: Comparison | None
    """None if it is none."""

    def verdict(self, situation: Situation) -> Verdict:
        return None if self.comparison is None else self.comparison.holds(situation.known)


@dataclass(frozen=True, slots=True)
class Required:
    kind: str
    count: int = 1
    distinct: bool = False
    """Whether each has to come from somebody else."""

    def is_met_by(self, tally: Tally) -> bool:
        return (len(tally.subjects) if self.distinct else tally.count) >= self.count


@dataclass(frozen=True, slots=True)
class Evidence:
    requires: Sequence[Required]

    def verdict(self, situation: Situation) -> Verdict:
        return all(one.is_met_by(situation.evidence.get(one.kind, Tally())) for one in self.requires)


@dataclass(frozen=True, slots=True)
class AllOf:
    guards: Sequence[Guard]

    def verdict(self, situation: Situation) -> Verdict:
        verdicts = [guard.verdict(situation) for guard in self.guards]
        if False in verdicts:
            return False
        return None if None in verdicts else True


@dataclass(frozen=True, slots=True)
class AnyOf:
    guards: Sequence[Guard]

    def verdict(self, situation: Situation) -> Verdict:
        verdicts = [guard.verdict(situation) for guard in self.guards]
        if True in verdicts:
            return True
        return None if None in verdicts else False


@dataclass(frozen=True, slots=True)
class Not:
    guard: Guard

    def verdict(self, situation: Situation) -> Verdict:
        verdict = self.guard.verdict(situation)
        return None if verdict is None else not verdict


@dataclass(frozen=True, slots=True)
class NotUnderstood:
    why: str

    def verdict(self, situation: Situation) -> Verdict:
        del situation  # there is nothing to ask it
        return None


def passes(guard: Guard, situation: Situation) -> bool:
    return guard.verdict(situation) is True


def guard_of(written: Json, depth: int = 0) -> Guard:
    """As the author wrote it. What is not understood stays one that never passes."""
    if not isinstance(written, Mapping):
        return NotUnderstood("a guard is a mapping with a `kind`")
    kind = written.get("kind")
    read = _READERS.get(kind) if isinstance(kind, str) else None
    if read is None:
        return NotUnderstood(f"there is no guard of the kind {kind!r}; there are {', '.join(KINDS)}")
    return read(written, depth) if depth < DEEPEST else NotUnderstood(f"guards are more than {DEEPEST} deep")


def guards_of(written: Json, depth: int = 0) -> Sequence[Guard]:
    if written is None:
        return ()
    if not isinstance(written, list):
        return (NotUnderstood("guards are a list"),)
    return tuple(guard_of(one, depth) for one in written)


def _named(kind: Callable[[str], Guard], member: str) -> "_Reader":
    def read(written: JsonObject, depth: int) -> Guard:
        del depth  # it holds no other guards
        name = written.get(member)
        return kind(name) if isinstance(name, str) and name else NotUnderstood(f"`{member}` must be a text")

    return read


def _expression(written: JsonObject, depth: int) -> Guard:
    del depth
    text = written.get("expr")
    return (
        Expression(text, expressions.parse(text)) if isinstance(text, str) else NotUnderstood("`expr` must be a text")
    )


def _evidence(written: JsonObject, depth: int) -> Guard:
    del depth
    requires = written.get("requires")
    if not isinstance(requires, list) or not requires:
        return NotUnderstood("`requires` must be a list of kinds of evidence")
    distinct = written.get("distinct") is True
    found = [_required(one, distinct=distinct) for one in requires]
    known = [one for one in found if one is not None]
    if len(known) < len(found):
        return NotUnderstood("what is required is a kind, or {kind, count, distinct}")
    return Evidence(tuple(known))


def _required(written: Json, *, distinct: bool) -> Required | None:
    if isinstance(written, str) and written:
        return Required(written, distinct=distinct)
    if not isinstance(written, Mapping):
        return None
    kind, count = written.get("kind"), written.get("count", 1)
    if not isinstance(kind, str) or not kind or not isinstance(count, int) or isinstance(count, bool) or count < 1:
        return None
    return Required(kind, count, distinct or written.get("distinct") is True)


def _combined(kind: Callable[[Sequence[Guard]], Guard]) -> "_Reader":
    def read(written: JsonObject, depth: int) -> Guard:
        if not isinstance(written.get("guards"), list):
            return NotUnderstood("`guards` must be a list")
        return kind(guards_of(written["guards"], depth + 1))

    return read


def _negated(written: JsonObject, depth: int) -> Guard:
    return Not(guard_of(written["guard"], depth + 1)) if "guard" in written else NotUnderstood("`guard` is missing")


type _Reader = Callable[[JsonObject, int], Guard]

_READERS: Mapping[str, _Reader] = {
    "permission": _named(Permission, "permission"),
    "role": _named(Role, "role"),
    "expr": _expression,
    "jsonpath": _expression,
    "evidence": _evidence,
    "all_of": _combined(AllOf),
    "allOf": _combined(AllOf),
    "any_of": _combined(AnyOf),
    "anyOf": _combined(AnyOf),
    "not": _negated,
}
KINDS = tuple(_READERS)
