"""The tools of /mcp that find items. `gateway.home` lists those that the caller can start; `gateway.search` and
`gateway.describe` cover everything that the caller can use."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from signpost.calling.breaker import Breaker
from signpost.calling.function_schemas import skill_arguments
from signpost.catalogue.callable_skills import CallableSkill
from signpost.model import (
    PROXY_WORKFLOW,
    REQUEST_ID_PREFIX,
    RUN_ID_PREFIX,
    Call,
    CallToolResult,
    CatalogueItem,
    Json,
    JsonObject,
    Prompt,
    Tool,
    as_object,
)
from signpost.signing.seals import Sealer
from signpost.spelling import suggest_name
from signpost.surfaces.gateway import tool_specs
from signpost.surfaces.gateway.found_items import FoundItem, ItemKey, build_skill_item
from signpost.surfaces.gateway.item_answers import (
    build_description,
    build_item,
    list_links,
    next_page_link,
    prompt_schema,
)
from signpost.surfaces.gateway.item_lists import ItemLists
from signpost.surfaces.gateway.tool_specs import (
    APPROVAL,
    CAPABILITY,
    CONTENT_KINDS,
    DESCRIBE,
    HOME,
    KINDS,
    PAGE,
    RUN,
    RUN_FILTERS,
    RUN_KINDS,
    SEARCH,
    WORKFLOW,
    build_error,
    build_result,
    describe_links,
)

if TYPE_CHECKING:
    from signpost.catalogue.snapshot import CatalogueSnapshot
    from signpost.surfaces.gateway.run_search import RunSearch
    from signpost.workflow.ports import DefinitionSource

    type ScheduleLister = Callable[[CatalogueSnapshot, CatalogueItem], Sequence[JsonObject]]
    """Lists the schedules that start an item."""

CURSOR = "gateway.home"
RUN_PREFIXES: Mapping[str, str] = {RUN: RUN_ID_PREFIX, APPROVAL: REQUEST_ID_PREFIX}
"""The prefixes of the ids of runs and of approval requests, by kind."""


class Discovery:
    """Runs `gateway.home`, `gateway.search` and `gateway.describe`."""

    def __init__(
        self,
        *,
        lists: ItemLists,
        sealer: Sealer,
        definitions: "Callable[[], DefinitionSource]",
        breaker: Breaker,
        runs: "Callable[[], RunSearch]",
        list_schedules: "ScheduleLister",
    ) -> None:
        self.lists = lists
        self._sealer = sealer
        self._definitions = definitions
        self._breaker = breaker
        self._runs = runs
        self._list_schedules = list_schedules
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
            return build_error("INPUT_SCHEMA_VIOLATION", "This cursor is not valid for you. Follow the `home` link.")
        items = self.lists.startable(call.principal).items
        return build_result(self._page([found for found in items if (found.item.id, found.item.kind) > after], call))

    def _position(self, cursor: Json, call: Call) -> ItemKey | None:
        """Return the id and the kind after which the page begins, so that a publication between two pages disturbs
        neither."""
        if cursor is None:
            return "", ""
        after = self._sealer.open(CURSOR, cursor, call.principal) if isinstance(cursor, str) else None
        match after:
            case [str(item_id), str(kind)]:
                return item_id, kind
            case _:
                return None

    def _page(self, rest: Sequence[FoundItem], call: Call) -> JsonObject:
        page = rest[:PAGE]
        answer: JsonObject = {"items": [build_item(found) for found in page]}
        if len(rest) <= PAGE:
            return {**answer, "links": list_links()}
        last = page[-1].item
        cursor = self._sealer.seal(CURSOR, [last.id, last.kind], call.principal)
        return {**answer, "nextCursor": cursor, "links": [next_page_link(cursor), *list_links()]}

    def _search(self, arguments: JsonObject, call: Call) -> CallToolResult:
        if arguments.get("kind") in RUN_KINDS or not RUN_FILTERS.keys().isdisjoint(arguments):
            return self._runs().search(arguments, call)
        everything = self.lists.everything(call)
        kind, limit = arguments.get("kind"), arguments.get("limit", 0)
        hits = everything.search.hits(
            str(arguments.get("query", "")),
            ranking=everything.startable.catalogue.ranking,
            kind=kind if isinstance(kind, str) else None,
            limit=min(int(limit), PAGE) if isinstance(limit, int | float) else 0,
        )
        scored = [(score, everything.by_key[hit.kind, hit.id]) for score, hit in hits]
        return build_result(
            {
                "results": [
                    {"score": score, "item": build_item(found, document=everything.document_of(found))}
                    for score, found in scored
                ]
            }
        )

    def _describe(self, arguments: JsonObject, call: Call) -> CallToolResult:
        name, kind = str(arguments["id"]), arguments.get("kind")
        kinds = (kind,) if isinstance(kind, str) else (*KINDS, *RUN_KINDS)
        found = next(filter(None, (self._find(wanted, name, call) for wanted in kinds if wanted in KINDS)), None)
        if found is not None:
            return self._describe_item(found, call)
        is_run = any(name.startswith(prefix) for wanted, prefix in RUN_PREFIXES.items() if wanted in kinds)
        run = self._runs().describe(name, call.principal) if is_run else None
        return self._refuse_unknown(name, kinds, call) if run is None else build_result(run)

    def _find(self, kind: str, name: str, call: Call) -> FoundItem | None:
        """Find an item of the kind, also one that lists leave out. The lists of documents and prompts are read for the
        kinds that need them only."""
        if kind in CONTENT_KINDS:
            return self.lists.everything(call).by_key.get((kind, name))
        startable = self.lists.startable(call.principal)
        return startable.by_key.get((kind, name)) or self._find_unlisted(kind, name, call)

    def _find_unlisted(self, kind: str, name: str, call: Call) -> FoundItem | None:
        catalogue = self.lists.startable(call.principal).catalogue
        if kind == WORKFLOW:
            item = catalogue.startable_workflows.get(name)
        else:
            item = catalogue.startable_capabilities.get(name) if kind == CAPABILITY else None
        if item is not None:
            return FoundItem(item)
        skill = self.lists.find_hidden_skill(call.principal, name) if kind == CAPABILITY else None
        return None if skill is None else build_skill_item(skill)

    def _describe_item(self, found: FoundItem, call: Call) -> CallToolResult:
        if not isinstance(found.source, CallableSkill):
            schedules = self._list_schedules(self.lists.startable(call.principal).catalogue.snapshot, found.item)
            return build_result(build_description(found, schema=self._schema(found, call), schedules=schedules))
        hosted, principal = found.source.hosted, call.principal
        document = self.lists.everything(call).document_of(found) if hosted.doc else None
        refusal = self._breaker.find_refusal(principal, hosted.function)
        return build_result(
            build_description(
                found,
                schema=self._schema(found, call),
                document=document,
                breaker=self._breaker.state(principal, hosted.function),
                retry_after_ms=None if refusal is None else refusal.retry_after_ms,
            )
        )

    def _schema(self, found: FoundItem, call: Call) -> JsonObject | None:
        """Return the schema of the arguments that the first link of an item takes; None if it takes none."""
        match found.source:
            case CallableSkill(hosted=hosted):
                return _start_schema_of(skill_arguments(hosted.input_schema))
            case Prompt() as prompt:
                return prompt_schema(prompt)
            case None:
                return self._published_schema(found, call)
            case _:
                return None

    def _published_schema(self, found: FoundItem, call: Call) -> JsonObject | None:
        # Imported with the definitions, on first use: lists and searches need none.
        from signpost.workflow.engine.argument_schemas import input_schema_of  # noqa: PLC0415
        from signpost.workflow.engine.capability_focus import capability_schema_of  # noqa: PLC0415 - as above

        item, tenant = found.item, call.principal.tenant
        match item.kind:
            case tool_specs.WORKFLOW:
                return input_schema_of(self._definitions().load_pinned(tenant, item.id, item.definition))
            case tool_specs.CAPABILITY:
                digest = self.lists.startable(call.principal).catalogue.proxy
                proxy = self._definitions().load_pinned(tenant, PROXY_WORKFLOW, digest)
                return _start_schema_of(capability_schema_of(proxy, item.id))
            case _:
                return None

    def _refuse_unknown(self, name: str, kinds: Sequence[str], call: Call) -> CallToolResult:
        self.lists.report_missing(call.principal, name)
        known = {item_id for kind, item_id in self.lists.everything(call).by_key if kind in kinds}
        close = suggest_name(name, sorted(known))
        advice = f"Did you mean {close}?" if close else "Follow the `search` link to find items."
        links = describe_links(close, kinds[0] if len(kinds) == 1 else None)
        return build_error("NOT_FOUND", f"There is no item with the id {name}. {advice}", links)


def _start_schema_of(arguments: JsonObject) -> JsonObject:
    """Return the schema of the input that starts a capability, by the schema of its arguments."""
    if CAPABILITY not in as_object(arguments.get("properties")):
        return arguments
    # Imported on first use: hardly any skill has an argument of this name, and the engine is slow to import.
    from signpost.workflow.engine.capability_focus import start_schema_of  # noqa: PLC0415

    return start_schema_of(arguments)
