"""Reduces guards to those on the principal, so that a list can evaluate them without the values of a run."""

from collections.abc import Sequence

from signpost.model import JsonObject
from signpost.workflow.guards import AllOf, AnyOf, Guard, GuardInput, Not, Permission, Role, Verdict

PASSES: JsonObject = {"kind": "all_of", "guards": []}
FAILS: JsonObject = {"kind": "any_of", "guards": []}
NEVER: JsonObject = {"kind": "never"}
"""A guard that is not understood: it never passes, not even negated."""


def reduce_guards(guards: Sequence[Guard], values: GuardInput) -> Sequence[JsonObject]:
    """Return guards, as an author would write them, that give each principal the same verdicts for these values.

    Guards on values and evidence, and not on the principal, are replaced by their results."""
    return [_reduce(guard, values) for guard in guards]


def _reduce(guard: Guard, values: GuardInput) -> JsonObject:
    match guard:
        case Permission(name):
            return {"kind": "permission", "permission": name}
        case Role(name):
            return {"kind": "role", "role": name}
        case AllOf(guards):
            return {"kind": "all_of", "guards": reduce_guards(guards, values)}
        case AnyOf(guards):
            return {"kind": "any_of", "guards": reduce_guards(guards, values)}
        case Not(inner):
            return {"kind": "not", "guard": _reduce(inner, values)}
        case _:
            return _constant_of(guard.verdict(values))


def _constant_of(verdict: Verdict) -> JsonObject:
    if verdict is None:
        return NEVER
    return PASSES if verdict else FAILS
