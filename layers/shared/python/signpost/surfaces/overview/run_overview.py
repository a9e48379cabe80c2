"""The runs of workflows, as `workflow.get` shows them to the caller."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from signpost.workflow.running.answers import build_answer
from signpost.workflow.running.service import WorkflowRefusal

if TYPE_CHECKING:
    from signpost.model import Call, JsonObject, Principal
    from signpost.workflow.running.service import Workflows

MOST_RUNS = 100
"""Runs in a list, and ids that complete a template."""


class OwnRunLister(Protocol):
    """Lists the runs that a principal has started."""

    def list_own(self, principal: "Principal", limit: int) -> "Sequence[JsonObject]":
        """Return at most `limit` runs, newest first, as `gateway.search` shows them."""
        ...


class RunOverview:
    """Shows one run by its id, and the newest runs of the caller."""

    def __init__(self, workflows: "Workflows", runs: "OwnRunLister") -> None:
        self._workflows = workflows
        self._runs = runs

    def read_all(self, call: "Call") -> "JsonObject":
        return {"items": self._runs.list_own(call.principal, MOST_RUNS)}

    def read_one(self, name: str, call: "Call") -> "JsonObject | None":
        found = self._workflows.get(name, call.principal, call.deadline)
        return None if isinstance(found, WorkflowRefusal) else build_answer(found.definition, found.step)

    def list_names(self, call: "Call") -> Sequence[str]:
        return [str(run["id"]) for run in self._runs.list_own(call.principal, MOST_RUNS)]
