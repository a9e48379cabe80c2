"""What policy leaves to one principal: every decision is made once, for as long as rules and principal are the same."""

from collections.abc import Callable, Sequence
from typing import Protocol

from signpost.model import Principal
from signpost.policy.rules import Decision, Effect, Item, Policies, Rule, concerns, decide, showing

MOST_PRINCIPALS, MOST_ITEMS = 1_000, 50_000
"""That are remembered of the rules of a tenant."""

type Notice = Callable[[Item, Decision], None]
"""Hears of what somebody asked for by name and is denied."""


class Access:
    """The same object for all whom the same rules concern, so that what is made by it can be kept with it."""

    def __init__(self, policies: Policies, rules: Sequence[Rule], principal: Principal, notice: Notice) -> None:
        self._default: Effect = policies.default
        self._rules = rules
        self._principal = principal
        self._notice = notice
        self._decisions: dict[tuple[Item, bool], Decision] = {}
        self._shown: dict[Item, bool] = {}
        self.is_open = policies.default == "allow" and not rules
        """Whether nothing is denied and nothing is shown that is hidden from others."""

    def allows(self, item: Item, *, over_mcp: bool = True) -> bool:
        """For lists."""
        return self.is_open or self._decision(item, over_mcp=over_mcp).allowed

    def admits(self, item: Item, *, over_mcp: bool = True) -> bool:
        """The same of what was asked for by name. That it was denied is noticed, by others than who asked."""
        if self.is_open:
            return True
        decision = self._decision(item, over_mcp=over_mcp)
        if not decision.allowed:
            self._notice(item, decision)
        return decision.allowed

    def shows(self, item: Item) -> bool:
        """Whether it is listed although it is hidden."""
        if self.is_open:
            return False
        shown = self._shown.get(item)
        if shown is None:
            _make_room(self._shown)
            shown = self._shown[item] = showing(self._rules, self._principal, item) is not None
        return shown

    def lists(self, item: Item, *, hidden: bool) -> bool:
        return self.allows(item) and (not hidden or self.shows(item))

    def _decision(self, item: Item, *, over_mcp: bool) -> Decision:
        decision = self._decisions.get((item, over_mcp))
        if decision is None:
            _make_room(self._decisions)
            decision = decide(self._rules, self._default, self._principal, item, over_mcp=over_mcp)
            self._decisions[item, over_mcp] = decision
        return decision


def _unnoticed(item: Item, decision: Decision) -> None:
    del item, decision


OPEN = Access(Policies(), (), Principal("", "", ""), _unnoticed)
"""Where nothing is set."""


class Accesses(Protocol):
    def of(self, principal: Principal) -> Access:
        """Raises Unavailable where that cannot be said now: nobody gets by because the rules cannot be read."""
        ...


class Unrestricted:
    """Where others have decided already who may do what."""

    def of(self, principal: Principal) -> Access:
        del principal
        return OPEN


class AccessesUnder:
    """Under the rules of one tenant, as they are once and for all."""

    def __init__(self, policies: Policies, notice: Notice) -> None:
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
        key = tuple(rule.id for rule in rules)
        if key not in self._by_rules:
            _make_room(self._by_rules, MOST_PRINCIPALS)
            self._by_rules[key] = Access(self._policies, rules, principal, self._notice)
        return self._by_rules[key]


def _make_room[Key, Value](remembered: dict[Key, Value], most: int = MOST_ITEMS) -> None:
    if len(remembered) >= most:
        remembered.clear()
