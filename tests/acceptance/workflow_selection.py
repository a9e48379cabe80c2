"""Which cases are played against a deployment, and why the others are not."""

from collections.abc import Mapping

from tests.acceptance.workflow_cases import Case

PLAYED = frozenset({"principal", "audit", "check", "reload", "sleep", "parallel", "tools"})
"""What a case may require."""
NOT_YET: Mapping[str, str] = {
    "stub": "an executor that plays a script",
    "cli": "an executor that runs programs",
    "rest": "an executor that calls a REST interface",
    "mcp": "an executor that calls another MCP server",
    "workflow": "an executor that runs workflows",
    "onenter-failure": "an executor that fails when a state is entered",
}
"""What transitions run are executors, which a deployment does not run yet."""
_LOOKS = ("gateway.home", "gateway.search", "gateway.describe", "workflow.explain", "$check", "$tools")


def reason_to_skip(case: Case) -> str:
    """Nothing, if it is played."""
    missing = sorted(case.requires - PLAYED - _declared_only(case))
    return f"requires {', '.join(map(_described, missing))}" if missing else ""


def _declared_only(case: Case) -> frozenset[str]:
    """A stub that nothing could run is as good as any other executor."""
    return frozenset({"stub"} if all(step.tool in _LOOKS for step in case.steps) else ())


def _described(name: str) -> str:
    return f"{name} ({NOT_YET[name]})" if name in NOT_YET else f"{name}, which this player does not know"
