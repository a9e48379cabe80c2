"""The tools of /mcp that find things: the catalogue of the caller's tenant, listed, searched and described."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from signpost.catalogue.cache import CachedCatalogue
from signpost.catalogue.catalogue_access import CatalogueAccess
from signpost.model import PROXY_WORKFLOW, Call, CallToolResult, CatalogueItem, Json, JsonObject, Tool
from signpost.signing.seals import Sealer
from signpost.spelling import suggest_name
from signpost.surfaces.gateway.tool_specs import (
    DESCRIBE,
    HOME,
    PAGE,
    SEARCH,
    START,
    build_error,
    build_result,
    describe_links,
    link,
)

if TYPE_CHECKING:
    from signpost.workflow.ports import DefinitionSource

CURSOR = "gateway.home"


class Discovery:
    """Runs `gateway.home`, `gateway.search` and `gateway.describe`."""

    def __init__(
        self, *, catalogue: CatalogueAccess, sealer: Sealer, definitions: "Callable[[], DefinitionSource]"
    ) -> None:
        self._catalogue = catalogue
        self._sealer = sealer
        self._definitions = definitions
        self._handlers: Mapping[str, Callable[[JsonObject, Call], CallToolResult]] = {
            HOME.name: self._home,
            SEARCH.name: self._search,
            DESCRIBE.name: self._describe,
        }

    def run(self, tool: Tool, arguments: JsonObject, call: Call) -> CallToolResult:
        return self._handlers[tool.name](arguments, call)

    def _home(self, arguments: JsonObject, call: Call) -> CallToolResult:
        after = self._position(arguments.get("cursor"), call)
        if after is None:
            return build_error(
                "INPUT_SCHEMA_VIOLATION", "This cursor is not valid for you. Call gateway.home without a cursor."
            )
        items = self._catalogue.load(call.principal).items
        return build_result(self._page([item for item in items if item.id > after], call))

    def _position(self, cursor: Json, call: Call) -> str | None:
        """Return the id after which the page begins, so that a publication between two pages disturbs neither."""
        if cursor is None:
            return ""
        after = self._sealer.open(CURSOR, cursor, call.principal) if isinstance(cursor, str) else None
        return after if isinstance(after, str) else None

    def _page(self, rest: Sequence[CatalogueItem], call: Call) -> JsonObject:
        page = rest[:PAGE]
        answer: JsonObject = {"items": [_item(item) for item in page]}
        if len(rest) <= PAGE:
            return answer
        cursor = self._sealer.seal(CURSOR, page[-1].id, call.principal)
        return {**answer, "nextCursor": cursor, "links": [link("next", HOME, cursor=cursor)]}

    def _search(self, arguments: JsonObject, call: Call) -> CallToolResult:
        snapshot = self._catalogue.load(call.principal)
        kind, limit = arguments.get("kind"), arguments.get("limit", 0)
        found = snapshot.search.hits(
            str(arguments.get("query", "")),
            ranking=snapshot.ranking,
            kind=kind if isinstance(kind, str) else None,
            limit=min(int(limit), PAGE) if isinstance(limit, int | float) else 0,
        )
        return build_result(
            {"results": [{"score": score, "item": _item(snapshot.by_kind[hit.kind, hit.id])} for score, hit in found]}
        )

    def _describe(self, arguments: JsonObject, call: Call) -> CallToolResult:
        snapshot, name = self._catalogue.load(call.principal), str(arguments["id"])
        item = snapshot.by_id.get(name) or snapshot.startable_workflows.get(name)
        if item is None:
            self._catalogue.report_missing(call.principal, name)
            close = suggest_name(name, snapshot.by_id)
            advice = f"Did you mean {close}?" if close else "Find items with gateway.search."
            return build_error("NOT_FOUND", f"There is no item with the id {name}. {advice}", describe_links(close))
        return build_result(_item(item, self._schema(snapshot, item, call.principal.tenant)))

    def _schema(self, snapshot: CachedCatalogue, item: CatalogueItem, tenant: str) -> JsonObject | None:
        """Return the schema of the input that an item takes; None if it cannot be started."""
        from signpost.workflow.engine.argument_schemas import input_schema_of  # noqa: PLC0415 - comes with the definitions
        from signpost.workflow.engine.capability_focus import capability_schema_of  # noqa: PLC0415 - as above

        match item.kind:
            case "workflow":
                return input_schema_of(self._definitions().load_pinned(tenant, item.id, item.definition))
            case "capability":
                proxy = self._definitions().load_pinned(tenant, PROXY_WORKFLOW, snapshot.proxy)
                return capability_schema_of(proxy, item.id)
            case _:
                return None


def _item(item: CatalogueItem, schema: JsonObject | None = None) -> JsonObject:
    return {
        "id": item.id,
        "kind": item.kind,
        "title": item.title,
        "description": item.description,
        "tags": list(item.tags),
        "links": [] if item.kind == "connection" else [_start_link(item, schema)],
    }


def _start_link(item: CatalogueItem, schema: JsonObject | None) -> JsonObject:
    start_input: JsonObject = {} if item.kind == "workflow" else {"capability": item.id}
    start = link("start", START, definitionId=item.id if item.kind == "workflow" else PROXY_WORKFLOW, input=start_input)
    return start if schema is None else {**start, "input_schema": schema}
