"""The workflows of a tenant, as its callers see them."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from signpost.calling.uri_templates import parse_uri_template
from signpost.catalogue.catalogue_access import CatalogueAccess
from signpost.identity.permissions import ADMINISTRATION
from signpost.mcp.messages import encode
from signpost.mcp.pages import take_fitting
from signpost.model import Call, CatalogueItem, JsonObject, Principal
from signpost.surfaces.gateway.tool_specs import EXPLAIN, SEARCH, START, link
from signpost.workflow.engine.argument_schemas import input_schema_of
from signpost.workflow.running.answers import explain_definition, explain_transition

if TYPE_CHECKING:
    from signpost.surfaces.gateway.discovery import ScheduleLister
    from signpost.workflow.definition import Definition
    from signpost.workflow.ports import DefinitionSource

URI = parse_uri_template("signpost://workflows/{id}")
SHOWN_OF_TRANSITION = (
    "transition", "fromStates", "title", "description", "target", "branches", "actor", "decision", "guards",
    "inputSchema",
)  # fmt: skip
"""The members that an overview repeats of the explanation of a transition, none of them about its executor."""


class WorkflowOverview:
    """Shows the workflows that policy allows the caller: those that discovery shows in lists, and all others by id.
    Administrators see disabled ones, too."""

    def __init__(
        self,
        *,
        catalogue: CatalogueAccess,
        definitions: "Callable[[], DefinitionSource]",
        list_schedules: "ScheduleLister",
    ) -> None:
        self._catalogue = catalogue
        self._definitions = definitions
        self._list_schedules = list_schedules

    def read_all(self, call: Call) -> JsonObject:
        entries = [_entry(item) for item in self._listed_items(call.principal)]
        shown = len(take_fitting(map(encode, entries)))
        if shown == len(entries):
            return {"workflows": entries}
        return {
            "workflows": entries[:shown],
            "omitted": len(entries) - shown,
            "links": [link("search", SEARCH, query="", kind="workflow")],
        }

    def read_one(self, name: str, call: Call) -> JsonObject | None:
        item = self._find_item(name, call.principal)
        if item is None:
            self._catalogue.report_missing(call.principal, name)
            return None
        definition = self._definitions().load_pinned(call.principal.tenant, item.id, item.definition)
        schedules = self._list_schedules(self._catalogue.load(call.principal).snapshot, item)
        started: JsonObject = {"schedules": schedules} if schedules else {}
        return {**_entry(item), **_describe_definition(definition), **started, "links": _links_of(item)}

    def list_names(self, call: Call) -> Sequence[str]:
        return [item.id for item in self._listed_items(call.principal)]

    def _listed_items(self, principal: Principal) -> Sequence[CatalogueItem]:
        catalogue = self._catalogue.load(principal)
        items = catalogue.snapshot.items if _is_administrator(principal) else catalogue.items
        return [item for item in items if item.kind == "workflow"]

    def _find_item(self, name: str, principal: Principal) -> CatalogueItem | None:
        offered = self._catalogue.load(principal).startable_workflows.get(name)
        return offered or next((item for item in self._listed_items(principal) if item.id == name), None)


def _is_administrator(principal: Principal) -> bool:
    return ADMINISTRATION in principal.permissions


def _entry(item: CatalogueItem) -> JsonObject:
    return {
        "id": item.id,
        "title": item.title,
        "description": item.description,
        "enabled": item.is_offered,
        "tags": list(item.tags),
        "uri": URI.expand({"id": item.id}),
    }


def _describe_definition(definition: "Definition") -> JsonObject:
    explained = explain_definition(definition)
    names = dict.fromkeys(name for state in definition.states.values() for name in state.transitions)
    transitions = [explain_transition(definition, name, shows_settings=False) or {} for name in names]
    return {
        "inputSchema": input_schema_of(definition),
        "initialState": explained["initialState"],
        "states": explained["states"],
        "transitions": [
            {member: transition[member] for member in SHOWN_OF_TRANSITION if member in transition}
            for transition in transitions
        ],
    }


def _links_of(item: CatalogueItem) -> Sequence[JsonObject]:
    if not item.is_offered:
        return ()
    return [link("start", START, definitionId=item.id, input={}), link("explain", EXPLAIN, definitionId=item.id)]
