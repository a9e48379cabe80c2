"""What the doors and surfaces of a gateway share: one graph, over whatever adapters there are."""

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from signpost.execution.functions import FunctionLists
from signpost.execution.nested import NestedCalls
from signpost.execution.revisions import RevisionView
from signpost.policy.key_ring import KeyRing
from signpost.policy.seals import Sealer
from signpost.ports import Clock
from signpost.records import dataclass
from signpost.registry.catalogue import CatalogueView
from signpost.surfaces.components import ToolkitComponents
from signpost.surfaces.hosted import LongCalls
from signpost.telemetry import Telemetry
from signpost.wiring.adapters import Adapters
from signpost.wiring.calling import Calling, calling
from signpost.wiring.documents import Documents, documents
from signpost.wiring.policy import Policy, policy

if TYPE_CHECKING:
    from signpost.wiring.workflows import Driven
    from signpost.workflow import ports as workflow_ports


@dataclass(frozen=True, slots=True)
class Composition:
    """What the doors and surfaces of a gateway share."""

    adapters: Adapters
    sealer: Sealer
    catalogue: CatalogueView
    function_lists: FunctionLists
    policy: Policy
    calling: Calling
    documents: Documents
    components: ToolkitComponents
    nested: NestedCalls
    definitions: "Callable[[], workflow_ports.Definitions]"
    driven: "Callable[[], Driven]"
    long_calls: Callable[[], LongCalls]


def composed(adapters: Adapters, telemetry: Telemetry) -> Composition:
    clock = adapters.clock
    revisions = RevisionView(rows=adapters.revisions, clock=clock)
    catalogue = CatalogueView(revisions=revisions, texts=adapters.values)
    lists = FunctionLists(placed=adapters.placed_functions, revisions=revisions)
    allowed = policy(catalogue=catalogue, texts=adapters.definitions, lists=lists, telemetry=telemetry)
    definitions = cache(lambda: _definitions(adapters, catalogue, allowed))
    driven = cache(lambda: _driven(adapters, definitions(), calls))
    keys = KeyRing(store=adapters.master_keys, clock=clock)
    calls = _calling(adapters, keys, telemetry)
    written = _documents(adapters, revisions, calls, allowed)
    return Composition(
        adapters=adapters,
        sealer=Sealer(keys),
        catalogue=catalogue,
        function_lists=lists,
        policy=allowed,
        calling=calls,
        documents=written,
        components=ToolkitComponents(
            access=allowed.functions, executors=calls.executors, prompts=written.prompts, clock=clock
        ),
        nested=NestedCalls(mint=calls.mint, executors=calls.executors, access=allowed.functions, clock=clock),
        definitions=definitions,
        driven=driven,
        long_calls=cache(lambda: _long_calls(driven(), calls, clock)),
    )


def _calling(adapters: Adapters, keys: KeyRing, telemetry: Telemetry) -> Calling:
    return calling(
        function_states=adapters.function_states,
        breakers=adapters.breakers,
        link=adapters.link,
        keys=keys,
        clock=adapters.clock,
        ids=adapters.ids,
        telemetry=telemetry,
    )


def _documents(adapters: Adapters, revisions: RevisionView, calls: Calling, allowed: Policy) -> Documents:
    return documents(
        content=adapters.content,
        revisions=revisions,
        bodies=adapters.bodies,
        calling=calls,
        access=allowed.functions,
        clock=adapters.clock,
        timestamps=adapters.timestamps,
    )


# The engine behind workflows takes a tenth of a cold start to import, and waits for the first call that needs it.


def _definitions(adapters: Adapters, catalogue: CatalogueView, allowed: Policy) -> "workflow_ports.Definitions":
    from signpost.wiring import workflows  # noqa: PLC0415 - as above

    return workflows.definitions(catalogue, allowed.catalogue, allowed.functions.allows, adapters.definitions)


def _driven(adapters: Adapters, definitions: "workflow_ports.Definitions", calls: Calling) -> "Driven":
    from signpost.wiring import workflows  # noqa: PLC0415 - as above

    return workflows.driven(
        definitions=definitions,
        instances=adapters.instances(),
        machines={**workflows.machines(calls), **adapters.machines()},
        clock=adapters.clock,
        ids=adapters.ids,
        pause=adapters.pause(),
        lease_margin=adapters.lease_margin,
    )


def _long_calls(driven: "Driven", calls: Calling, clock: Clock) -> LongCalls:
    from signpost.wiring import workflows  # noqa: PLC0415 - as above

    return workflows.long_calls(driven, calls, clock)
