"""What functions are called as skills: one name, one function, whoever hosts what."""

from collections.abc import Mapping

from signpost.contract import Hosted
from signpost.execution.functions import FunctionList

PREFIX = "skill:"
"""What the name of its tool begins with."""


def by_skill_name(found: FunctionList) -> Mapping[str, Hosted]:
    """A name that several would have is that of a tenant's own before a shipped one, of one that was given it before
    one that only ends so, and else of the first by id. The others are called by their ids."""
    named: dict[str, Hosted] = {}
    tools = [one for one in found.functions if one.component is None]
    for hosted in sorted(tools, key=lambda one: (one.function not in found.own, one.name is None)):
        name = skill_name(hosted)
        named.setdefault(hosted.function if name in named else name, hosted)
    return named


def skill_name(hosted: Hosted) -> str:
    """What it is called where nobody else has the name."""
    return hosted.name or hosted.function.rpartition("::")[2]
