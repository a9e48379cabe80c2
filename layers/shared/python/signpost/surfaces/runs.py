"""The workflows of a tenant as tools that start them: `workflow:<title>` at /mcp/flat."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import ceil
from typing import TYPE_CHECKING

from signpost.made_once import MadeOnce
from signpost.model import Call, CatalogueItem, Json, JsonObject, Tool, ToolResult, as_object
from signpost.policy.access import Access
from signpost.records import dataclass
from signpost.registry.catalogue import WORKFLOW_TOOL, Snapshot
from signpost.registry.catalogue_access import CatalogueAccess
from signpost.surfaces.hosted import shown_schema, text
from signpost.surfaces.seven import START, Runner

if TYPE_CHECKING:
    from signpost.workflow.ports import Definitions

GENERIC: JsonObject = {
    "type": "object",
    "properties": {"input": {"type": "string", "description": "What the run is to work on."}},
    "additionalProperties": False,
}
"""What a workflow takes whose author does not say."""
WENT_WRONG = ("error", "inDoubt", "fault")
"""Members of an answer that say why a run did not get where it was to get by itself, the weightiest first."""


@dataclass(frozen=True, slots=True)
class _Runs:
    by_name: Mapping[str, tuple[Tool, CatalogueItem]]
    """By the names of their tools."""
    listed: Sequence[Tool]
    hidden: Sequence[Tool]


class WorkflowTools:
    def __init__(
        self,
        *,
        catalogue: CatalogueAccess,
        definitions: "Callable[[], Definitions]",
        driving: Callable[[], Runner],
    ) -> None:
        self._catalogue = catalogue
        self._definitions = definitions
        self._driving = driving
        self._made = MadeOnce[tuple[str, Access], Snapshot, _Runs]()

    def tools(self, call: Call) -> Sequence[Tool]:
        return self._of(call).listed

    def hidden_tools(self, call: Call) -> Sequence[Tool]:
        """Those that the tenant's `discovery` does not show."""
        return self._of(call).hidden

    def tool(self, name: str, call: Call) -> Tool | None:
        if not name.startswith(WORKFLOW_TOOL):
            return None
        found = self._of(call).by_name.get(name)
        if found is None:
            self._catalogue.missed(call.principal, name)
        return None if found is None else found[0]

    def call_tool(self, tool: Tool, arguments: JsonObject, call: Call) -> ToolResult:
        found = self._of(call).by_name.get(tool.name)
        name = tool.name if found is None else found[1].id
        wanted: dict[str, Json] = {"definitionId": name, "input": arguments}
        if call.client.token is not None:
            wanted["clientToken"] = call.client.token
        return in_words(self._driving().run(START, wanted, call), tool.title or tool.name)

    def _of(self, call: Call) -> _Runs:
        tenant = call.principal.tenant
        snapshot, access = self._catalogue.snapshot(call.principal), self._catalogue.of(call.principal)
        return self._made.of((tenant, access), snapshot, lambda: self._runs(tenant, snapshot))

    def _runs(self, tenant: str, snapshot: Snapshot) -> _Runs:
        named = {snapshot.tools[item.id]: item for item in snapshot.startable.values()}
        tools = {name: (self._tool(name, item, tenant), item) for name, item in sorted(named.items())}
        shown = {item.id for item in snapshot.items if item.kind == "workflow"}
        return _Runs(
            by_name=tools,
            listed=[tool for tool, item in tools.values() if item.id in shown],
            hidden=[tool for tool, item in tools.values() if item.id not in shown],
        )

    def _tool(self, name: str, item: CatalogueItem, tenant: str) -> Tool:
        declared = self._declared(item, tenant)
        return Tool(
            name,
            item.description or f"Run the {item.title} workflow",
            GENERIC if declared is None else _without_defaulted(shown_schema(declared)),
            title=item.title,
            output_schema=START.output_schema,
        )

    def _declared(self, item: CatalogueItem, tenant: str) -> JsonObject | None:
        """What it takes. Catalogues that an earlier release wrote do not say."""
        if item.input_schema is None and item.definition:
            return self._definitions().pinned(tenant, item.id, item.definition).input_schema
        return item.input_schema or None


def _without_defaulted(schema: JsonObject) -> JsonObject:
    """What has a default is put in before a workflow checks what it is given, and need not be sent."""
    required, properties = schema.get("required"), as_object(schema.get("properties"))
    if not isinstance(required, Sequence) or isinstance(required, str):
        return schema
    return {**schema, "required": [name for name in required if "default" not in as_object(properties.get(str(name)))]}


def in_words(started: ToolResult, title: str) -> ToolResult:
    """Where the run stands, with its links; and what went wrong in a sentence, if anything did."""
    stand = as_object(started.structured)
    wrong = next((as_object(stand[member]) for member in WENT_WRONG if member in stand), None)
    if wrong is None:
        return started
    sentences = [f"{_which(stand, wrong, title)}{wrong.get('message')}"]
    if "inDoubt" in stand:
        sentences.append("Nobody knows what it did.")
    wait = wrong.get("retryAfterMs")
    if isinstance(wait, int | float):
        sentences.append(f"Follow its links in {ceil(wait / 1000)} s.")
    return replace(started, content=[text(" ".join(sentences))], is_error=True)


def _which(stand: JsonObject, wrong: JsonObject, title: str) -> str:
    """Nothing where no run was started."""
    if "workflowId" in stand:
        step = wrong.get("attemptedTransition", wrong.get("transition"))
        failed = "failed" if step is None else f"failed at {step}"
        return f"The run {stand['workflowId']} of {title} {failed} and stands in the state {stand['state']}: "
    links = stand.get("links")
    ids = (
        [as_object(as_object(link).get("args")).get("workflowId") for link in links] if isinstance(links, list) else []
    )
    run = next((one for one in ids if one is not None), None)
    return "" if run is None else f"The run {run} of {title} may not have been started: "
