"""Which cases are played against a deployment, and why the others are not."""

from collections.abc import Mapping

from tests.acceptance.decisions import WORKFLOWS_CONTRADICTED
from tests.acceptance.workflow_cases import Case

PLAYED = frozenset({
    *("principal", "audit", "check", "reload", "sleep", "parallel", "tools"),
    *("stub", "workflow", "onenter-failure", "skills"),
})  # fmt: skip
"""What a case may require."""
NOT_YET: Mapping[str, str] = {
    "cli": "an executor that runs programs",
    "rest": "an executor that calls a REST interface",
    "mcp": "an executor that calls another MCP server",
}
"""What transitions run are executors, which a deployment does not run yet."""


def reason_to_skip(case: Case) -> str:
    """Nothing, if it is played."""
    if case.id in WORKFLOWS_CONTRADICTED:
        return WORKFLOWS_CONTRADICTED[case.id].reason
    missing = sorted(case.requires - PLAYED)
    return f"requires {', '.join(map(_describe_requirement, missing))}" if missing else ""


def _describe_requirement(name: str) -> str:
    return f"{name} ({NOT_YET[name]})" if name in NOT_YET else f"{name}, which this player does not know"
