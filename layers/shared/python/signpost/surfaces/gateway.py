"""What can be found at /mcp: the catalogue of the caller's tenant, listed, searched and described."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from signpost.model import PROXY, Call, CatalogueItem, Json, JsonObject, Tool, ToolResult
from signpost.policy.seals import Sealer
from signpost.registry.catalogue import Snapshot
from signpost.registry.catalogue_access import CatalogueAccess
from signpost.spelling import meant
from signpost.surfaces.seven import DESCRIBE, HOME, PAGE, SEARCH, START, described, failed, link, told

if TYPE_CHECKING:
    from signpost.workflow.ports import Definitions

CURSOR = "gateway.home"


class Discovery:
    def __init__(self, *, catalogue: CatalogueAccess, sealer: Sealer, definitions: "Callable[[], Definitions]") -> None:
        self._catalogue = catalogue
        self._sealer = sealer
        self._definitions = definitions
        self._run: Mapping[str, Callable[[JsonObject, Call], ToolResult]] = {
            HOME.name: self._home,
            SEARCH.name: self._search,
            DESCRIBE.name: self._describe,
        }

    def run(self, tool: Tool, arguments: JsonObject, call: Call) -> ToolResult:
        return self._run[tool.name](arguments, call)

    def _home(self, arguments: JsonObject, call: Call) -> ToolResult:
        after = self._position(arguments.get("cursor"), call)
        if after is None:
            return failed("INPUT_SCHEMA_VIOLATION", "The cursor is not one of yours. Start again without a cursor.")
        items = self._catalogue.snapshot(call.principal).items
        return told(self._page([item for item in items if item.id > after], call))

    def _position(self, cursor: Json, call: Call) -> str | None:
        """The id after which the page begins, so that a publication between two pages disturbs neither."""
        if cursor is None:
            return ""
        after = self._sealer.open(CURSOR, cursor, call.principal) if isinstance(cursor, str) else None
        return after if isinstance(after, str) else None

    def _page(self, rest: Sequence[CatalogueItem], call: Call) -> JsonObject:
        shown = rest[:PAGE]
        answer: JsonObject = {"items": [_item(item) for item in shown]}
        if len(rest) <= PAGE:
            return answer
        cursor = self._sealer.seal(CURSOR, shown[-1].id, call.principal)
        return {**answer, "nextCursor": cursor, "links": [link("next", HOME, cursor=cursor)]}

    def _search(self, arguments: JsonObject, call: Call) -> ToolResult:
        snapshot = self._catalogue.snapshot(call.principal)
        kind, limit = arguments.get("kind"), arguments.get("limit", 0)
        found = snapshot.search.hits(
            str(arguments.get("query", "")),
            ranking=snapshot.ranking,
            kind=kind if isinstance(kind, str) else None,
            limit=min(int(limit), PAGE) if isinstance(limit, int | float) else 0,
        )
        return told(
            {"results": [{"score": score, "item": _item(snapshot.by_kind[hit.kind, hit.id])} for score, hit in found]}
        )

    def _describe(self, arguments: JsonObject, call: Call) -> ToolResult:
        snapshot, name = self._catalogue.snapshot(call.principal), str(arguments["id"])
        item = snapshot.by_id.get(name) or snapshot.startable.get(name)
        if item is None:
            self._catalogue.missed(call.principal, name)
            close = meant(name, snapshot.by_id)
            advice = f"Did you mean {close}?" if close else "gateway.search finds what there is."
            return failed("NOT_FOUND", f"There is nothing with the id {name}. {advice}", described(close))
        return told(_item(item, self._schema(snapshot, item, call.principal.tenant)))

    def _schema(self, snapshot: Snapshot, item: CatalogueItem, tenant: str) -> JsonObject | None:
        """Of what it takes, if it takes anything."""
        if item.kind == "workflow":
            return self._definitions().pinned(tenant, item.id, item.definition).input_schema
        if item.kind != "capability":
            return None
        from signpost.workflow.focus import declared  # noqa: PLC0415 - comes with the definitions

        return declared(self._definitions().pinned(tenant, PROXY, snapshot.proxy), item.id)


def _item(item: CatalogueItem, schema: JsonObject | None = None) -> JsonObject:
    return {
        "id": item.id,
        "kind": item.kind,
        "title": item.title,
        "description": item.description,
        "tags": list(item.tags),
        "links": [] if item.kind == "connection" else [_start(item, schema)],
    }


def _start(item: CatalogueItem, schema: JsonObject | None) -> JsonObject:
    given: JsonObject = {} if item.kind == "workflow" else {"capability": item.id}
    started = link("start", START, definitionId=item.id if item.kind == "workflow" else PROXY, input=given)
    return started if schema is None else {**started, "input_schema": schema}
