"""Decides whether a principal may use an item, and by which rule: deny goes before allow, and allow before the default.

Rules are matched against items, never against the spelling in a request: an item counts by all its names. A rule that
cannot be read denies everything, since it is unknown what it would have denied.
"""

from collections.abc import Iterable, Sequence
from typing import Literal

from signpost.model import Principal
from signpost.policy.policy_items import PolicyItem
from signpost.records import dataclass

type Effect = Literal["allow", "deny"]
type RuleKind = Literal["allow", "deny", "mcp_restriction", "show", "unreadable"]

ANY_PRINCIPAL = "*"


@dataclass(frozen=True, slots=True)
class Rule:
    id: str
    kind: RuleKind
    who: Sequence[str] = ()
    """Patterns of principals: `identity:`, `subject:`, `role:` or `permission:` with a pattern behind it, or `*`. One
    match is enough."""
    what: Sequence[str] = ()
    """Patterns of item names. One match with any name of the item is enough."""


@dataclass(frozen=True, slots=True)
class Policies:
    """The rules and the default of a tenant. Without any, each authenticated principal may use everything."""

    default: Effect = "allow"
    rules: Sequence[Rule] = ()


@dataclass(frozen=True, slots=True)
class PolicyDecision:
    allowed: bool
    rule: str | None
    """The id of the deciding rule; None if the default decided."""
    reason: str
    """The reason, for operators and logs. Clients do not learn why an item is missing."""


def decide(
    rules: Iterable[Rule], default: Effect, principal: Principal, item: PolicyItem, *, over_mcp: bool = True
) -> PolicyDecision:
    """Decides whether the principal may use the item. `over_mcp` is False for a function that calls another
    function."""
    relevant = [rule for rule in rules if is_about_principal(rule, principal) and is_about_item(rule, item)]
    denying = [rule for rule in relevant if is_denying(rule, over_mcp=over_mcp)]
    if denying:
        first = _first_rule(denying)
        return PolicyDecision(allowed=False, rule=first.id, reason=_REASONS[first.kind])
    allowing = [rule for rule in relevant if rule.kind == "allow"]
    if allowing:
        return PolicyDecision(allowed=True, rule=_first_rule(allowing).id, reason=_REASONS["allow"])
    return PolicyDecision(default == "allow", None, f"no rule applies, and the default is to {default}")


def find_show_rule(rules: Iterable[Rule], principal: Principal, item: PolicyItem) -> Rule | None:
    """Finds the rule that lists a hidden item for the principal. Being listed is no permission: use is decided
    separately."""
    showing = [
        rule
        for rule in rules
        if rule.kind == "show" and is_about_principal(rule, principal) and is_about_item(rule, item)
    ]
    return _first_rule(showing) if showing else None


def is_about_principal(rule: Rule, principal: Principal) -> bool:
    return rule.kind == "unreadable" or any(_is_principal_match(pattern, principal) for pattern in rule.who)


def is_match(pattern: str, name: str) -> bool:
    """Whether the name matches the pattern, in which `*` stands for any text, also for none.

    The parts are searched from the left, one by one, so that no pattern takes long.
    """
    prefix, *parts = pattern.split("*")
    if not parts:
        return pattern == name
    *middle, suffix = parts
    if not name.startswith(prefix) or not name.endswith(suffix) or len(name) < len(prefix) + len(suffix):
        return False
    start, end = len(prefix), len(name) - len(suffix)
    for part in middle:
        found_at = name.find(part, start, end)
        if found_at < 0:
            return False
        start = found_at + len(part)
    return True


_REASONS = {
    "deny": "a rule denies it",
    "mcp_restriction": "a rule denies it to MCP clients",
    "unreadable": "a rule that cannot be read denies everything",
    "allow": "a rule allows it",
}


def is_denying(rule: Rule, *, over_mcp: bool) -> bool:
    return rule.kind in ("deny", "unreadable") or (rule.kind == "mcp_restriction" and over_mcp)


def is_about_item(rule: Rule, item: PolicyItem) -> bool:
    return rule.kind == "unreadable" or any(is_match(pattern, name) for pattern in rule.what for name in item)


def _first_rule(rules: Sequence[Rule]) -> Rule:
    """The rule with the smallest id, so that the order of the rules does not matter."""
    return min(rules, key=lambda rule: rule.id)


def _is_principal_match(principal_pattern: str, principal: Principal) -> bool:
    if principal_pattern == ANY_PRINCIPAL:
        return True
    attribute, _, value_pattern = principal_pattern.partition(":")
    return any(is_match(value_pattern, value) for value in _attribute_values(attribute, principal))


def _attribute_values(attribute: str, principal: Principal) -> Iterable[str]:
    match attribute:
        case "identity":
            return (f"{principal.issuer}#{principal.subject}",)
        case "subject":
            return (principal.subject,)
        case "role":
            return principal.roles
        case "permission":
            return principal.permissions
        case _:
            return ()
