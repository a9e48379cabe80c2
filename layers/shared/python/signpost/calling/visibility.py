"""Conditions of visibility: the data by which the author of a function says to which principals lists show it."""

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import cast

from signpost.model import Json, Principal, as_object

DEEPEST_CONDITION = 4
"""The number of conditions that may stand inside of each other."""
LONGEST_WORD = 200
"""Characters of the name of a grant, permission, role or claim."""


def fault_of_condition(value: object, depth: int = 1) -> str | None:
    """Return the fault of a condition, as words that follow its name, or None."""
    if not isinstance(value, Mapping):
        return f"is not an object with one of {', '.join(_FORMS)}"
    condition = cast("Mapping[object, object]", value)
    if len(condition) != 1 or (kind := next(iter(condition))) not in _FORMS:
        return f"must have exactly one of {', '.join(_FORMS)}"
    if depth > DEEPEST_CONDITION:
        return f"is nested more than {DEEPEST_CONDITION} deep"
    return _FORMS[str(kind)](condition[kind], depth)


def _fault_of_word(value: object, _depth: int) -> str | None:
    fits = isinstance(value, str) and bool(value.strip()) and len(value) <= LONGEST_WORD
    return None if fits else f"has a name that is not a text of 1 to {LONGEST_WORD} characters"


def _fault_of_claim(value: object, depth: int) -> str | None:
    if not isinstance(value, Mapping) or not value:
        return "has a claim that is not an object of names and texts"
    claims = cast("Mapping[object, object]", value)
    faults = (_fault_of_word(word, depth) for item in claims.items() for word in item)
    return next(filter(None, faults), None)


def _fault_of_conditions(value: object, depth: int) -> str | None:
    if not isinstance(value, list | tuple) or not value:
        return "has `any` or `all` without a list of conditions"
    faults = (fault_of_condition(condition, depth + 1) for condition in cast("list[object]", value))
    return next(filter(None, faults), None)


_FORMS: Mapping[str, Callable[[object, int], str | None]] = {
    "grant": _fault_of_word,
    "permission": _fault_of_word,
    "role": _fault_of_word,
    "claim": _fault_of_claim,
    "any": _fault_of_conditions,
    "all": _fault_of_conditions,
}
"""The forms of a condition, with the check of the value of each."""

type _Test = Callable[[Json, Principal, AbstractSet[str]], bool]


def is_met(condition: Json, principal: Principal, held: AbstractSet[str]) -> bool:
    """Tell whether the principal meets the condition. `held` are the names of its grants. A condition in a form of a
    later release is not met, so that the function stays hidden."""
    fields = as_object(condition)
    return len(fields) == 1 and all(
        kind in _TESTS and _TESTS[kind](value, principal, held) for kind, value in fields.items()
    )


def needs_grants(condition: Json) -> bool:
    """Tell whether the grants of a principal can decide about the condition."""
    fields = as_object(condition)
    return "grant" in fields or any(map(needs_grants, (*_parts_of(fields.get("any")), *_parts_of(fields.get("all")))))


def _has_claims(value: Json, principal: Principal) -> bool:
    """Tell whether each claim that is named has the value, or is a list with the value."""
    wanted = as_object(value)
    return bool(wanted) and all(_has_value(principal.claims.get(name), one) for name, one in wanted.items())


def _has_value(claim: Json, value: Json) -> bool:
    return value in _parts_of(claim) or (isinstance(claim, str) and claim == value)


def _parts_of(value: Json) -> Sequence[Json]:
    return value if isinstance(value, list | tuple) else ()


def _meets_all(value: Json, principal: Principal, held: AbstractSet[str]) -> bool:
    parts = _parts_of(value)
    return bool(parts) and all(is_met(part, principal, held) for part in parts)


_TESTS: Mapping[str, _Test] = {
    "grant": lambda name, _, held: name in held,
    "permission": lambda name, principal, _: name in principal.permissions,
    "role": lambda name, principal, _: name in principal.roles,
    "claim": lambda value, principal, _: _has_claims(value, principal),
    "any": lambda value, principal, held: any(is_met(part, principal, held) for part in _parts_of(value)),
    "all": _meets_all,
}
"""The decision about each form of a condition."""
