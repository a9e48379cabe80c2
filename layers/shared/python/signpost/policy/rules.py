"""Who may use what, and which rule says so: deny goes before allow, and allow before the default.

Rules are asked about items, never about the spelling in which somebody asked for one: an item goes by all its names.
What cannot be read denies everything, since nobody knows what it would have denied.
"""

from collections.abc import Iterable, Sequence
from typing import Literal

from signpost.model import Principal
from signpost.policy.items import Item
from signpost.records import dataclass

type Effect = Literal["allow", "deny"]
type RuleKind = Literal["allow", "deny", "mcp_restriction", "show", "unreadable"]

EVERYBODY = "*"


@dataclass(frozen=True, slots=True)
class Rule:
    id: str
    kind: RuleKind
    who: Sequence[str] = ()
    """`subject:`, `role:` or `permission:` with a pattern behind it, or `*`; whoever fits one of them is meant."""
    what: Sequence[str] = ()
    """Patterns of names, of which an item has one or more."""


@dataclass(frozen=True, slots=True)
class Policies:
    """What a tenant has set. In a tenant that has set nothing, everybody who is let in may use everything."""

    default: Effect = "allow"
    rules: Sequence[Rule] = ()


@dataclass(frozen=True, slots=True)
class Decision:
    allowed: bool
    rule: str | None
    """The id of the rule that decided; None if none did, which leaves it to the default."""
    reason: str
    """For operators and logs. Clients are not told why something is not there."""


def decide(
    rules: Iterable[Rule], default: Effect, principal: Principal, item: Item, *, over_mcp: bool = True
) -> Decision:
    """Over MCP means: by a client, not by a function that calls another one."""
    concern = [rule for rule in rules if concerns(rule, principal) and _names(rule, item)]
    denying = [rule for rule in concern if _denies(rule, over_mcp=over_mcp)]
    if denying:
        first = _first(denying)
        return Decision(allowed=False, rule=first.id, reason=_REASONS[first.kind])
    allowing = [rule for rule in concern if rule.kind == "allow"]
    if allowing:
        return Decision(allowed=True, rule=_first(allowing).id, reason=_REASONS["allow"])
    return Decision(default == "allow", None, f"no rule decides, and the default is to {default}")


def showing(rules: Iterable[Rule], principal: Principal, item: Item) -> Rule | None:
    """What has a hidden item listed for a principal. That is no permission: whether it may be used is decided apart."""
    found = [rule for rule in rules if rule.kind == "show" and concerns(rule, principal) and _names(rule, item)]
    return _first(found) if found else None


def concerns(rule: Rule, principal: Principal) -> bool:
    return rule.kind == "unreadable" or any(_is_meant(pattern, principal) for pattern in rule.who)


def fits(pattern: str, name: str) -> bool:
    """`*` stands for anything, also for nothing. Looked for from the left, part by part, so that no pattern takes
    long."""
    begins, *parts = pattern.split("*")
    if not parts:
        return pattern == name
    *between, ends = parts
    if not name.startswith(begins) or not name.endswith(ends) or len(name) < len(begins) + len(ends):
        return False
    place, end = len(begins), len(name) - len(ends)
    for part in between:
        found = name.find(part, place, end)
        if found < 0:
            return False
        place = found + len(part)
    return True


_REASONS = {
    "deny": "a rule denies it",
    "mcp_restriction": "a rule denies it to MCP clients",
    "unreadable": "a rule that cannot be read denies everything",
    "allow": "a rule allows it",
}


def _denies(rule: Rule, *, over_mcp: bool) -> bool:
    return rule.kind in ("deny", "unreadable") or (rule.kind == "mcp_restriction" and over_mcp)


def _names(rule: Rule, item: Item) -> bool:
    return rule.kind == "unreadable" or any(fits(pattern, name) for pattern in rule.what for name in item)


def _first(rules: Sequence[Rule]) -> Rule:
    """The same whatever their order."""
    return min(rules, key=lambda rule: rule.id)


def _is_meant(who: str, principal: Principal) -> bool:
    if who == EVERYBODY:
        return True
    attribute, _, pattern = who.partition(":")
    return any(fits(pattern, value) for value in _values(attribute, principal))


def _values(attribute: str, principal: Principal) -> Iterable[str]:
    match attribute:
        case "subject":
            return (principal.subject,)
        case "role":
            return principal.roles
        case "permission":
            return principal.permissions
        case _:
            return ()
