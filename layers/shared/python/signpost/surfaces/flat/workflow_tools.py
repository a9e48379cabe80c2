"""The workflows of a tenant as tools that start them: `workflow:<title>` at /mcp/flat."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import ceil
from typing import TYPE_CHECKING

from signpost.caches import DerivedCache
from signpost.calling.function_schemas import client_schema
from signpost.catalogue.cache import CachedCatalogue
from signpost.catalogue.catalogue_access import CatalogueAccess
from signpost.model import Call, CallToolResult, CatalogueItem, InputRequired, Json, JsonObject, Tool, as_object
from signpost.policy.access import Access
from signpost.records import dataclass
from signpost.surfaces.gateway.tool_specs import START, ToolRunner
from signpost.surfaces.reply_results import text_block
from signpost.workflow.titles import WORKFLOW_TOOL

if TYPE_CHECKING:
    from signpost.workflow.ports import DefinitionSource

GENERIC: JsonObject = {
    "type": "object",
    "properties": {"input": {"type": "string", "description": "The text for the run to work on."}},
    "additionalProperties": False,
}
"""The input schema of a workflow without a declared one, unless the tenant refuses undeclared arguments."""
NO_INPUT: JsonObject = {"type": "object", "properties": {}, "additionalProperties": False}
FAILURE_MEMBERS = ("error", "inDoubt", "fault")
"""The members of an answer that say why a run stopped before its next state, the most severe first."""


@dataclass(frozen=True, slots=True)
class _WorkflowToolSet:
    by_name: Mapping[str, tuple[Tool, CatalogueItem]]
    """By tool name."""
    listed: Sequence[Tool]
    hidden: Sequence[Tool]


class WorkflowTools:
    """The provider of the tools `workflow:<title>`."""

    def __init__(
        self,
        *,
        catalogue: CatalogueAccess,
        definitions: "Callable[[], DefinitionSource]",
        workflow_runner: Callable[[], ToolRunner],
    ) -> None:
        self._catalogue = catalogue
        self._definitions = definitions
        self._workflow_runner = workflow_runner
        self._tool_sets = DerivedCache[tuple[str, Access, bool], CachedCatalogue, _WorkflowToolSet]()

    def tools(self, call: Call) -> Sequence[Tool]:
        return self._tools_for(call).listed

    def hidden_tools(self, call: Call) -> Sequence[Tool]:
        """Return the tools that the tenant's `discovery` hides."""
        return self._tools_for(call).hidden

    def tool(self, name: str, call: Call) -> Tool | None:
        if not name.startswith(WORKFLOW_TOOL):
            return None
        found = self._tools_for(call).by_name.get(name)
        if found is None:
            self._catalogue.report_missing(call.principal, name)
        return None if found is None else found[0]

    def call_tool(self, tool: Tool, arguments: JsonObject, call: Call) -> CallToolResult | InputRequired:
        found = self._tools_for(call).by_name.get(tool.name)
        name = tool.name if found is None else found[1].id
        start_arguments: dict[str, Json] = {"definitionId": name, "input": arguments}
        if call.client.token is not None:
            start_arguments["clientToken"] = call.client.token
        started = self._workflow_runner().run(START, start_arguments, call)
        if isinstance(started, InputRequired):
            return started
        return add_failure_text(started, tool.title or call.spell_tool(tool.name))

    def _tools_for(self, call: Call) -> _WorkflowToolSet:
        tenant = call.principal.tenant
        snapshot, access = self._catalogue.load(call.principal), self._catalogue.of(call.principal)
        refuses = self._catalogue.refuses_undeclared_arguments(tenant)
        generic = NO_INPUT if refuses else GENERIC
        return self._tool_sets.get(
            (tenant, access, refuses), snapshot, lambda: self._build_tool_set(tenant, snapshot, generic)
        )

    def _build_tool_set(self, tenant: str, snapshot: CachedCatalogue, generic: JsonObject) -> _WorkflowToolSet:
        by_name = {snapshot.workflow_tools[item.id]: item for item in snapshot.startable_workflows.values()}
        tools = {name: (self._build_tool(name, item, tenant, generic), item) for name, item in sorted(by_name.items())}
        listed_ids = {item.id for item in snapshot.items if item.kind == "workflow"}
        return _WorkflowToolSet(
            by_name=tools,
            listed=[tool for tool, item in tools.values() if item.id in listed_ids],
            hidden=[tool for tool, item in tools.values() if item.id not in listed_ids],
        )

    def _build_tool(self, name: str, item: CatalogueItem, tenant: str, generic: JsonObject) -> Tool:
        declared = self._input_schema_of(item, tenant)
        return Tool(
            name,
            item.description or f"Run the {item.title} workflow",
            generic if declared is None else _drop_defaulted(client_schema(declared)),
            title=item.title,
            output_schema=START.output_schema,
        )

    def _input_schema_of(self, item: CatalogueItem, tenant: str) -> JsonObject | None:
        """Return the input schema of a workflow. Catalogues that an earlier release wrote do not have it; then the
        definition is read."""
        if item.input_schema is None and item.definition:
            return self._definitions().load_pinned(tenant, item.id, item.definition).input_schema
        return item.input_schema or None


def _drop_defaulted(schema: JsonObject) -> JsonObject:
    """Drop properties with a default from `required`: a workflow fills in defaults before it checks its input."""
    required, properties = schema.get("required"), as_object(schema.get("properties"))
    if not isinstance(required, Sequence) or isinstance(required, str):
        return schema
    return {**schema, "required": [name for name in required if "default" not in as_object(properties.get(str(name)))]}


def add_failure_text(started: CallToolResult, title: str) -> CallToolResult:
    """Return the answer of `workflow.start`, as an error with a text if it has a failure."""
    answer = as_object(started.structured)
    fault = next((as_object(answer[member]) for member in FAILURE_MEMBERS if member in answer), None)
    if fault is None:
        return started
    sentences = [f"{_describe_run(answer, fault, title)}{fault.get('message')}"]
    if "inDoubt" in answer:
        sentences.append("Its effect is unknown.")
    wait = fault.get("retryAfterMs")
    if isinstance(wait, int | float):
        sentences.append(f"Follow its links in {ceil(wait / 1000)} s.")
    return replace(started, content=[text_block(" ".join(sentences))], is_error=True)


def _describe_run(answer: JsonObject, fault: JsonObject, title: str) -> str:
    """Return the beginning of a sentence that names the run; empty if no run was started."""
    if "workflowId" in answer:
        step = fault.get("attemptedTransition", fault.get("transition"))
        failed = "failed" if step is None else f"failed at {step}"
        return f"The run {answer['workflowId']} of {title} {failed} and is in the state {answer['state']}: "
    if fault.get("code") == "ALREADY_STARTED":
        return ""  # the link leads to another run, which the message names
    links = answer.get("links")
    ids = (
        [as_object(as_object(link).get("args")).get("workflowId") for link in links] if isinstance(links, list) else []
    )
    run = next((workflow_id for workflow_id in ids if workflow_id is not None), None)
    return "" if run is None else f"The run {run} of {title} may not have been started: "
