"""Warns of rules that name nothing that exists, and of capabilities that call functions which a rule denies."""

from collections.abc import Collection, Iterator, Mapping, Sequence

from signpost.calling.lookup import FunctionList
from signpost.calling.skill_names import SKILL_TOOL_PREFIX, index_by_skill_name, names_for_rules
from signpost.hazards.model import PublicationWarning
from signpost.model import JsonObject, as_object
from signpost.policy.policy_items import CAPABILITY, CONNECTION, WORKFLOW, PolicyItem, catalogue_item, function_item
from signpost.policy.rules import ANY_PRINCIPAL, Rule, is_about_item, is_denying
from signpost.policy.rules_format import DEFAULT_NAME, parse_policies, to_text
from signpost.records import dataclass
from signpost.spelling import suggest_name
from signpost.workflow.definition import ExecutorSpec
from signpost.workflow.executor_uses import function_of
from signpost.workflow.retry_policy import list_fallbacks


@dataclass(frozen=True, slots=True)
class RuleContext:
    """The rules of a tenant after a publication, and the entries of the catalogue that they can name."""

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
    context: RuleContext, hosted: FunctionList, *, functions_follow: bool
) -> Iterator[PublicationWarning]:
    """Find the warnings about rules. With `functions_follow`, a name that may be of a function is not judged."""
    rules = parse_policies(to_text(context.rules)).rules
    names = _NamesOfItems(context, hosted, functions_follow=functions_follow)
    for rule in rules:
        if rule.id in context.sent and rule.id != DEFAULT_NAME:
            for pattern in rule.what:
                if (problem := names.find_problem(pattern)) is not None:
                    yield PublicationWarning("rule_about_nothing", "policy", rule.id, problem)
    denying = [rule for rule in rules if is_denying(rule, over_mcp=True)]
    for capability in context.checked:
        for function in _functions_in(context.capabilities.get(capability, {})):
            item = names.item_of_function(function)
            for rule in _find_uncovering(denying, catalogue_item(CAPABILITY, capability), item):
                yield PublicationWarning("denied_function", CAPABILITY, capability, _describe_gap(rule, function))


class _NamesOfItems:
    """The names under which rules find functions and entries of the catalogue."""

    def __init__(self, context: RuleContext, hosted: FunctionList, *, functions_follow: bool) -> None:
        self._functions_follow = functions_follow
        self._by_skill_name = index_by_skill_name(hosted)
        self._skill_names = {function.function: name for name, function in self._by_skill_name.items()}
        self._functions = [function.function for function in hosted.functions]
        self._by_prefix: Mapping[str, Collection[str] | None] = {
            SKILL_TOOL_PREFIX: None if functions_follow else list(self._by_skill_name),
            f"{WORKFLOW}:": context.workflows,
            f"{CAPABILITY}:": None if functions_follow else [*context.capabilities, *self._by_skill_name],
            f"{CONNECTION}:": context.connections,
        }

    def find_problem(self, pattern: str) -> str | None:
        """Return a message if no item has the name; None if one has, or if the name is a pattern or of another form."""
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
    """Yield the functions that the executor of a transition and its fallbacks call."""
    settings = as_object(transition.get("executor"))
    fallbacks = (fallback for _, fallback in list_fallbacks(as_object(transition.get("reliability")), nested=False))
    for executor in (ExecutorSpec(str(settings.get("kind")), settings), *fallbacks):
        if (function := function_of(executor)) is not None:
            yield function
