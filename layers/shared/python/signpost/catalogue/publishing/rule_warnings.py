"""Warns of rules that name nothing that exists, and of capabilities that call functions which a rule denies."""

from collections.abc import Collection, Iterator, Mapping, Sequence

from signpost.calling.lookup import FunctionList
from signpost.calling.skill_names import SKILL_TOOL_PREFIX, index_by_skill_name, names_for_rules
from signpost.hazards.model import PublicationWarning
from signpost.model import Json, JsonObject, as_object
from signpost.policy.policy_items import CAPABILITY, CONNECTION, WORKFLOW, PolicyItem, catalogue_item, function_item
from signpost.policy.rules import ANY_PRINCIPAL, Rule, is_about_item, is_denying
from signpost.policy.rules_format import DEFAULT_NAME, parse_policies, to_text
from signpost.records import dataclass
from signpost.spelling import suggest_name


@dataclass(frozen=True, slots=True)
class RulesBeside:
    """The rules and the catalogue of a tenant after a publication."""

    rules: JsonObject
    sent: Collection[str]
    """The names of the rules in the request."""
    workflows: Collection[str] | None
    """The ids and titles of the workflows; None while the definition of one is not known."""
    capabilities: Mapping[str, JsonObject]
    """The transitions of the capabilities."""
    connections: Collection[str]
    checked: Collection[str]
    """The ids of the capabilities that the publication may put in front of a denied function."""


def find_rule_warnings(
    beside: RulesBeside, hosted: FunctionList, *, functions_follow: bool
) -> Iterator[PublicationWarning]:
    """Find the warnings about rules. With `functions_follow`, a name may be that of a function that comes yet."""
    rules = parse_policies(to_text(beside.rules)).rules
    names = _NamesOfItems(beside, hosted, functions_follow=functions_follow)
    for rule in rules:
        if rule.id in beside.sent and rule.id != DEFAULT_NAME:
            for pattern in rule.what:
                if (problem := names.find_problem(pattern)) is not None:
                    yield PublicationWarning("rule_about_nothing", "policy", rule.id, problem)
    denying = [rule for rule in rules if is_denying(rule, over_mcp=True)]
    for capability in beside.checked:
        for function in _functions_in(beside.capabilities.get(capability, {})):
            item = names.item_of_function(function)
            for rule in _find_uncovering(denying, catalogue_item(CAPABILITY, capability), item):
                yield PublicationWarning("denied_function", CAPABILITY, capability, _describe_gap(rule, function))


class _NamesOfItems:
    """The names under which rules find functions and entries of the catalogue."""

    def __init__(self, beside: RulesBeside, hosted: FunctionList, *, functions_follow: bool) -> None:
        self._functions_follow = functions_follow
        self._by_skill_name = index_by_skill_name(hosted)
        self._skill_names = {function.function: name for name, function in self._by_skill_name.items()}
        self._functions = [function.function for function in hosted.functions]
        self._by_prefix: Mapping[str, Collection[str] | None] = {
            SKILL_TOOL_PREFIX: None if functions_follow else list(self._by_skill_name),
            f"{WORKFLOW}:": beside.workflows,
            f"{CAPABILITY}:": None if functions_follow else [*beside.capabilities, *self._by_skill_name],
            f"{CONNECTION}:": beside.connections,
        }

    def find_problem(self, pattern: str) -> str | None:
        """Say that nothing has the name; None if an item has it, or for a pattern and a form that is not compared."""
        if "*" in pattern:
            return None
        if "::" in pattern and "/" not in pattern:
            return None if self._functions_follow else _describe_missing(pattern, self._functions, "")
        for prefix, names in self._by_prefix.items():
            if pattern.startswith(prefix) and names is not None:
                return _describe_missing(pattern.removeprefix(prefix), names, prefix)
        return None

    def item_of_function(self, function: str) -> PolicyItem:
        name = self._skill_names.get(function)
        return function_item(function, *(names_for_rules(name) if name is not None else ()))


def _describe_missing(name: str, names: Collection[str], prefix: str) -> str | None:
    if name in names:
        return None
    similar = suggest_name(name, names)
    hint = f"; did you mean {prefix + similar!r}?" if similar else ""
    return f"its `what` names {prefix + name!r}, which does not exist{hint}"


def _find_uncovering(denying: Sequence[Rule], capability: PolicyItem, function: PolicyItem) -> Iterator[Rule]:
    """Yield the rules that deny the function to principals to which no rule denies the capability."""
    covering = [rule for rule in denying if is_about_item(rule, capability)]
    for rule in denying:
        is_covered = any(_covers(other, rule) for other in covering)
        if is_about_item(rule, function) and not is_covered:
            yield rule


def _covers(other: Rule, rule: Rule) -> bool:
    return ANY_PRINCIPAL in other.who or set(rule.who) <= set(other.who)


def _describe_gap(rule: Rule, function: str) -> str:
    return (
        f"it calls the function {function!r}, which the rule {rule.id!r} denies, and no rule denies the capability "
        "itself: callers reach the function through it. Name the capability in the rule too, or guard it"
    )


def _functions_in(transition: JsonObject) -> Iterator[str]:
    fallbacks = as_object(as_object(transition.get("reliability")).get("fallback")).get("executors")
    executors: list[Json] = [transition.get("executor"), *(fallbacks if isinstance(fallbacks, list) else ())]
    for executor in map(as_object, executors):
        function = executor.get("function")
        if executor.get("kind") == "function" and isinstance(function, str):
            yield function
