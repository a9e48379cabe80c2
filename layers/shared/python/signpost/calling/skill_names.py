"""The skill names of functions: each name belongs to one function, whichever executor hosts it."""

from collections.abc import Mapping

from signpost.calling.lookup import FunctionList
from signpost.contract import HostedFunction
from signpost.model import OVERRIDE_PREFIX
from signpost.policy.policy_items import CAPABILITY, catalogue_item

SKILL_TOOL_PREFIX = "skill:"
"""The prefix of the name of a skill's tool."""


def index_by_skill_name(functions: FunctionList) -> Mapping[str, HostedFunction]:
    """Map each skill name to its function.

    Where several functions would have one name, a tenant's own function goes before a shipped one, then a function with
    a declared name before one with an id that ends in that name, then the first by id. The others are named by their
    ids.
    """
    by_name: dict[str, HostedFunction] = {}
    tools = [hosted for hosted in functions.functions if hosted.component is None]
    for hosted in sorted(tools, key=lambda hosted: (hosted.function not in functions.own, hosted.name is None)):
        name = skill_name(hosted)
        by_name.setdefault(hosted.function if name in by_name else name, hosted)
    return by_name


def names_for_rules(name: str) -> tuple[str, ...]:
    """Return the names of a callable skill in rules: those of its tool at /mcp/flat and of its capability at /mcp."""
    return (f"{SKILL_TOOL_PREFIX}{name}", *catalogue_item(CAPABILITY, name))


def skill_name(hosted: HostedFunction) -> str:
    """Return the name that a function has as a skill unless another function takes it. A declared name with the
    prefix of overrides is not used: as a capability, the skill is a transition of `proxy_default`."""
    if hosted.name and not hosted.name.startswith(OVERRIDE_PREFIX):
        return hosted.name
    return hosted.function.rpartition("::")[2]
