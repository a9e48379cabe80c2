"""Workflows in memory behind the operator's commands: run by the real engine, read by the commands as from the tables
of a stack."""

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from typing import Any

import pytest

from signpost.adapters.memory import FunctionTable, MemoryContentStore, MemoryRevisionRows, MemoryTextStore
from signpost.adapters.memory.run_lists import MemoryRunLists
from signpost.adapters.memory.timetables import MemoryTimetables
from signpost.catalogue.cache import CatalogueView
from signpost.catalogue.snapshot import CatalogueSnapshot
from signpost.cli import mcp, stack
from signpost.cli.runs.store import WorkflowReader
from signpost.cli.terminal import ShowLine
from signpost.list_revisions import RevisionView
from signpost.model import CatalogueItem, JsonObject, Principal, as_object
from signpost.workflow.running.serialization import text_of
from tests.support.catalogues import store_catalogue
from tests.support.gateway_workflows import TENANT, GatewayWorkflows

URL = "https://gateway.test/mcp"
EXPENSE, DEPLOY = "expense_approval", "deploy_pipeline"
CLAIM: Mapping[str, Any] = {"amount": 2000, "purpose": "Train to the customer", "receipt": "R-20311"}

type CommandRunner = Callable[..., str]
"""Runs a command and returns its output."""


class OperatorWorkflows:
    """One stack, with one tenant that has content."""

    def __init__(self, callers: Mapping[str, Principal], monkeypatch: pytest.MonkeyPatch) -> None:
        with _discard_output():
            self.world = GatewayWorkflows(callers)
        self.terminal_caller = ""
        """The name of the caller who is logged in at the terminal."""
        self.urls: list[str] = []
        """The URLs at which the commands connected to the server."""
        self._content, self._texts = MemoryContentStore(FunctionTable()), MemoryTextStore()
        self._items: list[CatalogueItem] = []
        monkeypatch.setattr(stack, "open_workflows", self._of_any_stack)
        monkeypatch.setattr(mcp, "connect_tools", self._tools_of)

    def publish(self, name: str, document: JsonObject, *, enabled: bool = True, switched_off: bool = False) -> None:
        self.world.publish(name, document)
        self._items = [item for item in self._items if item.id != name]
        title, digest = str(document.get("title", name)), self._texts.keep(TENANT, text_of(document))
        item = CatalogueItem(name, "workflow", title, definition=digest, enabled=enabled, switched_off=switched_off)
        self._items.append(item)
        store_catalogue(self._content, self._texts, TENANT, self._items)

    def expose(self, proxy: JsonObject) -> None:
        """Publish the transitions of this definition as capabilities."""
        transitions = as_object(as_object(as_object(proxy["states"])["ready"])["transitions"])
        capabilities = [CatalogueItem(name, "capability", name) for name in transitions]
        published = CatalogueSnapshot(proxy=self._texts.keep(TENANT, text_of(proxy)))
        store_catalogue(self._content, self._texts, TENANT, [*self._items, *capabilities], published)

    def call(self, tool: str, arguments: Mapping[str, Any], who: str) -> Any:
        with _discard_output():
            return self.world.call(tool, arguments, who)

    def start_long_call(self, function: str, who: str) -> str:
        """Call a function whose timeout is longer than a client waits, and return the id of the run that this
        starts."""
        with _discard_output():
            return self.world.start_long_call(function, who)

    @contextmanager
    def _of_any_stack(self, _name: str) -> Generator[WorkflowReader]:
        clock = self.world.clock
        revisions = RevisionView(rows=MemoryRevisionRows(self._content), clock=clock)
        view = CatalogueView(revisions=revisions, texts=self._texts)
        yield WorkflowReader(
            instances=self.world.instances,
            records=self.world.instances,
            run_lists=MemoryRunLists(self.world.instances),
            definitions=self._texts,
            timetables=MemoryTimetables(clock),
            catalogue=view,
            clock=clock,
            mcp_url=URL,
        )

    def _tools_of(self, url: str, say: ShowLine) -> "_Tools":
        del say  # nothing is shown in tests
        self.urls.append(url)
        return _Tools(self)


def _discard_output() -> redirect_stdout[StringIO]:
    """Discard the log lines of the gateway, which would mix with the output of the commands."""
    return redirect_stdout(StringIO())


class _Tools:
    """The tools of a gateway."""

    def __init__(self, operated: OperatorWorkflows) -> None:
        self._operated = operated

    def call(self, tool: str, arguments: JsonObject) -> JsonObject:
        return self._operated.call(tool, arguments, self._operated.terminal_caller)


def start_workflow(operated: OperatorWorkflows, name: str = EXPENSE, **workflow_input: Any) -> str:
    """Start a workflow and return its id."""
    return operated.call("workflow.start", {"definitionId": name, "input": workflow_input}, "agent")["workflowId"]


def submit_transition(
    operated: OperatorWorkflows, run: str, transition: str, who: str = "agent", **arguments: Any
) -> Any:
    version = operated.call("workflow.get", {"workflowId": run}, who)["version"]
    submitted = {"workflowId": run, "expectedVersion": version, "transition": transition, "arguments": arguments}
    return operated.call("workflow.submit", submitted, who)


def start_expense_claim(operated: OperatorWorkflows, **changes: Any) -> tuple[str, str]:
    """Start an expense claim, and return its id and the id of its approval request, which needs two people of
    finance."""
    run = start_workflow(operated)
    return run, submit_transition(operated, run, "claim", **{**CLAIM, **changes})["approval"]["requestId"]
