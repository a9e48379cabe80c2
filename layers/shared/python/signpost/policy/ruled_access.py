"""The access that rules leave to a principal. Each decision is made once and cached with the rules and the
principal."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, override

from signpost.caches import BoundedCache
from signpost.model import Principal
from signpost.policy.access import OPEN, Access
from signpost.policy.policy_items import PolicyItem
from signpost.policy.rules import Policies, PolicyDecision, Rule, decide, find_show_rule, is_about_principal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from signpost.policy.access import DenialListener

MOST_PRINCIPALS, MOST_ITEMS = 1_000, 50_000
"""The numbers of principals and of items cached for the rules of one tenant."""


class RuledAccess(Access):
    is_open = False

    def __init__(
        self, policies: Policies, rules: Sequence[Rule], principal: Principal, on_denial: "DenialListener"
    ) -> None:
        self._policies = policies
        self._rules = rules
        self._principal = principal
        self._on_denial = on_denial
        self._decisions = BoundedCache[tuple[PolicyItem, bool], PolicyDecision](MOST_ITEMS)
        self._show_decisions = BoundedCache[PolicyItem, bool](MOST_ITEMS)

    @override
    def allows(self, item: PolicyItem, *, over_mcp: bool = True) -> bool:
        return self._decide_once(item, over_mcp=over_mcp).allowed

    @override
    def admits(self, item: PolicyItem, *, over_mcp: bool = True) -> bool:
        decision = self._decide_once(item, over_mcp=over_mcp)
        if not decision.allowed:
            self._on_denial(item, decision)
        return decision.allowed

    @override
    def shows(self, item: PolicyItem) -> bool:
        is_shown = self._show_decisions.get(item)
        if is_shown is None:
            is_shown = self._show_decisions.put(item, find_show_rule(self._rules, self._principal, item) is not None)
        return is_shown

    @override
    def report_missing(self, name: str, items: "Callable[[], Iterable[PolicyItem]]") -> None:
        for item in items():
            if name in item:
                self.admits(item)

    def _decide_once(self, item: PolicyItem, *, over_mcp: bool) -> PolicyDecision:
        decision = self._decisions.get((item, over_mcp))
        if decision is None:
            decision = decide(self._rules, self._policies.default, self._principal, item, over_mcp=over_mcp)
            self._decisions.put((item, over_mcp), decision)
        return decision


class RuledAccessLookup:
    """Finds the access of a principal under one version of a tenant's rules."""

    def __init__(self, policies: Policies, on_denial: "DenialListener") -> None:
        self._policies = policies
        self._on_denial = on_denial
        self._by_principal = BoundedCache[Principal, Access](MOST_PRINCIPALS)
        self._by_rules = BoundedCache[tuple[str, ...], Access](MOST_PRINCIPALS)

    def of(self, principal: Principal) -> Access:
        return self._by_principal.get(principal) or self._by_principal.put(principal, self._build_access(principal))

    def _build_access(self, principal: Principal) -> Access:
        rules = [rule for rule in self._policies.rules if is_about_principal(rule, principal)]
        if not rules and self._policies.default == "allow":
            return OPEN
        key = tuple(rule.id for rule in rules)
        access = self._by_rules.get(key)
        return access or self._by_rules.put(key, RuledAccess(self._policies, rules, principal, self._on_denial))
