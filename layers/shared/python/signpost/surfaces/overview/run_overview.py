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


class RunLister(Protocol):
    """Lists the runs of one principal."""

    def list_runs(self, principal: "Principal", limit: int) -> "Sequence[JsonObject]":
        """Return at most `limit` runs that the principal may see, newest first, each with its `workflowId` and without
        its context."""
        ...


class RunOverview:
    """Shows one run by its id and, with a lister, the newest runs of the caller."""

    def __init__(self, workflows: "Workflows", lister: "RunLister | None" = None) -> None:
        self._workflows = workflows
        self._lister = lister

    def read_all(self, call: "Call") -> "JsonObject | None":
        return None if self._lister is None else {"runs": self._lister.list_runs(call.principal, MOST_RUNS)}

    def read_one(self, name: str, call: "Call") -> "JsonObject | None":
        found = self._workflows.get(name, call.principal, call.deadline)
        return None if isinstance(found, WorkflowRefusal) else build_answer(found.definition, found.step)

    def list_names(self, call: "Call") -> Sequence[str]:
        if self._lister is None:
            return ()
        return [str(run["workflowId"]) for run in self._lister.list_runs(call.principal, MOST_RUNS)]
