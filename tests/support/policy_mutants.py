"""Single changes to the statements of a role: each removal of a permission, and each extension."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from tests.support.policy_judge import Condition, Request, Statement, Values, applies

type MutantKind = Literal["removal", "loosening"]


@dataclass(frozen=True, slots=True)
class PolicyMutant:
    """The statements of a role after one change to one of them."""

    name: str
    kind: MutantKind
    statements: Sequence[Statement]
    changed_statement: Statement | None
    """The changed statement; None if it was removed."""

    def may_allow(self, request: Request) -> bool:
        """Return False for a request to which a loosened Allow does not apply: the mutant decides it as before."""
        return (
            self.changed_statement is None
            or self.changed_statement.effect == "Deny"
            or applies(self.changed_statement, request)
        )


type StatementChange = tuple[str, Statement | None]
"""The name of the change, and the changed statement."""


def generate_mutants(statements: Sequence[Statement]) -> Iterator[PolicyMutant]:
    """Yield every mutant of a role. Names are unique if every statement has a Sid of its own."""
    for place, statement in enumerate(statements):
        before, behind = statements[:place], statements[place + 1 :]
        changes: dict[MutantKind, Iterator[StatementChange]] = {
            "removal": _removals(statement),
            "loosening": _loosenings(statement),
        }
        for kind, changed in changes.items():
            for name, left in changed:
                after = [*before, *([left] if left else []), *behind]
                yield PolicyMutant(f"{statement.sid} {name}", kind, after, left)


def _removals(statement: Statement) -> Iterator[StatementChange]:
    """Yield the changes that permit less. A Deny has none."""
    if statement.effect == "Deny":
        return
    yield "removed", None
    yield from _without_each_action(statement)
    for place, resource in enumerate(statement.resources if len(statement.resources) > 1 else ()):
        yield f"without resource {place}", replace(statement, resources=_without(statement.resources, resource))


def _without_each_action(statement: Statement) -> Iterator[StatementChange]:
    for action in statement.actions if len(statement.actions) > 1 else ():
        yield f"without {action}", replace(statement, actions=_without(statement.actions, action))


def _without(values: Values, value: str) -> Values:
    return tuple(kept for kept in values if kept != value)


def _loosenings(statement: Statement) -> Iterator[StatementChange]:
    """Yield the changes that permit more: a Deny that denies less, or an Allow that allows more."""
    if statement.effect == "Deny":
        yield "removed", None
        yield from _without_each_action(statement)
        yield (
            "on another resource",
            replace(statement, resources=tuple(f"{resource}-2" for resource in statement.resources)),
        )
        for condition in statement.conditions:
            yield from _with_narrower_values(statement, condition)
        return
    for action in statement.actions:
        every = f"{action.partition(':')[0]}:*"
        yield f"with {every} for {action}", replace(statement, actions=(*_without(statement.actions, action), every))
    yield "on every resource", replace(statement, resources=("*",))
    for place, resource in enumerate(statement.resources):
        resources = (*_without(statement.resources, resource), _beside(resource))
        yield f"on the siblings of resource {place}", replace(statement, resources=resources)
    for condition in statement.conditions:
        rest = [other for other in statement.conditions if other is not condition]
        yield f"without {condition.operator} {condition.key}", replace(statement, conditions=rest)
        yield from _with_wider_values(statement, condition, rest)


def _beside(resource: str) -> str:
    """Return the resource with a wildcard for its last part: all resources of its kind in the same place."""
    *service, part = resource.removesuffix("/*").removesuffix(":*").split(":", 5)
    place = part[: max(part.rfind("/"), -1 if "/" in part else part.rfind(":")) + 1]
    return ":".join([*service, f"{place}*"])


def _with_narrower_values(statement: Statement, condition: Condition) -> Iterator[StatementChange]:
    """Yield the statement with each wildcard of a condition replaced by one for fewer values."""
    rest = [other for other in statement.conditions if other is not condition]
    for value in condition.expected:
        if "*" in value:
            narrower = Condition(
                condition.operator,
                condition.key,
                (*_without(condition.expected, value), value.replace("*", "narrowed*", 1)),
            )
            yield (
                f"only where {condition.key} is {narrower.expected[-1]}",
                replace(statement, conditions=(*rest, narrower)),
            )


def _with_wider_values(
    statement: Statement, condition: Condition, rest: Sequence[Condition]
) -> Iterator[StatementChange]:
    """Yield the statement with each value of a condition replaced by a wildcard, unless it is one already."""
    for value in condition.expected if condition.expected != ("*",) and condition.operator != "Null" else ():
        operator = condition.operator.replace("StringEquals", "StringLike")
        wider = Condition(operator, condition.key, (*_without(condition.expected, value), "*"))
        yield f"with any {condition.key} for {value}", replace(statement, conditions=(*rest, wider))
