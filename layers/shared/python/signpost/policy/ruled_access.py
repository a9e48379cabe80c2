"""What rules leave to a principal: every decision is made once, for as long as rules and principal are the same."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, override

from signpost.model import Principal
from signpost.policy.access import OPEN, Access
from signpost.policy.items import Item
from signpost.policy.rules import Decision, Policies, Rule, concerns, decide, showing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from signpost.policy.access import Notice

MOST_PRINCIPALS, MOST_ITEMS = 1_000, 50_000
"""That are remembered of the rules of a tenant."""


class RuledAccess(Access):
    is_open = False

    def __init__(self, policies: Policies, rules: Sequence[Rule], principal: Principal, notice: "Notice") -> None:
        self._policies = policies
        self._rules = rules
        self._principal = principal
        self._notice = notice
        self._decisions: dict[tuple[Item, bool], Decision] = {}
        self._shown: dict[Item, bool] = {}

    @override
    def allows(self, item: Item, *, over_mcp: bool = True) -> bool:
        return self._decision(item, over_mcp=over_mcp).allowed

    @override
    def admits(self, item: Item, *, over_mcp: bool = True) -> bool:
        decision = self._decision(item, over_mcp=over_mcp)
        if not decision.allowed:
            self._notice(item, decision)
        return decision.allowed

    @override
    def shows(self, item: Item) -> bool:
        shown = self._shown.get(item)
        if shown is None:
            _make_room(self._shown)
            shown = self._shown[item] = showing(self._rules, self._principal, item) is not None
        return shown

    @override
    def missed(self, name: str, items: "Callable[[], Iterable[Item]]") -> None:
        for item in items():
            if name in item:
                self.admits(item)

    def _decision(self, item: Item, *, over_mcp: bool) -> Decision:
        decision = self._decisions.get((item, over_mcp))
        if decision is None:
            _make_room(self._decisions)
            decision = decide(self._rules, self._policies.default, self._principal, item, over_mcp=over_mcp)
            self._decisions[item, over_mcp] = decision
        return decision


class AccessesUnder:
    """Under the rules of one tenant, as they are once and for all."""

    def __init__(self, policies: Policies, notice: "Notice") -> None:
        self._policies = policies
        self._notice = notice
        self._by_principal: dict[Principal, Access] = {}
        self._by_rules: dict[tuple[str, ...], Access] = {}

    def of(self, principal: Principal) -> Access:
        known = self._by_principal.get(principal)
        if known is None:
            _make_room(self._by_principal, MOST_PRINCIPALS)
            known = self._by_principal[principal] = self._found(principal)
        return known

    def _found(self, principal: Principal) -> Access:
        rules = [rule for rule in self._policies.rules if concerns(rule, principal)]
        if not rules and self._policies.default == "allow":
            return OPEN
        key = tuple(rule.id for rule in rules)
        if key not in self._by_rules:
            _make_room(self._by_rules, MOST_PRINCIPALS)
            self._by_rules[key] = RuledAccess(self._policies, rules, principal, self._notice)
        return self._by_rules[key]


def _make_room[Key, Value](remembered: dict[Key, Value], most: int = MOST_ITEMS) -> None:
    if len(remembered) >= most:
        remembered.clear()
