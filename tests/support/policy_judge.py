"""Evaluates requests by IAM policies as AWS documents it: an explicit denial wins, then an explicit permission, and a
request that no statement allows is denied.

It is small on purpose. It knows the identity policies of one caller, and the operators that the template uses with
closely related ones. Any other element of a policy raises an error: skipping it would give a wrong answer.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal, cast

type Values = Sequence[str]
type Context = Mapping[str, Values]
"""Condition keys in lower case with their values. A key that is absent in a request is absent here."""

SET_OPERATORS = ("", "ForAllValues", "ForAnyValue")
ELEMENTS = {"Sid", "Effect", "Action", "Resource", "Condition"}


class UnknownPolicyError(Exception):
    """A policy has an element that this module cannot evaluate."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request to AWS: an action on a resource, with condition keys."""

    action: str
    resource: str
    context: Context = field(default_factory=dict[str, Values])


@dataclass(frozen=True, slots=True)
class Condition:
    """One operator with one key; all conditions of a statement have to hold."""

    operator: str
    key: str
    expected: Values


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement of a policy."""

    sid: str
    effect: Literal["Allow", "Deny"]
    actions: Values
    resources: Values
    conditions: Sequence[Condition] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """The decision about a request, and the statement that made it; no statement makes a denial by default."""

    decision: Literal["Allow", "Deny", "ImplicitDeny"]
    sid: str = ""

    @property
    def is_allowed(self) -> bool:
        return self.decision == "Allow"


def judge(statements: Sequence[Statement], request: Request) -> Verdict:
    """Decide one request by all statements of its caller."""
    allowing: Statement | None = None
    for statement in statements:
        if statement.effect == "Deny" or allowing is None:
            if not applies(statement, request):
                continue
            if statement.effect == "Deny":
                return Verdict("Deny", statement.sid)
            allowing = statement
    return Verdict("Allow", allowing.sid) if allowing else Verdict("ImplicitDeny")


def applies(statement: Statement, request: Request) -> bool:
    """Return whether a statement applies to a request. Actions are compared without case, resources with case."""
    action = request.action.lower()
    return (
        any(_is_like(action, pattern.lower()) for pattern in statement.actions)
        and any(_is_like(request.resource, pattern) for pattern in statement.resources)
        and all(_holds(condition, request.context) for condition in statement.conditions)
    )


def read_policy(document: Mapping[str, Any]) -> Sequence[Statement]:
    """Read the statements of a policy document."""
    return [_read_statement(statement) for statement in _listed(document["Statement"])]


def _read_statement(written: Mapping[str, Any]) -> Statement:
    sid = str(written.get("Sid", ""))
    if unknown := written.keys() - ELEMENTS:
        raise UnknownPolicyError(f"Statement {sid!r} has {', '.join(sorted(unknown))}.")
    if written["Effect"] not in ("Allow", "Deny"):
        raise UnknownPolicyError(f"Statement {sid!r} has the effect {written['Effect']!r}.")
    actions, resources = (tuple(map(str, _listed(written[name]))) for name in ("Action", "Resource"))
    texts = [
        resource for resource in _listed(written["Resource"]) if isinstance(resource, str)
    ]  # a template also has intrinsic functions
    if "${" in str((texts, written.get("Condition"))):
        raise UnknownPolicyError(f"Statement {sid!r} has a policy variable.")
    return Statement(sid, written["Effect"], actions, resources, _read_conditions(sid, written.get("Condition", {})))


def _read_conditions(sid: str, written: Mapping[str, Mapping[str, Any]]) -> Sequence[Condition]:
    conditions: list[Condition] = []
    for operator, keys in written.items():
        every, name, _ = _parts(operator)
        if (name not in OPERATORS or every not in SET_OPERATORS) and operator != "Null":
            raise UnknownPolicyError(f"Statement {sid!r} has the operator {operator!r}.")
        for key, expected in keys.items():
            texts = tuple(str(value).lower() if isinstance(value, bool) else str(value) for value in _listed(expected))
            conditions.append(Condition(operator, key.lower(), texts))
    return tuple(conditions)


def _listed(value: Any) -> Sequence[Any]:
    return cast("Sequence[Any]", value) if isinstance(value, list | tuple) else [value]


def _is_like(value: str, pattern: str) -> bool:
    return _compile(pattern).fullmatch(value) is not None


@cache
def _compile(pattern: str) -> re.Pattern[str]:
    """Compile a pattern: `*` is any number of characters, including `/` and `:`, and `?` is exactly one."""
    wildcards = {"*": ".*", "?": "."}
    return re.compile("".join(wildcards.get(letter) or re.escape(letter) for letter in pattern), re.DOTALL)


def _is_arn_like(value: str, pattern: str) -> bool:
    """Compare ARNs by each of their six parts alone."""
    values, patterns = value.split(":", 5), pattern.split(":", 5)
    return len(values) == len(patterns) and all(map(_is_like, values, patterns))


def _is_equal(value: str, expected: str) -> bool:
    return value == expected


OPERATORS: Mapping[str, Callable[[str, str], bool]] = {
    "StringEquals": _is_equal,
    "StringLike": _is_like,
    "ArnEquals": _is_arn_like,
    "ArnLike": _is_arn_like,
    "Bool": lambda value, expected: value.lower() == expected.lower(),
}
"""The operators for values that match any expected one. The negated operators are not supported."""


def _parts(operator: str) -> tuple[str, str, bool]:
    """Return the set operator, the name, and whether an absent key satisfies the operator."""
    before, _, name = operator.rpartition(":")
    return before, name.removesuffix("IfExists"), name.endswith("IfExists")


def _holds(condition: Condition, context: Context) -> bool:
    """Return whether the request satisfies a condition.

    A key that is absent, or has no value, satisfies `ForAllValues` and `...IfExists`, and neither `ForAnyValue` nor a
    plain operator.
    """
    values = context.get(condition.key, ())
    if condition.operator == "Null":
        return (not values) == (condition.expected[0] == "true")
    every, name, if_exists = _parts(condition.operator)
    if not values and if_exists:
        return True
    matches = [any(OPERATORS[name](value, expected) for expected in condition.expected) for value in values]
    return all(matches) if every == "ForAllValues" else any(matches)
