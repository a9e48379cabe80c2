"""The composition of a gateway over a set of adapters: the object graph that its entry points and surfaces share."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING

from signpost.calling.function_listing import FunctionListing
from signpost.calling.lookup import FunctionLists
from signpost.catalogue.cache import CatalogueView
from signpost.identity.api_keys import ApiKeyAuthenticator
from signpost.list_revisions import RevisionView
from signpost.records import dataclass
from signpost.signing.key_ring import KeyRing
from signpost.signing.seals import Sealer
from signpost.surfaces.toolkit_components import ToolkitComponents
from signpost.telemetry import Telemetry
from signpost.wiring.calling import CallServices, build_call_services
from signpost.wiring.documents import DocumentServices, build_document_services
from signpost.wiring.gateway_adapters import GatewayAdapters
from signpost.wiring.policy import PolicyServices, build_policy_services

if TYPE_CHECKING:
    from signpost.calling.grants import GrantView
    from signpost.catalogue.callable_skills import CallableSkills
    from signpost.catalogue.snapshot import CatalogueSnapshot
    from signpost.model import CatalogueItem, JsonObject
    from signpost.surfaces.function_calls import LongCallStarter
    from signpost.surfaces.gateway.discovery import Discovery
    from signpost.surfaces.gateway.run_search import RunSearch
    from signpost.surfaces.tasks import Tasks
    from signpost.wiring.workflows import WorkflowServices
    from signpost.workflow import ports as workflow_ports


@dataclass(frozen=True, slots=True)
class GatewayComposition:
    """The object graph that the entry points and surfaces of a gateway share."""

    adapters: GatewayAdapters
    api_keys: ApiKeyAuthenticator
    keys: KeyRing
    sealer: Sealer
    revisions: RevisionView
    catalogue: CatalogueView
    function_lists: FunctionLists
    policy: PolicyServices
    listing: FunctionListing
    calling: CallServices
    documents: DocumentServices
    components: ToolkitComponents
    callable_skills: "Callable[[], CallableSkills]"
    discovery: "Callable[[], Discovery]"
    definitions: "Callable[[], workflow_ports.DefinitionSource]"
    workflow_services: "Callable[[], WorkflowServices]"
    tasks: "Callable[[], Tasks]"
    long_calls: "Callable[[], LongCallStarter]"


def compose_gateway(adapters: GatewayAdapters, telemetry: Telemetry) -> GatewayComposition:
    clock = adapters.clock
    revisions = RevisionView(rows=adapters.revisions, clock=clock)
    catalogue = CatalogueView(revisions=revisions, texts=adapters.values)
    lists = FunctionLists(placed=adapters.placed_functions, revisions=revisions)
    policy = build_policy_services(catalogue=catalogue, texts=adapters.definitions, lists=lists, telemetry=telemetry)
    listing = FunctionListing(access=policy.functions, grants=cache(lambda: _build_grants(adapters)))
    skills = cache(lambda: _build_callable_skills(lists, policy, listing))
    definitions = cache(lambda: _build_definitions(adapters, catalogue, policy, calls, skills()))
    api_keys = ApiKeyAuthenticator(keys=adapters.api_keys, clock=clock)
    workflow_services = cache(lambda: _build_workflow_services(adapters, definitions(), calls, api_keys))
    tasks = cache(lambda: _build_tasks(workflow_services(), adapters))
    keys = KeyRing(store=adapters.master_keys, clock=clock)
    calls = _build_call_services(adapters, keys, telemetry)
    documents = _build_document_services(adapters, revisions, calls, policy)
    components = _build_components(adapters, policy, listing, calls, documents)
    composition = GatewayComposition(
        adapters=adapters,
        api_keys=api_keys,
        keys=keys,
        sealer=Sealer(keys),
        revisions=revisions,
        catalogue=catalogue,
        function_lists=lists,
        policy=policy,
        listing=listing,
        calling=calls,
        documents=documents,
        components=components,
        callable_skills=skills,
        discovery=cache(lambda: _build_discovery(composition)),
        definitions=definitions,
        workflow_services=workflow_services,
        tasks=tasks,
        long_calls=cache(lambda: _build_long_calls(workflow_services(), calls, adapters, tasks())),
    )
    return composition


def _build_grants(adapters: GatewayAdapters) -> "GrantView":
    # Imported on first use: few tenants have functions that are visible by a grant.
    from signpost.calling.grants import GrantView  # noqa: PLC0415

    return GrantView(store=adapters.grants(), clock=adapters.clock)


def _build_call_services(adapters: GatewayAdapters, keys: KeyRing, telemetry: Telemetry) -> CallServices:
    return build_call_services(
        function_states=adapters.function_states,
        breakers=adapters.breakers,
        link=adapters.link,
        keys=keys,
        clock=adapters.clock,
        ids=adapters.ids,
        telemetry=telemetry,
    )


def _build_document_services(
    adapters: GatewayAdapters, revisions: RevisionView, calls: CallServices, policy: PolicyServices
) -> DocumentServices:
    return build_document_services(
        content=adapters.content,
        revisions=revisions,
        bodies=adapters.bodies,
        calling=calls,
        access=policy.functions,
        clock=adapters.clock,
        timestamps=adapters.timestamps,
    )


def _build_components(
    adapters: GatewayAdapters,
    policy: PolicyServices,
    listing: FunctionListing,
    calls: CallServices,
    documents: DocumentServices,
) -> ToolkitComponents:
    return ToolkitComponents(
        access=policy.functions,
        listing=listing,
        executors=calls.executors,
        prompts=documents.prompts,
        clock=adapters.clock,
    )


def _build_callable_skills(lists: FunctionLists, policy: PolicyServices, listing: FunctionListing) -> "CallableSkills":
    # Imported on first use: the list of tools of /mcp needs no skills.
    from signpost.catalogue.callable_skills import CallableSkills  # noqa: PLC0415

    return CallableSkills(lists=lists, access=policy.functions, listing=listing)


def _build_run_search(composition: GatewayComposition) -> "RunSearch":
    # Imported at the first list of runs: it needs the workflow engine.
    from signpost.wiring import run_lists  # noqa: PLC0415

    return run_lists.build_run_search(composition)


def _build_discovery(composition: GatewayComposition) -> "Discovery":
    # Imported on first use: the list of tools of /mcp needs no items.
    from signpost.surfaces.gateway.discovery import Discovery  # noqa: PLC0415
    from signpost.surfaces.gateway.item_lists import ItemLists  # noqa: PLC0415 - as above

    documents = composition.documents
    lists = ItemLists(
        catalogue=composition.policy.catalogue,
        listing=composition.listing,
        callable_skills=composition.callable_skills(),
        content=documents.view,
        documents=documents.skills,
        prompts=documents.prompts,
        components=composition.components,
    )
    return Discovery(
        lists=lists,
        sealer=composition.sealer,
        definitions=composition.definitions,
        breaker=composition.calling.breaker,
        runs=cache(lambda: _build_run_search(composition)),
        list_schedules=lambda snapshot, item: list_schedules(composition, snapshot, item),
    )


def list_schedules(
    composition: GatewayComposition, snapshot: "CatalogueSnapshot", item: "CatalogueItem"
) -> "Sequence[JsonObject]":
    """Return the schedules that start an item, as they are shown to clients."""
    if not snapshot.schedules:
        return ()
    # Imported on first use: few tenants have schedules.
    from signpost.adapters.clock import UtcTimeFormat  # noqa: PLC0415
    from signpost.surfaces.gateway import schedule_items  # noqa: PLC0415 - as above

    return schedule_items.list_schedules(snapshot, item, composition.adapters.clock.now(), UtcTimeFormat())


# Imported at the first call that needs it: the workflow engine takes a tenth of a cold start to import.


def _build_definitions(
    adapters: GatewayAdapters,
    catalogue: CatalogueView,
    policy: PolicyServices,
    calls: CallServices,
    skills: "CallableSkills",
) -> "workflow_ports.DefinitionSource":
    from signpost.catalogue.run_functions import SkillRunFunctions  # noqa: PLC0415 - as above
    from signpost.wiring import workflows  # noqa: PLC0415 - as above

    functions = SkillRunFunctions(functions=calls.functions, access=policy.functions, skills=skills)
    return workflows.build_definitions(catalogue, policy.catalogue, functions, adapters.definitions)


def _build_workflow_services(
    adapters: GatewayAdapters,
    definitions: "workflow_ports.DefinitionSource",
    calls: CallServices,
    api_keys: ApiKeyAuthenticator,
) -> "WorkflowServices":
    from signpost.wiring import workflows  # noqa: PLC0415 - as above

    return workflows.build_workflow_services(
        workflows.WorkflowAdapters(
            instances=adapters.instances(),
            clock=adapters.clock,
            ids=adapters.ids,
            pause=adapters.pause(),
            alarm=adapters.alarm,
            lease_margin=adapters.lease_margin,
            rights=workflows.build_rights_of_request(api_keys),
        ),
        definitions,
        lambda service: {
            **workflows.build_step_executors(calls, service, adapters.clock, adapters.ids),
            **adapters.step_executors(),
        },
    )


def _build_tasks(services: "WorkflowServices", adapters: GatewayAdapters) -> "Tasks":
    from signpost.wiring import workflows  # noqa: PLC0415 - as above

    return workflows.build_tasks(services, adapters.instances(), adapters.long_answers, adapters.clock)


def _build_long_calls(
    services: "WorkflowServices", calls: CallServices, adapters: GatewayAdapters, tasks: "Tasks"
) -> "LongCallStarter":
    from signpost.wiring import workflows  # noqa: PLC0415 - as above

    return workflows.build_long_calls(services, calls, adapters.clock, adapters.alarm, tasks)
